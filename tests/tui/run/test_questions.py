"""Questions above the editor: which keys answer them, and which never do."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import ARMED, ASKED, DONE, Connect, running
from tildone.tui.run import app

DELAYS = [50, *(pytest.param(delay_ms, marks=pytest.mark.slow) for delay_ms in (0, 200, 400))]


def command(line: str) -> Turn:
    return {"tool": "bash", "args": {"command": line}}


async def test_a_command_is_allowed_once_and_control_characters_are_visible(folder: Path, connect: Connect) -> None:
    with connect(ModelServer(command("touch made"), command("echo \x1b[2Jhidden"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.asked()
            assert "touch made" in screen.text
            await screen.press("enter", "ctrl+y")
            assert not (folder / "made").exists()
            await screen.press("y")
            await screen.shows(ASKED, "hidden")
            assert (folder / "made").exists()
            assert "\x1b" not in screen.text
            assert "echo ␛[2Jhidden" in screen.text


@pytest.mark.parametrize("delay_ms", DELAYS)
async def test_a_key_that_came_just_before_never_answers(folder: Path, connect: Connect, delay_ms: int) -> None:
    """The question comes at any moment after a key; the keys go on into the editor, byte for byte."""
    with connect(ModelServer({**command("touch made"), "hold": 1}, DONE)) as server:
        async with running("Go", "--model", CHAT) as screen:
            await screen.until(server.held.is_set)
            await screen.type("aye")
            await asyncio.sleep(delay_ms / 1000)
            server.release()
            await screen.type("y")
            await screen.shows(ASKED)
            await screen.type("y a yes")
            await asyncio.sleep(1.5)
            await screen.type("y")

            assert screen.draft == "ayeyy a yesy"
            assert not (folder / "made").exists()
            assert "tab answers" in screen.text


@pytest.mark.parametrize("delay_ms", DELAYS)
async def test_a_single_key_before_an_empty_editor_never_answers(
    folder: Path, connect: Connect, delay_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emptied editor is no invitation: some time must pass without a key."""
    monkeypatch.setattr(app, "QUIET_SECONDS", 60.0)
    with connect(ModelServer({**command("touch made"), "hold": 1}, DONE)) as server:
        async with running("Go", "--model", CHAT) as screen:
            await screen.until(server.held.is_set)
            await screen.press("a", "backspace")
            await asyncio.sleep(delay_ms / 1000)
            server.release()
            await screen.shows(ASKED)
            await screen.press("y")

            assert screen.draft == "y"
            assert not (folder / "made").exists()


async def test_tab_arms_the_question_and_the_draft_stays(folder: Path, connect: Connect) -> None:
    with connect(ModelServer({**command("touch made"), "hold": 1}, DONE)) as server:
        async with running("Go", "--model", CHAT) as screen:
            await screen.until(server.held.is_set)
            await screen.type("draft")
            server.release()
            await screen.shows(ASKED)
            await screen.press("tab")
            await screen.until(screen.app.panel.body.is_armed)
            await screen.press("y")
            await screen.hides(ASKED)
            await screen.until((folder / "made").exists)

            assert screen.draft == "draft"


