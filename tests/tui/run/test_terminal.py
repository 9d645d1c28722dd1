"""`tildone run` in a real terminal, from the first screen to what is left behind.

Pictures of the screen as a whole.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import Person, new_person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, WRITE, provider_environment, statuses, write_plan
from tests.suite.waiting import until
from tests.tui.run.run_screen import Screen, Talk
from tests.walks.tmux import SHELL

DONE: Turn = {"text": "It is done.", "repeat": True}


class Tmux:
    """A terminal whose screen is read back. When the program has ended, the shell prints its exit code."""

    def __init__(self, person: Person, socket: Path, environ: dict[str, str]) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environ = person.environment({"PATH": path, **SHELL, **environ})
        self._command = ["tmux", "-S", str(socket), "-f", os.devnull]
        self._folder = person.folder

    def start(self, *argv: str, columns: int = 80, rows: int = 24, **environ: str) -> None:
        self._environ = {**self._environ, **environ}
        words = " ".join(f"'{word}'" for word in ("tildone", "run", *argv))
        program = f"{words}; echo ended with $?; exec sleep 600"
        self.run("new-session", "-d", "-s", "w", "-x", str(columns), "-y", str(rows), program)

    def run(self, *argv: str) -> str:
        done = subprocess.run(
            [*self._command, *argv], cwd=self._folder, env=self._environ, capture_output=True, timeout=60, check=True
        )
        return done.stdout.decode()

    def keys(self, *keys: str) -> None:
        self.run("send-keys", "-t", "w", *keys)

    def type(self, words: str) -> None:
        self.run("send-keys", "-l", "-t", "w", words)

    def screen(self) -> str:
        return self.run("capture-pane", "-p", "-t", "w")

    def until(self, *words: str) -> str:
        """Wait until the screen shows all of these words."""
        return until(lambda: shown if all(word in (shown := self.screen()) for word in words) else "", self.screen)

    def answer(self, words: str, key: str) -> None:
        """Wait for a question with these words, and answer it once its keys count."""
        self.until(words, "y once")
        time.sleep(0.4)
        self.keys(key)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return new_person(tmp_path, NO_PROXY="127.0.0.1", SSL_CERT_DIR=os.path.dirname(__file__))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def tmux(person: Person, server: ModelServer, tmp_path: Path) -> Iterator[Tmux]:
    terminal = Tmux(person, tmp_path / "tmux", provider_environment(server))
    yield terminal
    subprocess.run(["tmux", "-S", str(tmp_path / "tmux"), "kill-server"], capture_output=True, check=False)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_a_plan_is_carried_out_and_what_matters_stays_on_the_normal_screen(person: Person, tmux: Tmux) -> None:
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `touch two`\n")

    tmux.start(name, "--session", "s")
    tmux.answer("█    echo 1", "y")
    tmux.answer("█    touch two", "y")
    shown = tmux.until("ended with 0")

    assert "All 2 tasks are done." in shown
    assert "✓ #2 Two" in shown
    assert "How it went: tildone log --session s" in shown
    assert statuses(person, "s") == "✓✓"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_a_proposed_check_is_asked_about_when_its_task_is_called_done(
    person: Person, server: ModelServer, tmux: Tmux
) -> None:
    """It is approved for the project after the key was pressed twice, as for other commands."""
    person.says("todo", "import", write_plan(person, "- [ ] Make it\n  $ cp plan.md made\n"))
    server.script = ({"tool": "todo", "args": {"done": 1}}, DONE)

    tmux.start("Go", "--model", CHAT, "--dialect", "brief", "--session", str(person.folder))
    tmux.until("Run this command as the check of task 1?", "cp plan.md made", "exactly this check, in this project")
    assert not (person.folder / "made").exists()
    tmux.answer("Run this command as the check of task 1?", "a")
    tmux.until("again: exactly this check, in this project")
    tmux.keys("a")
    tmux.until("It is done.")

    assert (person.folder / "made").exists()
    assert statuses(person) == "✓"
    assert person.run("approve", "--json").json["checks"] == []


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_streaming_typing_resizing_stopping_and_leaving(server: ModelServer, tmux: Tmux) -> None:
    server.script = ({"text": "A first line.\n\nA second line.", "hold": 4}, DONE)
    tmux.start("Go", "--model", CHAT)
    tmux.until("esc stop")
    tmux.type("hello")
    tmux.until("❯ hello")
    tmux.run("resize-window", "-t", "w", "-x", "200", "-y", "50")
    tmux.until("No plan yet.", "❯ hello", "─" * 190)
    tmux.run("resize-window", "-t", "w", "-x", "40", "-y", "12")
    tmux.until("❯ hello")
    tmux.run("resize-window", "-t", "w", "-x", "80", "-y", "24")
    tmux.keys("Escape")
    tmux.until("Interrupted.")
    tmux.keys("Enter")
    tmux.until("It is done.")
    tmux.keys("C-d")
    shown = tmux.until("ended with 0")

    assert "It is done." in shown
    assert "To go on: tildone run --continue" in shown


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_what_was_typed_before_the_first_frame_is_in_the_editor(server: ModelServer, tmux: Tmux) -> None:
    server.script = (DONE,)
    tmux.start("--model", CHAT)
    tmux.type("early")

    tmux.until("❯ early", "ready")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_a_run_that_cannot_start_leaves_one_line(tmux: Tmux) -> None:
    tmux.start("Go", "--model", "nobody:none")

    shown = tmux.until("ended with 2")
    assert "tildone: " in shown
    assert "Traceback" not in shown


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_a_signal_restores_the_terminal(server: ModelServer, tmux: Tmux) -> None:
    server.script = ({"text": "Slow.", "hold": 1},)
    tmux.start("Go", "--model", CHAT)
    tmux.until("esc stop")
    pids = tmux.run("list-panes", "-t", "w", "-F", "#{pane_pid}").split()
    child = subprocess.run(["pgrep", "-P", pids[0]], capture_output=True, check=True).stdout.split()
    os.kill(int(child[0]), signal.SIGTERM)

    shown = tmux.until("ended with 143")
    assert "enter send" not in shown


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_an_error_in_the_screen_restores_the_terminal_and_is_shown(
    person: Person, server: ModelServer, tmux: Tmux
) -> None:
    (person.folder / "broken.py").write_text(BREAKS_THE_SCREEN, encoding="utf-8")
    server.script = (DONE,)
    tmux.start("--model", CHAT, "--extension", "broken.py")
    tmux.until("ready")
    tmux.type("/break")
    tmux.keys("Enter")
    time.sleep(0.5)
    tmux.type("x")

    shown = tmux.until("ended with")
    assert "ended with 1" in shown
    assert "RuntimeError: the screen is broken" in shown
    assert "locals" not in shown
    assert "s3cret" not in tmux.run("capture-pane", "-p", "-S", "-500", "-t", "w")
    assert "enter send" not in shown
    assert tmux.run("display-message", "-p", "-t", "w", "#{alternate_on} #{mouse_any_flag}").split() == ["0", "0"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_a_plan_and_a_draft_are_edited_in_the_editor_of_the_person(server: ModelServer, tmux: Tmux) -> None:
    server.script = (WRITE, DONE)
    tmux.start("Plan it", "--model", CHAT, EDITOR="sed -i s/One/Three/")
    tmux.until("Goes on by itself")
    tmux.keys("Escape")
    tmux.until("stopped")
    tmux.type("/todo edit")
    tmux.keys("Enter")
    tmux.until("The plan, as Markdown", "Three")
    tmux.type("a draft about One")
    tmux.until("❯ a draft about One")
    tmux.keys("C-g")
    tmux.until("❯ a draft about Three")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.parametrize("how", ["--plain", "TILDONE_ACCESSIBLE", "TERM"])
def test_lines_are_printed_where_the_person_wants_them(person: Person, server: ModelServer, how: str) -> None:
    server.script = (DONE,)
    environ = {"TILDONE_ACCESSIBLE": {"TILDONE_ACCESSIBLE": "true"}, "TERM": {"TERM": "dumb"}}.get(how, {})
    arguments = ["run", "Go", "--model", CHAT, *(["--plain"] if how == "--plain" else [])]
    terminal = person.at_terminal(*arguments, **provider_environment(server), **environ)
    answer = terminal.end()

    assert answer.code == 0
    assert "\x1b[?1049h" not in answer.out
    assert "It is done." in answer.out


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.slow
def test_without_the_extra_lines_are_printed_and_nothing_is_said_about_it(
    person: Person, server: ModelServer, tmp_path: Path
) -> None:
    """A finder that hides the package stands in for an environment without it."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDES_TEXTUAL, encoding="utf-8")
    server.script = (DONE,)
    environ = {**provider_environment(server), "PYTHONPATH": str(hidden)}
    answer = person.at_terminal("run", "Go", "--model", CHAT, **environ).end()

    assert answer.code == 0
    assert "\x1b[?1049h" not in answer.out
    assert "textual" not in answer.out
    assert "It is done." in answer.out


