"""The command line: what is typed goes to a verb, what goes wrong becomes one line and an exit code."""

from __future__ import annotations

import os
import sys

from tildone.errors import TildoneError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.cli.parsing.args import Typed

INTERRUPTED = 130
PIPE_BROKEN = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line and give its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] == "hook" and not {"--help", "-h"}.intersection(words):
        code = hooked(words[1:])
        if argv is None:
            # All is said and written. Python's own way out takes as long as it took to get here.
            os._exit(code)
        return code
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return PIPE_BROKEN
    except TildoneError as error:
        return _complain(str(error), error.exit_code)
    except OSError as error:
        _forget_output()
        named = f"{error.filename}: " if error.filename else ""
        return _complain(f"{named}{error.strerror or error}", TildoneError.exit_code)
    return code


def hooked(words: Sequence[str]) -> int:
    """Answer a hook. That is a shell of its own, loaded by its name, and nothing else is loaded for it."""
    answer: Callable[[Sequence[str]], int] = __import__("tildone.hooks", fromlist=["main"]).main
    return answer(words)


def _run(argv: Sequence[str]) -> int:
    # Loaded here, so that Ctrl-C is heeded from the start.
    from tildone.cli.output import screen  # noqa: PLC0415  see above
    from tildone.cli.parsing.args import parse  # noqa: PLC0415  see above
    from tildone.cli.verbs import ROOT  # noqa: PLC0415  see above

    screen.prepare()
    typed = parse(ROOT, argv)
    return _doer(typed)(typed)


def _doer(typed: Typed) -> Callable[[Typed], int]:
    """The function for the verb; only its own module is loaded."""
    if typed.has("help"):
        target = "parsing.help.overview"
    elif typed.has("version"):
        target = "parsing.help.version"
    else:
        target = typed.verb.run
    module, _, function = target.rpartition(".")
    loaded = __import__(f"tildone.cli.{module}", fromlist=[function])
    found: Callable[[Typed], int] = getattr(loaded, function)
    return found


def _forget_output() -> None:
    """Drop what could not be printed: Python would try once more at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    # Late, because nothing but an error needs it.
    from tildone.views.sanitize import printable_lines  # noqa: PLC0415  see above

    print("tildone:", "\n".join(printable_lines(message)), file=sys.stderr)
    return code
