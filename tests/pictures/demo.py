"""The animated picture: an agent stops with tasks open, is told to go on, and finishes."""

import threading
from pathlib import Path

from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
from tests.pictures.recording import Frame, Mark, Recording, record_in_project
from tests.run.run_workspace import provider_environment
from tests.suite.forking import PROGRAM

COLUMNS, ROWS = 84, 24
TASK = "Add a --version flag, with a test"
LABEL = "An agent stops with two of three tasks open. tildone tells it to go on, and it finishes."
TASKS = ("Read the option parser", "Add the flag", "Test it")
STOPS = "The flag belongs next to --help. I'll stop here; the rest looks straightforward."
PROGRAM_FILE = """\
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("--out")
"""
TEST_FILE = """\
import unittest

from cli import parser


class Version(unittest.TestCase):
    def test_version_is_printed(self):
        self.assertIn("--version", parser.format_help())
"""


def _plan(action: str, index: int) -> list[object]:
    return ["edit_todos", {"action": action, "indices": [index]}]


_OLD, _NEW = 'parser.add_argument("--out")', 'parser.add_argument("--version", action="version", version="2.1")'
SCRIPT: tuple[Turn, ...] = (
    {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": text} for text in TASKS]}},
    {"tools": [_plan("start", 0), ["read", {"path": "cli.py"}]]},
    {"tools": [_plan("complete", 0)]},
    {"text": STOPS},
    {"tools": [_plan("start", 1), ["edit", {"path": "cli.py", "old_text": _OLD, "new_text": f"{_OLD}\n{_NEW}"}]]},
    {"tools": [_plan("complete", 1), _plan("start", 2), ["write", {"path": "test_cli.py", "content": TEST_FILE}]]},
    {"tools": [["bash", {"command": "python3 -m unittest -q"}]]},
    {"tools": [_plan("complete", 2)]},
    {"text": "All three are done."},
)


class GatedServer(ModelServer):
    """A model that gives an answer only when it is told to."""

    def __init__(self, *script: Turn) -> None:
        super().__init__(*script)
        self._turns = threading.Semaphore(0)

    def answer(self) -> None:
        self._turns.release()

    def next_turn(self, request: ReceivedRequest) -> Turn:
        self._turns.acquire()
        return super().next_turn(request)


def storyboard(server: GatedServer) -> list[Mark]:

    def answer(_: Recording) -> None:
        server.answer()

    return [
        Mark("Add a --version flag", 1.5, answer),
        Mark("0/3", 1.2, answer),
        Mark("Read the option parser(?s:.*)4 lines", 1.2, answer),
        Mark("1/3", 1.2, answer),
        Mark("straightforward", 2.0, steady_seconds=0.3),
        Mark("in [12]", 1.0, steady_seconds=0),
        Mark("in 1", 1.0, steady_seconds=0),
        Mark("(?i)continu|told to go on", 1.2, answer),
        Mark(r"add_argument\(\"--version\"", 1.5, answer),
        Mark("2/3(?s:.*)test_cli", 1.2, answer),
        Mark("OK", 1.2, answer),
        Mark("3/3", 1.2, answer),
        Mark("All three are done", 3.0),
    ]


def record() -> list[Frame]:
    """Run `tildone run` with the scripted model, and return the frames."""

    def start(folder: Path, _home: Path) -> list[str | Path]:
        (folder / "cli.py").write_text(PROGRAM_FILE, encoding="utf-8")
        return [PROGRAM, "run", TASK, "--model", "openai-chat:scripted", "--allow", "*", "--allow-write", "*"]

    with GatedServer(*SCRIPT) as server:
        return record_in_project(start, storyboard(server), (COLUMNS, ROWS), provider_environment(server))
