"""The command line: verbs parse, call a use case and print. An error is one line and an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from tildone.base import TYPE_CHECKING, TildoneError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

INTERRUPTED = 130
PIPE_BROKEN = 141
"""Exit codes of a shell for programs that SIGINT and SIGPIPE ended."""

GC_THRESHOLD = 50_000
"""Allocations between garbage collections. At Python's default, they take a twentieth of a short verb's time."""


def run_program() -> NoReturn:
    """Run the command line of this process and end it. With other threads alive, the interpreter waits for them."""
    gc.set_threshold(GC_THRESHOLD)
    code = main(sys.argv[1:])
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(code)
    end_process(code)


def end_process(code: int) -> NoReturn:
    """End the process without shutting the interpreter down, and without waiting for other threads.

    A shutdown takes a tenth of a short verb's time and frees only what the operating system frees anyway. What matters
    is done: exit handlers run, which close connections and remove temporary folders, and output is flushed.
    """
    try:
        atexit._run_exitfuncs()  # noqa: SLF001  the public way to run them is to shut the interpreter down
        code = _flushed(code)
    except KeyboardInterrupt:
        code = INTERRUPTED
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. Without `argv`, this is the program: see `run_program`."""
    if argv is None:
        run_program()
    words = list(argv)
    _repair_environment()
    if words and words[0] == "hook" and not {"--help", "-h"}.intersection(words):
        return run_hook(words[1:])
    try:
        code = _run_verb(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # After the ^C that a terminal shows.
        return _report("interrupted", INTERRUPTED, "\n" if sys.stderr.isatty() else "")
    except BrokenPipeError:
        _discard_output()
        return PIPE_BROKEN
    except TildoneError as error:
        return _report(str(error), error.exit_code)
    except OSError as error:
        _discard_output()
        prefix = f"{error.filename}: " if error.filename else ""
        return _report(f"{prefix}{error.strerror or error}", TildoneError.exit_code)
    return code


def run_hook(words: Sequence[str]) -> int:
    """Run a hook, importing nothing else of the command line."""
    # The CLI's verbs start without the hooks, and hooks without the verbs.
    from tildone.agents.hooks import main as run

    return run(words)


def _run_verb(argv: list[str]) -> int:
    if argv in (["--version"], ["-V"]):
        # Nothing else is imported for it.
        from tildone.version import __version__

        sys.stdout.write(f"tildone {__version__}\n")
        return 0
    # Imported inside the `try` of `main`, so that Ctrl-C during the imports is handled as well.
    from tildone.cli.parsing import run_verb

    return run_verb(argv)


def _repair_environment() -> None:
    """Open the null device for standard streams that the caller has closed, and ignore an empty $HOME.

    Otherwise, reading or printing would fail, a file opened later could get the number of a standard stream, and
    files would go to the root of the file system.
    """
    if os.environ.get("HOME") == "":
        del os.environ["HOME"]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  it stays open


def _flushed(code: int) -> int:
    """Flush what exit handlers may have printed, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or TildoneError.exit_code
    return code


def _discard_output() -> None:
    """Drop buffered output that cannot be written; the interpreter would fail on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(message: str, code: int, before: str = "") -> int:
    # Only errors need it.
    from tildone.plan.text.safe import printable_lines

    sys.stdout.flush()
    print(f"{before}tildone:", "\n".join(printable_lines(message)), file=sys.stderr)
    return code
