"""The command line: runs a verb, and turns errors into one line on standard error and an exit code."""

from __future__ import annotations

import gc
import os
import sys

from tildone.errors import TildoneError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
PIPE_BROKEN = 141
"""Exit codes of a shell for programs that SIGINT and SIGPIPE ended."""

GC_THRESHOLD = 50_000
"""Allocations between garbage collections. At Python's default, they take a twentieth of a short verb's time."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] == "hook" and not {"--help", "-h"}.intersection(words):
        code = run_hook(words[1:])
        if argv is None:
            # All output is written. A normal shutdown of the interpreter takes as long as the hook itself.
            os._exit(code)
        return code
    if argv is None:
        gc.set_threshold(GC_THRESHOLD)
    try:
        code = _run_verb(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
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
    from tildone.hooks import main as run  # noqa: PLC0415  see above

    return run(words)


def _run_verb(argv: Sequence[str]) -> int:
    # Imported inside the `try` of `main`, so that Ctrl-C during the imports is handled as well.
    from tildone.cli.dispatch import run_verb  # noqa: PLC0415  see above

    return run_verb(argv)


def _discard_output() -> None:
    """Drop buffered output that cannot be written; the interpreter would fail on it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(message: str, code: int) -> int:
    # Only errors need it.
    from tildone.views.sanitize import printable_lines  # noqa: PLC0415  see above

    print("tildone:", "\n".join(printable_lines(message)), file=sys.stderr)
    return code
