"""Questions above the editor and which keys answer them.

What extensions ask and show; and checks in the plan beside.
"""

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from textual import events

from tests.host.models.model_server import ModelServer, Turn
from tests.run.plan_calls import call
from tests.run.run_workspace import CHAT, WRITE
from tests.tui.run.run_screen import ARMED, ASKED, DONE, STOPS, Connect, Screen, Talk, running
from tildone.app.opening import check_approvals, open_session
from tildone.plan.claims import Claimant
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Check
from tildone.plan.ops import Numbered, SetCheck
from tildone.plan.text.styles import plain
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.screens.run import app, questions
from tildone.screens.run.questions import AskedPermission, fits_side_by_side, parse_diff, side_by_side, unified

pytestmark = pytest.mark.usefixtures("folder")

MAKE, MORE, HIDDEN = (call("bash", command=line) for line in ("touch made", "touch more", "echo \x1b[2Jhidden"))
SLOW: Turn = {**MAKE, "hold": 1}
DELAYS = [50, *(pytest.param(delay_ms, marks=pytest.mark.slow) for delay_ms in (0, 200, 400))]


async def test_a_command_is_allowed_once_and_control_characters_are_visible(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer(MAKE, HIDDEN, DONE), "Go") as screen:
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
    async with talk(ModelServer(SLOW, DONE), "Go") as screen:
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
    async with talk(ModelServer(SLOW, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.press("a", "backspace")
        await asyncio.sleep(delay_ms / 1000)
        screen.server.release()
        await screen.shows(ASKED)
        await screen.press("y")

        assert screen.draft == "y"
        assert not (folder / "made").exists()


async def test_tab_arms_the_question_and_the_draft_stays(folder: Path, talk: Talk) -> None:
    async with talk(ModelServer(SLOW, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("draft")
        screen.server.release()
        await screen.shows(ASKED)
        await screen.sees("tab", screen.app.panel.body.is_armed)
        await screen.press("y")
        await screen.hides(ASKED)
        await screen.until((folder / "made").exists)

        assert screen.draft == "draft"


async def test_tab_stays_with_a_question_that_has_just_taken_the_keys(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line below it says that Tab answers, until it takes them by itself."""
    async with talk(ModelServer(MAKE, DONE), "Go") as screen:
        await screen.asked()
        monkeypatch.setattr(questions, "QUIET_SECONDS", 600.0)
        await screen.sees("tab", lambda: screen.app.panel.has_keys, ARMED)
        monkeypatch.setattr(questions, "QUIET_SECONDS", 0.0)
        await screen.sees("tab", lambda: screen.talk.view.has_focus)


async def test_a_paste_and_words_go_to_the_editor(folder: Path, talk: Talk) -> None:
    """So does a key that was pressed just before the question took the keys. It takes them again after a while."""
    async with talk(ModelServer(MAKE, MORE, DONE), "Go") as screen:
        await screen.shows(ASKED)
        pressed_before = events.Key("y", "y")
        await screen.asked()
        screen.app.panel.body.post_message(pressed_before)
        await screen.until(lambda: screen.draft == "y" and not screen.app.panel.has_keys)

        screen.app.composer.fill("")
        await screen.asked()
        assert not (folder / "made").exists()
        await screen.sees("y", (folder / "made").exists, "touch more")
        await screen.asked()
        await screen.type("hey")
        await screen.until(lambda: screen.draft == "hey")
        screen.app.composer.fill("")
        await screen.press("tab")
        await screen.asked()
        screen.app.post_message(events.Paste("y"))
        await screen.until(lambda: screen.draft == "y")

        assert not (folder / "more").exists()


async def test_a_key_that_answers_nothing_leaves_the_keys_to_the_question(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hint names those that answer, and so does the footer, at each step of the answer."""
    monkeypatch.setattr(questions, "QUIET_SECONDS", 0.0)
    (folder / "build").mkdir()
    async with talk(ModelServer(call("bash", command="rm -rf build"), DONE), "Go") as screen:
        await screen.asked()
        await screen.shows(" Y a n answer  esc editor")
        for key in ("y", "x"):
            await screen.sees(key, "Y allows, n refuses")
            assert screen.app.panel.has_keys
            assert screen.draft == ""
        await screen.sees("a", " a answer  esc editor")
        await screen.sees("x", " Y a n answer  esc editor")
        await screen.sees("n", " enter answer  esc editor")
        await screen.sees("escape", " Y a n answer  esc editor")
        await screen.sees("Y", lambda: not (folder / "build").exists())
        for options, keys in ((["red", "green"], "1 2"), (list("abcde"), "1–5")):
            (asked,) = asking(screen.talk.ui.select("Which one?", options))
            await screen.asked("? Which one?")
            await screen.sees("z", f"Keys that answer: {keys}", f" {keys} answer  esc editor")
            await screen.press("1")
            assert await asked == options[0]
            await screen.hides("Which one?")


async def test_the_letter_of_an_answer_is_no_text_and_words_have_no_answer(folder: Path, talk: Talk) -> None:
    (folder / "build").mkdir()
    async with talk(ModelServer(call("bash", command="rm -rf build"), DONE), "Go") as screen:
        await screen.asked()
        await screen.type("hY")
        await screen.until(lambda: screen.draft == "hY")
        assert (folder / "build").exists()
        screen.app.composer.fill("")
        await screen.press("tab")
        await screen.asked()
        await screen.press("y", "Y")
        await screen.until(lambda: not (folder / "build").exists())
        assert screen.draft == ""


async def test_always_is_asked_twice_and_a_dangerous_command_needs_a_capital_letter(folder: Path, talk: Talk) -> None:
    """It says why. A no has a reason that the model reads."""
    (folder / "build").mkdir()
    script = [call("bash", command=line) for line in ("touch made", "touch more", "rm -rf build", "ls")]
    async with talk(ModelServer(*script, DONE), "Go") as screen:
        await screen.asked()
        await screen.sees("a", "again: touch *")
        assert not (folder / "made").exists()
        await screen.press("escape")
        await screen.press("tab")
        await screen.sees("a a", (folder / "more").exists)
        await screen.shows("Careful: it deletes files.", "Y once")
        await screen.asked()
        assert ARMED not in screen.text
        await screen.sees("Y", lambda: not (folder / "build").exists())
        await screen.shows("█    ls")
        await screen.asked()
        await screen.sees("n", "Why not?")
        await screen.enters("Use fd", lambda: len(screen.server.requests) > 4)

    assert "Their reason: Use fd" in str(screen.server.requests[4].messages[-1])


async def test_a_long_command_must_be_read_to_its_end(folder: Path, talk: Talk) -> None:
    words = " ".join(f"word{number:03}" for number in range(160))
    async with talk(ModelServer(call("bash", command=f"touch made; echo {words}"), DONE), "Go") as screen:
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
    async with talk(ModelServer(call("write", path="a.txt", content=new), DONE), "Go") as screen:
        await screen.shows("? Change a.txt?", "+2 −2", "- line 3", "+ LINE 3")
        await screen.until(lambda: screen.app.panel.has_keys)
        assert "LINE 50" not in screen.text
        await screen.sees("pagedown pagedown", "LINE 50")
        await screen.until(screen.app.panel.body.is_armed)
        await screen.sees("k", "LINE 3")
        await screen.sees("j", "LINE 50")
        await screen.sees("y", lambda: (folder / "a.txt").read_text(encoding="utf-8") == new)


async def test_a_question_calls_whoever_looks_elsewhere(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talk(ModelServer(SLOW, MORE, DONE), "Go") as screen:
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


DIFF = ("@@ -1,2 +1,3 @@", " one", "-two", "+zwei", "+drei")


def test_a_diff_has_the_numbers_of_its_lines_also_side_by_side_where_no_line_is_too_long() -> None:
    diff = parse_diff(DIFF)
    rows = [plain(row).rstrip() for rows in unified(diff, 60) for row in rows]
    assert rows == ["@@ -1,2 +1,3 @@", "    1   one", "    2 - two", "    2 + zwei", "    3 + drei"]

    rows = [plain(row).rstrip() for row in side_by_side(diff, 43)]
    assert rows[1:] == [
        "    1   one          │     1   one",
        "    2 - two          │     2 + zwei",
        "                     │     3 + drei",
    ]
    assert fits_side_by_side(diff, 43)
    assert not fits_side_by_side(parse_diff((*DIFF, "+" + "x" * 40)), 43)


async def test_the_commands_of_a_plan_are_listed_before_they_are_all_permitted() -> None:
    plan = ("make one", "make two")
    asked = AskedPermission(PermissionRequest("Run this command?", ("make one",), "make one", plan=plan))

    def listed() -> bool:
        return "make two" in "\n".join(map(plain, asked.rows(60)))

    assert not listed()
    assert asked.press("p")
    assert listed()
    assert "p again: exactly the 2 commands above" in "\n".join(map(plain, asked.key_line(60)))
    assert asked.press("x")
    assert not listed()
    asked.press("p")
    asked.press("p")
    assert (await asked.answer) == PermissionReply(PermissionAnswer.PLAN)


@pytest.fixture
def script(folder: Path) -> Path:
    (folder / "check.py").write_text("import os, sys; print('not yet'); sys.exit(not os.path.exists('ready'))")
    return folder


async def to_the_plan(screen: Screen) -> None:
    await screen.shows("– One", "Goes on")
    await screen.sees("escape f2", lambda: screen.app.plan.rows.has_focus)


async def test_a_check_is_set_or_approved_and_has_to_pass(talk: Talk, script: Path) -> None:
    """Then the keys return to the plan."""
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await to_the_plan(screen)
        await screen.press("c")
        await screen.enters(f"{quote(sys.executable)} check.py", "#1 is done when this passes", "$ ")
        await screen.sees("space", "#1 is not done", "failed (exit 1)", "│ not yet")
        (script / "ready").touch()
        await screen.sees("space", "✓ One", "  passed")
        await screen.until(lambda: screen.app.plan.rows.has_focus)

        backend, check = screen.app.backend, Check((sys.executable, "check.py", "again"))
        open_session(backend.settings, BY_HAND, backend.store).change([SetCheck(Numbered((2,)), check)])
        await screen.shows("  proposed")
        await screen.sees("G space", "? Let this command be run as a check?", "y yes")
        await screen.until(lambda: screen.app.plan.asking.need_panel.is_armed)
        await screen.sees("y", "✓ Two")
        await screen.until(lambda: "proposed" not in screen.text)
        await screen.until(lambda: screen.app.plan.rows.has_focus)
        assert check_approvals(backend.settings).is_allowed(check)


@pytest.mark.usefixtures("script")
async def test_the_plan_is_checked_ordered_and_says_which_other_agent_works(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await to_the_plan(screen)
        backend = screen.app.backend
        await screen.press("D")
        await screen.enters(f"{quote(sys.executable)} check.py", "the plan $ ")
        await screen.sees("G v", "The plan: ", "│ not yet")
        await screen.sees("g o", "#1 comes after:", "– #1 One")
        await screen.sees("escape s", "● One")
        backend.store.records.claim(backend.settings.session, 1, Claimant("codex:2"), 600_000)
        await screen.shows("held by codex 2 for 10 min")


Given = Any

EXTENSION = """\
from tildone.run.messages import CustomMessage
from tildone.kit.components import Text
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.kit.theme import Role


async def execute(call_id, args, signal, on_update, ctx):
    return ToolResult((TextContent("It rains."),), {"degrees": 7})


def render_call(args, context):
    return Text(f"Weather of {args['place']}", Role.ACCENT)


def render_result(result, options, context):
    return Text(f"{result.details['degrees']} degrees" + (" and rain" if options.expanded else ""))


def extension(api):
    api.register_tool(
        ToolDefinition(
            "weather", "Weather", "Tell the weather.",
            {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
            execute, render_call=render_call, render_result=render_result,
        )
    )
    api.register_message_renderer("forecast", lambda message: Text(f"Forecast: {message.details['sky']}"))

    async def show(arguments, ctx):
        ctx.ui.set_widget("clouds", ["many clouds", "\\x1b[31mred\\x1b[0m"])
        ctx.ui.set_status("wind", "wind from the west")
        ctx.ui.notify("a warning of rain", "warning")
        api.send_message(CustomMessage("forecast", "for the model", True, {"sky": "blue"}))

    async def hide(arguments, ctx):
        ctx.ui.set_widget("clouds", None)
        ctx.ui.set_status("wind", None)

    api.register_command("show", "show everything", show)
    api.register_command("hide", "hide everything", hide)
"""


def asking(*questions: Coroutine[Any, Any, Given]) -> list["asyncio.Task[Given]"]:
    """Ask beside the test, as extensions do."""
    return [asyncio.ensure_future(question) for question in questions]


async def test_an_option_is_chosen_by_key_or_arrows_and_yes_has_a_key(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an editor no text is edited."""
    async with talk(ModelServer(DONE)) as screen:
        (first,) = asking(screen.talk.ui.select("Which colour?", ["red", "green", "blue"]))
        await screen.asked("? Which colour?")
        assert "1 red" in screen.text
        await screen.press("enter")
        assert not first.done()
        await screen.press("2")
        assert await first == "green"
        await screen.hides("Which colour?")

        (second,) = asking(screen.talk.ui.select("Which shape?", ["round", "flat"]))
        await screen.asked("? Which shape?")
        await screen.press("down", "down", "enter")
        assert await second == "flat"

        for key in ("y", "n"):
            (asked,) = asking(screen.talk.ui.confirm("Really?", "It takes an hour."))
            await screen.asked("? Really?")
            assert "It takes an hour." in screen.text
            await screen.press("enter")
            assert not asked.done()
            await screen.press(key)
            assert await asked is (key == "y")
            await screen.hides("Really?")

        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.delenv("EDITOR", raising=False)
        assert await screen.talk.ui.editor("Change it", "a text") is None
        await screen.shows("Change it", "There is no editor")


async def test_a_line_of_text_is_asked_for_and_a_question_that_nobody_answers_in_time_disappears(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        (late,) = asking(screen.talk.ui.confirm("Now?", "", 1.0))
        await screen.shows("? Now?")
        assert await late is False
        await screen.hides("Now?")
        await screen.until(lambda: screen.app.composer.has_focus)
        (asked,) = asking(screen.talk.ui.input("Your name?", "as on the door"))
        await screen.shows("? Your name?", "as on the door")
        await screen.until(lambda: screen.app.panel.has_keys)
        await screen.type("Ada L")
        await screen.shows("Ada L")
        await screen.press("enter")
        assert await asked == "Ada L"
        await screen.hides("Your name?")
        assert screen.draft == ""


async def test_questions_are_asked_one_after_the_other_and_each_has_its_own_answer(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        ui = screen.talk.ui
        first, second, third = asking(ui.confirm("One?", ""), ui.confirm("Two?", ""), ui.select("Three?", ["a", "b"]))
        await screen.asked("? One?  1 of 3")
        await screen.type("yyy")
        await screen.until(first.done)
        await screen.shows("? Two?  2 of 3")
        assert not second.done()
        assert not third.done()
        screen.app.composer.fill("")
        await screen.asked("? Two?  2 of 3")
        await screen.press("n")
        await screen.asked("? Three?  3 of 3")
        assert not third.done()
        await screen.press("2")
        assert (await first, await second, await third) == (True, False, "b")
        await screen.hides("of 3")
        # One that is cancelled leaves the others.
        screen.app.composer.fill("")
        cancelled, other = asking(ui.confirm("Four?", ""), ui.confirm("Five?", ""))
        await screen.shows("? Four?")
        cancelled.cancel()
        await screen.asked("? Five?")
        await screen.press("y")
        assert await other is True


async def test_widgets_statuses_messages_and_renderers_of_extensions_are_shown(connect: Connect, folder: Path) -> None:
    (folder / "weather.py").write_text(EXTENSION, encoding="utf-8")
    call: Turn = {"tool": "weather", "args": {"place": "Oslo"}}
    with connect(ModelServer(call, {"text": "It rains there."}, DONE)):
        async with running("Go", "--model", CHAT, "--extension", "weather.py") as screen:
            await screen.shows("Weather of Oslo", "7 degrees", "It rains there.")
            assert "degrees and rain" not in screen.text
            await screen.sees("ctrl+o", "7 degrees and rain")
            await screen.send("/show")
            await screen.shows("many clouds", "red", "wind from the west", "a warning of rain", "Forecast: blue")
            assert "\x1b" not in screen.text
            await screen.send("/hide")
            await screen.hides("many clouds", "wind from the west")
            await screen.shows("Forecast: blue")

        async with running("--continue", "--extension", "weather.py") as screen:
            await screen.shows("Weather of Oslo", "7 degrees", "Forecast: blue")