HIDES_TEXTUAL = """\
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "textual" else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""

BREAKS_THE_SCREEN = """\
def extension(api):
    async def break_it(arguments, ctx):
        from tildone.screens.run.app import RunApp

        def draw(app):
            token = "".join(("s3", "cret"))
            raise RuntimeError("the screen is broken" + token[:0])

        RunApp.draw = draw

    api.register_command("break", "break the screen", break_it)
"""


GOLDEN = Path(__file__).with_name("golden")
ANSWER = """Three things came out of this:

- `--out` was parsed **twice**; the second time won.
- Exit codes stay as they were: 0, 1 and 2.

I am going to give `watch` one JSON object a line, as `log` does."""
TODOS = [{"text": "Read the grammar"}, {"text": "Wire up the command line"}, {"text": "Write the release notes"}]
SCRIPT: tuple[Turn, ...] = (
    {"tool": "write_todos", "args": {"mode": "replace", "todos": TODOS}},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}},
    {"tool": "edit_todos", "args": {"action": "start", "indices": [1]}},
    {"text": ANSWER, "tools": [["bash", {"command": "cargo fuzz run parse -- -max_total_time=600"}]]},
    {"text": "The rest of the plan can wait.", "repeat": True},
)


@pytest.fixture
def short_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder whose path is as short for everybody, because the screen shows it."""
    # Not in the folder for temporary files, whose path may be long.
    with tempfile.TemporaryDirectory(prefix="tmp", dir="/tmp") as short:
        (Path(short) / folder.name / ".git").mkdir(parents=True)
        monkeypatch.chdir(Path(short) / folder.name)
        yield
        monkeypatch.chdir(folder)


