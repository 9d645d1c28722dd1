"""Time from the start of `tildone run` with a model to its first screen, against the plain mode's first line."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from bench.measure import Row, medians

AIM = 1.0
NAME, BASE = "first paint: tildone run", "tildone run --plain"
MODEL = ("--model", "openai-chat:none")
FULL, PLAIN = "❯", "say what is to be done"


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """One row: the full screen is drawn before the library of the provider is loaded."""
    script = Path(sys.executable).with_name("tildone")
    if os.name == "nt" or find_spec("textual") is None or not script.exists():
        yield Row(NAME, BASE, AIM, skipped="needs a pseudo-terminal and the extra tui")
        return
    work = folder / "first-paint"
    work.mkdir(exist_ok=True)
    environ = {**os.environ, "TILDONE_STORE": str(work / "plans.db"), "TERM": "xterm-256color"}
    environ["OPENAI_API_KEY"] = "none"
    environ |= {"XDG_DATA_HOME": str(work), "XDG_CONFIG_HOME": str(work), "PYTHONPYCACHEPREFIX": str(folder)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    full, plain = medians(
        [
            painted(environ, work, FULL, str(script), "run", *MODEL),
            painted(environ, work, PLAIN, str(script), "run", "--plain", *MODEL),
        ],
        rounds,
    )
    yield Row(NAME, BASE, AIM, full, plain)


def painted(environ: Mapping[str, str], folder: Path, words: str, *argv: str) -> Callable[[], object]:
    """Return an action: start the program at a terminal, and wait until it has shown these words."""

    def start() -> None:
        # There are no pseudo-terminals of this kind everywhere.
        import pty  # noqa: PLC0415  see above

        ours, theirs = pty.openpty()
        process = subprocess.Popen(argv, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while words.encode() not in shown:
                with contextlib.suppress(OSError):
                    shown += os.read(ours, 65536)
                if process.poll() is not None:
                    raise RuntimeError(f"{argv} has ended: {shown.decode(errors='replace')}")
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    return start
