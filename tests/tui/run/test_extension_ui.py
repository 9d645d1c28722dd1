"""What an extension asks and shows in the full-screen run."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import DONE, Connect, Talk, running

Given = Any

EXTENSION = """\
from tildone.host.messages import CustomMessage
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

pytestmark = pytest.mark.usefixtures("folder")


def asking(*questions: Coroutine[Any, Any, Given]) -> list["asyncio.Task[Given]"]:
    """Ask beside the test, as extensions do."""
    return [asyncio.ensure_future(question) for question in questions]


async def test_one_of_several_options_is_chosen_by_its_key_or_with_the_arrows(talk: Talk) -> None:
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


async def test_a_yes_needs_its_key(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        for key in ("y", "n"):
            (asked,) = asking(screen.talk.ui.confirm("Really?", "It takes an hour."))
            await screen.asked("? Really?")
            assert "It takes an hour." in screen.text
            await screen.press("enter")
            assert not asked.done()
            await screen.press(key)
            assert await asked is (key == "y")
            await screen.hides("Really?")


async def test_a_question_that_nobody_answers_in_time_disappears(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        (asked,) = asking(screen.talk.ui.confirm("Now?", "", 1.0))
        await screen.shows("? Now?")
        assert await asked is False
        await screen.hides("Now?")
        await screen.until(lambda: screen.app.composer.has_focus)


async def test_a_line_of_text_is_asked_for_and_the_draft_stays(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        (asked,) = asking(screen.talk.ui.input("Your name?", "as on the door"))
        await screen.shows("? Your name?", "as on the door")
        await screen.until(lambda: screen.app.panel.has_keys)
        await screen.type("Ada L")
        await screen.shows("Ada L")
        await screen.press("enter")
        assert await asked == "Ada L"
        await screen.hides("Your name?")
        assert screen.draft == ""


async def test_without_an_editor_no_text_is_edited(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with talk(ModelServer(DONE)) as screen:
        assert await screen.talk.ui.editor("Change it", "a text") is None
        await screen.shows("Change it", "There is no editor")


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


async def test_a_question_that_is_cancelled_leaves_the_others(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        ui = screen.talk.ui
        first, second = asking(ui.confirm("One?", ""), ui.confirm("Two?", ""))
        await screen.shows("? One?")
        first.cancel()
        await screen.asked("? Two?")
        await screen.press("y")
        assert await second is True


async def test_widgets_statuses_messages_and_renderers_of_an_extension_are_shown(
    connect: Connect, folder: Path
) -> None:
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
