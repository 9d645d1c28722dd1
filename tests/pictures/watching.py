"""The picture of `tildone watch`: the sample sessions, and one plan."""

import tempfile
from pathlib import Path

from tests.cli.person import Person
from tests.pictures.recording import Frame, Mark, Recording
from tests.suite.forking import PROGRAM
from tests.web.browser.plans import sample_store

COLUMNS, ROWS = 160, 40
LABEL = "A list of a dozen sessions with their states, the ones that need a person first, and the plan of one of them."


def record() -> list[Frame]:
    """Run `tildone watch`, and return its first screen."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch, "project"), Path(scratch, "home")
        folder.mkdir()
        home.mkdir()
        environ = Person(folder, home).environment({"COLORTERM": "truecolor"})
        argv: list[str | Path] = [PROGRAM, "watch", "--store", str(sample_store(home))]
        recording = Recording(argv, folder, environ, (COLUMNS, ROWS))
        try:
            return recording.frames([Mark(r"live(?s:.*)Read the grammar(?s:.*)\? keys", 1.0)])
        finally:
            recording.stop()