@pytest.mark.usefixtures("short_folder")
@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((80, 24), "dark"),
        ((200, 50), "light"),
        pytest.param((80, 24), "light", marks=pytest.mark.slow),
        pytest.param((200, 50), "dark", marks=pytest.mark.slow),
    ],
)
async def test_the_screen_is_as_it_was_drawn_before(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], theme: str
) -> None:
    """The text is the same in every theme: nothing is told by colour alone. The countdown outlasts the picture."""
    monkeypatch.setenv("TILDONE_COUNTDOWN", "600")
    async with talk(ModelServer(*SCRIPT), "Work through it", size=size, theme=theme) as screen:
        shown = await pictures(screen)

    golden = GOLDEN / f"{size[0]}x{size[1]}.txt"
    assert shown == golden.read_text(encoding="utf-8")


async def pictures(screen: Screen) -> str:
    """A question, then the countdown."""
    await screen.asked()
    await screen.shows("y once", "f1 keys", "to show its output")
    question = await at_rest(screen)
    await screen.sees("n enter", "Goes on by itself", "The rest of the plan can wait.")
    return f"{question}\n\n{'=' * 20}\n{await at_rest(screen)}\n"


async def at_rest(screen: Screen) -> str:
    """The screen when all of it is drawn: what is drawn later is part of the picture."""
    await screen.until(lambda: not screen.app._draws_later)  # noqa: SLF001  see above
    before = ""
    while before != (now := settled(screen.text)):
        before = now
        await asyncio.sleep(0.3)
    return now


def settled(text: str) -> str:
    """The text without times, which differ, and without spaces that depend on their widths."""
    text = re.sub(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+:\d\d", "⠋ 0:00", text)
    text = re.sub(r"(?<![\w.])<?\d+(?:\.\d+)? ?(?:s|ms|min)\b(?! {2}━)", "N s", text)
    text = re.sub(r"in /\S*", "in FOLDER", text)
    text = re.sub(r"(?: · N s)?(?= · \d+ in)", "", text)
    text = re.sub(r"in \d+ s {2}[━─]+", "in 3 s  ━━━━━━━━━", text)
    text = re.sub(r"[▁▂▃▄▅▆▇]$", "", text, flags=re.MULTILINE)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.split("\n"))
