"""Questions above the editor: which keys answer them, and which never do."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.host.models.model_server import ModelServer, Turn
from tests.tui.run.run_screen import ARMED, ASKED, DONE, Talk
from tildone.screens.run import app

DELAYS = [50, *(pytest.param(delay_ms, marks=pytest.mark.slow) for delay_ms in (0, 200, 400))]


def command(line: str) -> Turn:
    return {"tool": "bash", "args": {"command": line}}


async def test_a_command_is_allowed_once_and_control_characters_are_visible(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer(command("touch made"), command("echo \x1b[2Jhidden"), DONE), "Go") as screen:
        await screen.asked()
        assert "touch made" in screen.text
        await screen.press("enter", "ctrl+y")
        assert not (folder / "made").exists()
        await screen.sees("y", ASKED, "hidden")
        assert (folder / "made").exists()
        assert "\x1b" not in screen.text
        assert "echo ␛[2Jhidden" in screen.text


@pytest.mark.parametrize("delay_ms", DELAYS)
async def test_a_key_that_came_just_before_never_answers(folder: Path, talk: Talk, delay_ms: int) -> None:
    """The question comes at any moment after a key; the keys go on into the editor, byte for byte."""
    async with talk(ModelServer({**command("touch made"), "hold": 1}, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("aye")
        await asyncio.sleep(delay_ms / 1000)
        screen.server.release()
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
    folder: Path, talk: Talk, delay_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emptied editor is no invitation: some time must pass without a key."""
    monkeypatch.setattr(app, "QUIET_SECONDS", 60.0)
    async with talk(ModelServer({**command("touch made"), "hold": 1}, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.press("a", "backspace")
        await asyncio.sleep(delay_ms / 1000)
        screen.server.release()
        await screen.shows(ASKED)
        await screen.press("y")

        assert screen.draft == "y"
        assert not (folder / "made").exists()


async def test_tab_arms_the_question_and_the_draft_stays(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer({**command("touch made"), "hold": 1}, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("draft")
        screen.server.release()
        await screen.shows(ASKED)
        await screen.sees("tab", screen.app.panel.body.is_armed)
        await screen.press("y")
        await screen.hides(ASKED)
        await screen.until((folder / "made").exists)

        assert screen.draft == "draft"


async def test_a_paste_and_a_character_that_answers_nothing_go_to_the_editor(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer(command("touch made"), DONE), "Go") as screen:
        await screen.asked()
        await screen.type("hey")
        await screen.until(lambda: screen.draft == "hey")
        screen.app.composer.fill("")
        await screen.press("tab")
        await screen.asked()
        screen.app.post_message(events.Paste("y"))
        await screen.until(lambda: screen.draft == "y")

        assert not (folder / "made").exists()


async def test_a_question_takes_the_keys_again_when_nobody_types_any_more(folder: Path, talk: Talk) -> None:
    """A key was pressed just before the question took the keys: it goes to the editor, and does not answer."""
    async with talk(ModelServer(command("touch made"), DONE), "Go") as screen:
        await screen.shows(ASKED)
        pressed_before = events.Key("y", "y")
        await screen.asked()
        screen.app.panel.body.post_message(pressed_before)
        await screen.until(lambda: screen.draft == "y" and not screen.app.panel.has_keys)

        screen.app.composer.fill("")
        await screen.asked()
        assert not (folder / "made").exists()
        await screen.sees("y", (folder / "made").exists)


async def test_always_is_asked_once_more(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer(command("touch made"), command("touch more"), DONE), "Go") as screen:
        await screen.asked()
        await screen.sees("a", "again: touch *")
        assert not (folder / "made").exists()
        await screen.press("escape")
        await screen.press("tab")
        await screen.sees("a a", (folder / "more").exists)


async def test_a_dangerous_command_needs_a_capital_letter_and_says_why(folder: Path, talk: Talk) -> None:
    (folder / "build").mkdir()
    async with talk(ModelServer(command("rm -rf build"), DONE), "Go") as screen:
        await screen.asked()
        await screen.shows("Careful: it deletes files.", "Y once")
        assert ARMED not in screen.text
        await screen.sees("Y", lambda: not (folder / "build").exists())


@pytest.mark.usefixtures("folder")
async def test_a_no_has_a_reason_that_the_model_reads(talk: Talk) -> None:
    async with talk(ModelServer(command("ls"), DONE), "Go") as screen:
        await screen.asked()
        await screen.sees("n", "Why not?")
        await screen.enters("Use fd", lambda: len(screen.server.requests) > 1)

    assert "Their reason: Use fd" in str(screen.server.requests[1].messages[-1])


async def test_a_long_command_must_be_read_to_its_end(folder: Path, talk: Talk) -> None:
    words = " ".join(f"word{number:03}" for number in range(160))
    async with talk(ModelServer(command(f"touch made; echo {words}"), DONE), "Go") as screen:
        await screen.shows(ASKED, "word000")
        await screen.until(lambda: screen.app.panel.has_keys)
        await screen.shows("read to its end first")
        assert not screen.app.panel.body.end_is_visible
        await screen.sees("pagedown pagedown pagedown", lambda: screen.app.panel.body.end_is_visible)
        await screen.until(screen.app.panel.body.is_armed)
        await screen.sees("y", (folder / "made").exists)


async def test_a_change_is_shown_as_a_diff_whose_hunks_are_stepped(folder: Path, talk: Talk) -> None:
    old = "".join(f"line {number}\n" for number in range(60))
    (folder / "a.txt").write_text(old, encoding="utf-8")
    new = old.replace("line 3\n", "LINE 3\n").replace("line 50\n", "LINE 50\n")
    async with talk(ModelServer({"tool": "write", "args": {"path": "a.txt", "content": new}}, DONE), "Go") as screen:
        await screen.shows("? Change a.txt?", "+2 −2", "- line 3", "+ LINE 3")
        await screen.until(lambda: screen.app.panel.has_keys)
        assert "LINE 50" not in screen.text
        await screen.sees("pagedown pagedown", "LINE 50")
        await screen.until(screen.app.panel.body.is_armed)
        await screen.sees("k", "LINE 3")
        await screen.sees("j", "LINE 50")
        await screen.sees("y", lambda: (folder / "a.txt").read_text(encoding="utf-8") == new)


async def test_a_question_calls_a_person_who_looks_elsewhere_and_takes_no_key_before_they_are_back(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talk(ModelServer({**command("touch made"), "hold": 1}, command("touch more"), DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        written: list[str] = []
        # The driver of a test writes nothing.
        monkeypatch.setattr(screen.app._driver, "write", written.append)  # noqa: SLF001  see above
        screen.app.post_message(events.AppBlur())
        await screen.until(lambda: not screen.app.app_focus)
        screen.server.release()
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
        await screen.sees("y", "touch more")
        assert not any("]9;" in text for text in written)
