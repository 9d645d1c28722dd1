"""`tildone run` in a real terminal, from the first screen to what is left behind.

Pictures of the screen as a whole.
"""

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.person import Person, new_person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.plan_calls import call
from tests.run.run_workspace import CHAT, WRITE, edit, provider_environment, statuses, write_plan
from tests.suite.waiting import until
from tests.tui.run.run_screen import Screen, Talk
from tests.walks.tmux import Pane, why_not

DONE: Turn = {"text": "It is done.", "repeat": True}


class Terminal(Pane):
    """A terminal whose screen is read back. When the program has ended, the shell prints its exit code."""

    def keys(self, key: str) -> None:
        self.tmux(f"send-keys {key}")

    def until(self, *words: str) -> str:
        """Wait until the screen shows all of these words."""
        return until(
            lambda: shown if all(word in (shown := self.screen) for word in words) else "", lambda: self.screen
        )

    def answer(self, words: str, key: str) -> None:
        """Wait for a question with these words, and answer it once its keys count."""
        self.until(words, "y once")
        time.sleep(0.4)
        self.keys(key)


Start = Callable[..., Terminal]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return new_person(tmp_path, NO_PROXY="127.0.0.1", SSL_CERT_DIR=os.path.dirname(__file__))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def tmux(person: Person, server: ModelServer) -> Iterator[Start]:
    """A function that starts a run with these arguments in a terminal."""
    if tmux_is_missing := why_not():
        pytest.skip(tmux_is_missing)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with ExitStack() as exits:

        def start(*argv: str, **environ: str) -> Terminal:
            program = f"{shlex.join(('tildone', 'run', *argv))}; echo ended with $?; exec sleep 600"
            given = person.environment({"PATH": path, **provider_environment(server), **environ})
            return exits.enter_context(Terminal(["sh", "-c", program], person.folder, given))

        yield start


@pytest.mark.slow
def test_a_plan_is_carried_out_and_what_matters_stays_on_the_normal_screen(person: Person, tmux: Start) -> None:
    name = write_plan(person, "- [ ] One: `echo 1`\n- [ ] Two: `touch two`\n")

    screen = tmux(name, "--session", "s")
    screen.answer("█    echo 1", "y")
    screen.answer("█    touch two", "y")
    shown = screen.until("ended with 0")

    assert "All 2 tasks are done." in shown
    assert "✓ #2 Two" in shown
    assert "How it went: tildone log --session s" in shown
    assert statuses(person, "s") == "✓✓"


@pytest.mark.slow
def test_a_proposed_check_is_asked_about_when_it_is_needed(person: Person, server: ModelServer, tmux: Start) -> None:
    """It is approved for the project after the key was pressed twice, as for other commands."""
    person.says("todo", "import", write_plan(person, "- [ ] Make it\n  $ cp plan.md made\n"))
    server.script = ({"tool": "todo", "args": {"done": 1}}, DONE)

    screen = tmux("Go", "--model", CHAT, "--dialect", "brief", "--session", str(person.folder))
    screen.until("Run this command as the check of task 1?", "cp plan.md made", "exactly this check, in this project")
    assert not (person.folder / "made").exists()
    screen.answer("Run this command as the check of task 1?", "a")
    screen.until("again: exactly this check, in this project")
    screen.keys("a")
    screen.until("It is done.")

    assert (person.folder / "made").exists()
    assert statuses(person) == "✓"
    assert person.run("approve", "--json").json["checks"] == []


def test_streaming_typing_resizing_stopping_and_leaving(server: ModelServer, tmux: Start) -> None:
    server.script = ({"text": "A first line.\n\nA second line.", "hold": 4}, DONE)
    screen = tmux("Go", "--model", CHAT)
    screen.until("esc stop")
    screen.send("hello")
    screen.until("❯ hello")
    screen.tmux("resize-window -x 200 -y 50")
    screen.until("No plan yet.", "❯ hello", "─" * 190)
    screen.tmux("resize-window -x 40 -y 12")
    screen.until("❯ hello")
    screen.tmux("resize-window -x 80 -y 24")
    screen.keys("Escape")
    screen.until("Interrupted.")
    screen.keys("Enter")
    screen.until("It is done.")
    screen.keys("C-d")
    shown = screen.until("ended with 0")

    assert "It is done." in shown
    assert "To go on: tildone run --continue" in shown