async def test_a_paste_and_a_character_that_answers_nothing_go_to_the_editor(folder: Path, connect: Connect) -> None:
    with connect(ModelServer(command("touch made"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.asked()
            await screen.type("hey")
            await screen.until(lambda: screen.draft == "hey")
            screen.app.composer.fill("")
            await screen.press("tab")
            await screen.asked()
            screen.app.post_message(events.Paste("y"))
            await screen.until(lambda: screen.draft == "y")

            assert not (folder / "made").exists()


async def test_a_question_takes_the_keys_again_when_nobody_types_any_more(folder: Path, connect: Connect) -> None:
    """A key was pressed just before the question took the keys: it goes to the editor, and does not answer."""
    with connect(ModelServer(command("touch made"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.shows(ASKED)
            pressed_before = events.Key("y", "y")
            await screen.asked()
            screen.app.panel.body.post_message(pressed_before)
            await screen.until(lambda: screen.draft == "y" and not screen.app.panel.has_keys)

            screen.app.composer.fill("")
            await screen.asked()
            assert not (folder / "made").exists()
            await screen.press("y")
            await screen.until((folder / "made").exists)


async def test_always_is_asked_once_more(folder: Path, connect: Connect) -> None:
    with connect(ModelServer(command("touch made"), command("touch more"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.asked()
            await screen.press("a")
            await screen.shows("again: touch *")
            assert not (folder / "made").exists()
            await screen.press("escape")
            await screen.press("tab")
            await screen.press("a", "a")
            await screen.until((folder / "more").exists)


async def test_a_dangerous_command_needs_a_capital_letter_and_says_why(folder: Path, connect: Connect) -> None:
    (folder / "build").mkdir()
    with connect(ModelServer(command("rm -rf build"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.asked()
            await screen.shows("Careful: it deletes files.", "Y once")
            assert ARMED not in screen.text
            await screen.press("Y")
            await screen.until(lambda: not (folder / "build").exists())


@pytest.mark.usefixtures("folder")
async def test_a_no_has_a_reason_that_the_model_reads(connect: Connect) -> None:
    with connect(ModelServer(command("ls"), DONE)) as server:
        async with running("Go", "--model", CHAT) as screen:
            await screen.asked()
            await screen.press("n")
            await screen.shows("Why not?")
            await screen.type("Use fd")
            await screen.press("enter")
            await screen.until(lambda: len(server.requests) > 1)

    assert "Their reason: Use fd" in str(server.requests[1].messages[-1])


async def test_a_long_command_must_be_read_to_its_end(folder: Path, connect: Connect) -> None:
    words = " ".join(f"word{number:03}" for number in range(160))
    with connect(ModelServer(command(f"touch made; echo {words}"), DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.shows(ASKED, "word000")
            await screen.until(lambda: screen.app.panel.has_keys)
            await screen.shows("read to its end first")
            assert not screen.app.panel.body.end_is_visible
            await screen.press("pagedown", "pagedown", "pagedown")
            await screen.until(lambda: screen.app.panel.body.end_is_visible)
            await screen.until(screen.app.panel.body.is_armed)
            await screen.press("y")
            await screen.until((folder / "made").exists)


async def test_a_change_is_shown_as_a_diff_whose_hunks_are_stepped(folder: Path, connect: Connect) -> None:
    old = "".join(f"line {number}\n" for number in range(60))
    (folder / "a.txt").write_text(old, encoding="utf-8")
    new = old.replace("line 3\n", "LINE 3\n").replace("line 50\n", "LINE 50\n")
    with connect(ModelServer({"tool": "write", "args": {"path": "a.txt", "content": new}}, DONE)):
        async with running("Go", "--model", CHAT) as screen:
            await screen.shows("? Change a.txt?", "+2 −2", "- line 3", "+ LINE 3")
            await screen.until(lambda: screen.app.panel.has_keys)
            assert "LINE 50" not in screen.text
            await screen.press("pagedown", "pagedown")
            await screen.shows("LINE 50")
            await screen.until(screen.app.panel.body.is_armed)
            await screen.press("k")
            await screen.shows("LINE 3")
            await screen.press("j")
            await screen.shows("LINE 50")
            await screen.press("y")
            await screen.until(lambda: (folder / "a.txt").read_text(encoding="utf-8") == new)


async def test_a_question_calls_a_person_who_looks_elsewhere_and_takes_no_key_before_they_are_back(
    folder: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(ModelServer({**command("touch made"), "hold": 1}, command("touch more"), DONE)) as server:
        async with running("Go", "--model", CHAT) as screen:
            await screen.until(server.held.is_set)
            written: list[str] = []
            # The driver of a test writes nothing.
            monkeypatch.setattr(screen.app._driver, "write", written.append)  # noqa: SLF001  see above
            screen.app.post_message(events.AppBlur())
            await screen.until(lambda: not screen.app.app_focus)
            server.release()
            await screen.shows(ASKED)
            await screen.until(lambda: any("\x1b]9;tildone: ? Run this command?" in text for text in written))
            await asyncio.sleep(1.5)
            assert not screen.app.panel.has_keys

            with monkeypatch.context() as slow:
                slow.setattr(app, "QUIET_SECONDS", 60.0)
                screen.app.post_message(events.AppFocus())
                await screen.until(lambda: screen.app.app_focus)
                await screen.type("yes")
            assert screen.draft == "yes"
            assert not (folder / "made").exists()
            screen.app.composer.fill("")
            await screen.asked()
            written.clear()
            await screen.press("y")
            await screen.shows("touch more")
            assert not any("]9;" in text for text in written)
