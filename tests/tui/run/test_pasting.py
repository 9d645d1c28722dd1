"""What is pasted into the editor of the full-screen run and is folded there, and files that are completed."""

import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Offset

from tests.host.models.model_server import ModelServer
from tests.tui.run.run_screen import DONE, Screen, Talk

pytestmark = pytest.mark.usefixtures("folder")

LINES = "\n".join(f"line {number}" for number in range(42))
FOLDED = "[pasted: 42 lines]"


async def paste(screen: Screen, text: str, draft: str) -> None:
    screen.app.post_message(events.Paste(text))
    await screen.until(lambda: screen.draft == draft)


def sent(screen: Screen) -> str:
    content = screen.server.requests[-1].messages[-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


async def test_a_long_paste_is_folded_and_sent_whole_and_comes_back_whole(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.type("look: ")
        await paste(screen, LINES, f"look: {FOLDED}")
        await screen.shows(f"❯ look: {FOLDED}", "It is sent whole; alt+p unfolds it.")
        await screen.type(" and")
        await screen.sees("enter", "Done.")
        assert sent(screen) == f"look: {LINES} and"
        await screen.press("up")
        assert screen.draft == f"look: {LINES} and"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("\n".join("abcdefghij"), ""),
        ("\n".join("abcdefghij") + "\n", ""),
        ("\n".join("abcdefghijk"), "[pasted: 11 lines]"),
        ("x" * 1000, ""),
        ("x" * 1001, "[pasted: 1,001 characters]"),
        ("\x1b[2J\n" * 12, "[pasted: 12 lines]"),
    ],
    ids=["10 lines", "10 lines with an end", "11 lines", "1,000 characters", "1,001 characters", "control characters"],
)
async def test_what_is_longer_than_ten_lines_or_a_thousand_characters_is_folded(
    talk: Talk, text: str, folded: str
) -> None:
    """Also folded, it is without control characters."""
    async with talk(ModelServer(DONE)) as screen:
        await paste(screen, text, folded or text)
        assert screen.app.composer.whole == text.replace("\x1b", "␛")


async def test_a_folded_paste_is_deleted_as_one_and_the_cursor_goes_over_it(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.type("a")
        await paste(screen, LINES, f"a{FOLDED}")
        await screen.type("b")
        for keys, draft in (
            (("left", "left", "x"), f"ax{FOLDED}b"),
            (("right", "y"), f"ax{FOLDED}yb"),
            (("left", "backspace"), "axyb"),
            (("ctrl+underscore",), f"ax{FOLDED}yb"),
            (("home", "right", "right", "delete"), "axyb"),
            (("ctrl+underscore", "end", "left", "left", "ctrl+w"), "axyb"),
            (("ctrl+y",), f"ax{FOLDED}yb"),
        ):
            await screen.press(*keys)
            assert screen.draft == draft
        assert screen.app.composer.whole == f"ax{LINES}yb"


async def test_a_click_into_a_folded_paste_puts_the_cursor_beside_it(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await paste(screen, LINES, FOLDED)
        await screen.type(" x")
        await screen.pilot.click("#composer", offset=Offset(5, 0))
        await screen.type("y")
        assert screen.draft == f"y{FOLDED} x"


async def test_a_paste_is_unfolded_and_folded_again_by_undo(talk: Talk) -> None:
    """That at the cursor, else the last one. The same text has one name, and others of its size have their own."""
    other = LINES.replace("line", "row")
    async with talk(ModelServer(DONE)) as screen:
        await screen.press("alt+p")
        await paste(screen, LINES, FOLDED)
        await screen.type(" ")
        await paste(screen, other, f"{FOLDED} [pasted: 42 lines, 2]")
        await screen.type(" ")
        await paste(screen, LINES, f"{FOLDED} [pasted: 42 lines, 2] {FOLDED}")
        await screen.type(" .")
        await screen.press("alt+p")
        assert screen.draft == f"{FOLDED} [pasted: 42 lines, 2] {LINES} ."
        await screen.press("ctrl+underscore", "home", "alt+p")
        assert screen.draft == f"{LINES} [pasted: 42 lines, 2] {FOLDED} ."
        assert screen.app.composer.whole == f"{LINES} {other} {LINES} ."


async def test_the_editor_of_the_person_and_the_clipboard_get_the_whole_paste(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/line/LINE/")
    monkeypatch.delenv("VISUAL", raising=False)
    async with talk(ModelServer(DONE)) as screen:
        monkeypatch.setattr(type(screen.app), "suspend", lambda _: nullcontext())
        await paste(screen, LINES, FOLDED)
        await screen.press("shift+home")
        await screen.sees("ctrl+c", "Copied")
        assert screen.app.clipboard == LINES
        await screen.sees("ctrl+g", lambda: screen.draft == LINES.replace("line", "LINE"))


async def test_a_paste_while_a_question_is_asked_is_folded_in_the_editor(talk: Talk) -> None:
    async with talk(ModelServer({"tool": "bash", "args": {"command": "ls"}}, DONE), "Go") as screen:
        await screen.asked()
        await paste(screen, LINES, FOLDED)
        assert screen.talk.ui.question is not None


@pytest.fixture
def files(folder: Path) -> Path:
    """A project in git, with files that it ignores."""
    (folder / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for name in ("grammar.py", "grammar_two.py", "ignored.log", "src/deep/grape.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    return folder


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("keys", "draft"),
    [
        (("enter",), "see @grammar.py "),
        (("tab",), "see @grammar.py "),
        (("down", "enter"), "see @grammar_two.py "),
        (("down", "down", "tab"), "see @src/deep/grape.txt "),
        (("up", "tab"), "see @src/deep/grape.txt "),
        (("escape",), "see @gra"),
    ],
    ids=lambda given: "+".join(given) if isinstance(given, tuple) else "",
)
async def test_files_are_listed_as_one_types_and_completed(talk: Talk, keys: tuple[str, ...], draft: str) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.type("see @gra")
        await screen.shows("@grammar.py", "@grammar_two.py", "@src/deep/grape.txt")
        await screen.press(*keys)
        assert screen.draft == draft
        await screen.until(lambda: not screen.app.completion_list.display)
        await screen.sees("enter", "Done.")
        assert sent(screen) == draft.strip()


@pytest.mark.usefixtures("files")
async def test_ignored_files_are_not_offered_and_a_command_of_the_shell_is_not_completed(talk: Talk) -> None:
    async with talk(ModelServer(DONE), size=(40, 12)) as screen:
        await screen.type("@")
        await screen.shows("@grammar.py", "@.gitignore")
        assert "ignored.log" not in screen.text
        await screen.type("nothing like it")
        await screen.hides("@grammar.py")
        screen.app.composer.fill("!echo ")
        await screen.type("@gra")
        await screen.sees("enter", "! echo @gra", "@gra")
        assert not screen.app.completion_list.display