LONG = "\n\n".join(f"Line {number} of it." for number in range(40))
PASTE = "\x1b[200~{}\x1b[201~"


@pytest.fixture
def shell(person: Person, server: ModelServer) -> Iterator[Terminal]:
    """A shell with job control, in which runs are started."""
    if tmux_is_missing := why_not():
        pytest.skip(tmux_is_missing)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = person.environment({"PATH": path, "PS1": "$ ", **provider_environment(server)})
    with Terminal(["bash", "--norc", "-i"], person.folder, given) as terminal:
        terminal.until("$")
        yield terminal


def test_a_person_reads_types_suspends_and_sees_what_they_said(server: ModelServer, shell: Terminal) -> None:
    """Bytes that arrive at once are typed in their order, wherever the keys are."""
    server.script = ({"text": f"First.\n\n{LONG}"}, {"text": "Second.", "repeat": True})
    shell.send(f"tildone run Go --model {CHAT}\r")
    shell.until("Line 39", "idle")
    shell.keys("C-z")
    shell.until("Stopped")
    shell.send("fg\r")
    shell.until("Line 39", "enter send")

    shell.keys("Tab")
    shell.until("enter expand")
    shell.keys("Home")
    shell.until("❯ Go", "First.")
    shell.send("you may go on")
    shell.until("❯ you may go on", "First.")
    shell.keys("End")
    shell.until("Line 39")
    shell.keys("Tab")
    shell.until("enter expand")
    shell.keys("Home")
    shell.until("First.")
    shell.send(PASTE.format(", please"))
    shell.until("❯ you may go on, please", "First.")
    shell.send("\r")
    shell.until("Second.", "Line 39")

    assert server.requests[1].messages[-1]["content"] == "you may go on, please"


def test_a_dangerous_command_says_which_key_allows_it(person: Person, server: ModelServer, tmux: Start) -> None:
    (person.folder / "build").mkdir()
    server.script = (call("bash", command="rm -rf build"), DONE)
    screen = tmux("Go", "--model", CHAT)
    screen.until("Careful: it deletes files.", " Y a n answer  esc editor")
    screen.tmux("resize-window -x 30 -y 9")
    screen.until("█    Y once\n")
    screen.tmux("resize-window -x 80 -y 24")
    screen.until("Careful: it deletes files.", " Y a n answer  esc editor")
    screen.send("y")
    screen.until(" Y allows, n refuses", " Y a n answer  esc editor", "❯ Say what")
    screen.send("hey Y are you sure")
    screen.until("❯ hey Y are you sure", "tab answers")
    assert (person.folder / "build").exists()
    screen.keys("Tab")
    screen.until(" Y a n answer  esc editor")
    time.sleep(0.4)
    screen.send("Y")
    screen.until("It is done.")

    assert not (person.folder / "build").exists()


def test_what_is_sent_early_is_delivered_and_what_waits_comes_back(
    person: Person, server: ModelServer, tmux: Start
) -> None:
    wait = call("bash", command="touch begun; until [ -e go ]; do sleep 0.05; done")
    server.script = (wait, DONE)
    screen = tmux("--model", CHAT, "--allow", "*")
    screen.until("starting")
    screen.send("Begin\r")
    screen.until("❯ Begin (waits)")
    until((person.folder / "begun").exists)
    screen.send("one\r")
    screen.until("❯ one (waits)")
    screen.send("two\x1b\rdraft")
    screen.until("❯ two (waits)", "❯ draft")
    screen.keys("Escape")
    screen.until("The turn ends with this command", " ❯ draft\n   one\n   two\n")
    screen.keys("Escape")
    screen.until("Interrupted.", " ❯ draft\n   one\n   two\n")

    assert "(waits)" not in screen.screen
    assert [asked.messages[-1]["content"] for asked in server.requests] == ["Begin"]


def test_a_letter_with_alt_is_not_typed_and_alt_enter_sends_later(
    person: Person, server: ModelServer, tmux: Start
) -> None:
    """Terminals send Escape before the key."""
    wait = call("bash", command="touch begun; until [ -e go ]; do sleep 0.05; done")
    server.script = (wait, {"text": "On its way."}, DONE)
    screen = tmux("Go", "--model", CHAT, "--allow", "*")
    until((person.folder / "begun").exists)
    screen.send("afterwards")
    screen.keys("M-Enter")
    screen.until("❯ afterwards (waits)")
    screen.send(PASTE.format("pasted\n" * 11))
    screen.until("❯ [pasted: 11 lines]")
    screen.keys("M-p")
    screen.until("❯ pasted\n   pasted\n")
    screen.keys("C-c")
    screen.until("❯ Say what")
    (person.folder / "go").touch()
    screen.until("It is done.")

    assert [asked.messages[-1]["role"] for asked in server.requests] == ["user", "tool", "user"]
    assert server.requests[2].messages[-1]["content"] == "afterwards"


@pytest.mark.slow
def test_what_was_typed_before_the_first_frame_is_in_the_editor(server: ModelServer, tmux: Start) -> None:
    server.script = (DONE,)
    screen = tmux("--model", CHAT)
    screen.send("early")

    screen.until("❯ early", "idle")


@pytest.mark.slow
def test_a_run_that_cannot_start_leaves_one_line(tmux: Start) -> None:
    screen = tmux("Go", "--model", "nobody:none")

    shown = screen.until("ended with 2")
    assert "tildone: " in shown
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_signal_restores_the_terminal(server: ModelServer, tmux: Start) -> None:
    server.script = ({"text": "Slow.", "hold": 1},)
    screen = tmux("Go", "--model", CHAT)
    screen.until("esc stop")
    [pid] = screen.tmux("display-message -p '#{pane_pid}'")
    child = subprocess.run(["pgrep", "-P", pid], capture_output=True, check=True).stdout.split()
    os.kill(int(child[0]), signal.SIGTERM)

    shown = screen.until("ended with 143")
    assert "enter send" not in shown


@pytest.mark.slow
def test_an_error_in_the_screen_restores_the_terminal(person: Person, server: ModelServer, tmux: Start) -> None:
    (person.folder / "broken.py").write_text(BREAKS_THE_SCREEN, encoding="utf-8")
    server.script = (DONE,)
    screen = tmux("--model", CHAT, "--extension", "broken.py")
    screen.until("idle")
    screen.send("/break")
    screen.keys("Enter")
    time.sleep(0.5)
    screen.send("x")

    shown = screen.until("ended with")
    assert "ended with 1" in shown
    assert "RuntimeError: the screen is broken" in shown
    assert "locals" not in shown
    assert "s3cret" not in "\n".join(screen.tmux("capture-pane -p -S -500"))
    assert "enter send" not in shown
    assert screen.tmux("display-message -p '#{alternate_on} #{mouse_any_flag}'") == ["0 0"]


@pytest.mark.slow
def test_a_plan_and_a_draft_are_edited_in_the_editor_of_the_person(server: ModelServer, tmux: Start) -> None:
    server.script = (WRITE, DONE)
    screen = tmux("Plan it", "--model", CHAT, EDITOR="sed -i s/One/Three/")
    screen.until("Goes on by itself")
    screen.keys("Escape")
    screen.until("idle")
    screen.send("/todo edit")
    screen.keys("Enter")
    screen.until("The plan, as Markdown", "Three")
    screen.send("a draft about One")
    screen.until("❯ a draft about One")
    screen.keys("C-g")
    screen.until("❯ a draft about Three")


@pytest.mark.parametrize(
    ("option", "environ"), [(["--plain"], {}), ([], {"TILDONE_ACCESSIBLE": "true"}), ([], {"TERM": "dumb"})]
)
def test_lines_are_printed_where_the_person_wants_them(
    person: Person, server: ModelServer, option: list[str], environ: dict[str, str]
) -> None:
    server.script = (DONE,)
    run = ("run", "Go", "--model", CHAT, *option)
    answer = person.at_terminal(*run, **provider_environment(server), **environ).end()

    assert answer.code == 0
    assert "\x1b[?1049h" not in answer.out
    assert "It is done." in answer.out


@pytest.mark.slow
def test_without_the_extra_lines_are_printed_in_silence(person: Person, server: ModelServer, tmp_path: Path) -> None:
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
    call("write_todos", mode="replace", todos=TODOS),
    edit("complete", 0),
    edit("start", 1),
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
    await screen.shows("y once", "f1 keys", "? asks you")
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
