"""A run in full screen: what a person says, sees and stops."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, WRITE
from tests.tui.run.run_screen import DONE, STOPS, Connect, Talk, running
from tildone.run.extension import BeforeSettle

OTHER_SIZES = ((200, 50), (119, 40), (80, 24), (59, 20), (40, 12), (20, 6))
SIZES = [(39, 24), (12, 3), *(pytest.param(size, marks=pytest.mark.slow) for size in OTHER_SIZES)]

pytestmark = pytest.mark.usefixtures("folder")


async def test_an_answer_is_streamed_while_the_person_types(talk: Talk) -> None:
    async with talk(ModelServer({"text": "First line.\n\nSecond line.", "hold": 3}, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("hello there")
        assert screen.draft == "hello there"
        await screen.shows("esc stop")
        screen.server.release()
        await screen.shows("First line.", "Second line.", "ready")
        assert screen.draft == "hello there"


async def test_enter_steers_and_alt_enter_waits_for_the_end(talk: Talk) -> None:
    slow: Turn = {"tool": "bash", "args": {"command": "echo one"}, "hold": 1}
    async with talk(ModelServer(slow, {"text": "Two."}, DONE), "Go", "--allow", "echo *") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("before", "enter")
        await screen.type("after")
        await screen.sees("alt+enter", "❯ before (waits)", "❯ after (waits)")
        screen.server.release()
        await screen.until(lambda: len(screen.server.requests) > 2)
        await screen.shows("Done.")

    assert "before" in str(screen.server.requests[1].messages[-1])
    assert "after" not in str(screen.server.requests[1].messages)
    assert "after" in str(screen.server.requests[2].messages[-1])


async def test_escape_stops_the_turn_and_the_draft_stays(talk: Talk) -> None:
    async with talk(ModelServer({"text": "A long answer.", "hold": 2}, DONE), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("draft")
        await screen.sees("escape", "Interrupted.")
        assert screen.draft == "draft"
        await screen.sees("enter", "❯ draft", "Done.")


async def test_what_is_sent_while_a_turn_is_being_stopped_begins_the_next(talk: Talk) -> None:
    """However long extensions take at the end of the turn that was stopped."""
    ended, may_settle = asyncio.Event(), asyncio.Event()

    async def wait(_event: object, _context: object) -> None:
        ended.set()
        await may_settle.wait()

    async with talk(ModelServer({"text": "A long answer.", "hold": 2}, DONE), "Go") as screen:
        assert screen.talk.host
        screen.talk.host.load([("slow", lambda api: api.on(BeforeSettle, wait))])
        await screen.until(screen.server.held.is_set)
        await screen.press("escape")
        await ended.wait()
        await screen.send("next")
        may_settle.set()
        await screen.shows("❯ next", "Done.")


@pytest.mark.parametrize("times", [1, 2])
async def test_escape_waits_for_a_command_and_twice_stops_it(talk: Talk, folder: Path, times: int) -> None:
    wait = "touch begun; until [ -e go ]; do sleep 0.05; done; touch ended"
    call: Turn = {"tool": "bash", "args": {"command": wait}}
    async with talk(ModelServer(call, DONE), "Go", "--allow", "*") as screen:
        await screen.until((folder / "begun").exists)
        await screen.press(*["escape"] * times)
        if times == 1:
            await screen.shows("The turn ends with this command; esc twice stops the command, too.")
            assert screen.talk.is_working
            (folder / "go").touch()
        await screen.until(lambda: not screen.talk.is_working)
        await screen.shows("Interrupted.", *(["Aborted"] if times > 1 else []))

    assert (folder / "ended").exists() == (times == 1)
    assert len(screen.server.requests) == 1


async def test_a_countdown_is_shown_and_a_key_stops_it_and_is_typed(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows("Goes on by itself in 3 s  ━━━━━━━━━", "type anything to stop it")
        await screen.type("w")
        await screen.hides("Goes on by itself")
        assert screen.draft == "w"
        await asyncio.sleep(3.5)
        assert len(screen.server.requests) == 2
        await screen.shows("stopped")


async def test_an_arrow_and_a_paste_stop_the_countdown(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows("Goes on by itself")
        await screen.press("up")
        await screen.hides("Goes on by itself")
        assert screen.draft == ""
        await screen.send("Again", "Goes on by itself")
        screen.app.post_message(events.Paste("two\nlines"))
        await screen.hides("Goes on by itself")
        await screen.until(lambda: screen.draft == "two\nlines")
        assert len(screen.server.requests) == 3


async def test_without_a_countdown_it_is_shown_for_a_moment_that_the_model_goes_on(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILDONE_COUNTDOWN", "0")
    monkeypatch.setenv("TILDONE_MAX_NUDGES", "2")
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows(" ● Goes on by itself")
        await screen.hides("Goes on by itself")
        await screen.shows("stopped with 2 tasks open · told to go on", "told 2 of 2")


async def test_a_conversation_is_resumed_with_what_was_said(connect: Connect) -> None:
    with connect(ModelServer(WRITE, {"text": "## Heading\n\nIt is *done*."}, DONE)):
        async with running("Plan it", "--model", CHAT) as screen:
            await screen.shows("It is done.", "Goes on by itself")
            await screen.press("escape")
        async with running("--continue") as screen:
            await screen.shows("❯ Plan it", "write_todos", "It is done.")
            await screen.sees("escape", lambda: not screen.talk.is_working and not screen.talk.is_counting_down)
            screen.app.composer.fill("")
            await screen.sees("up up", lambda: "Plan it" in screen.draft or "Work" in screen.draft)


async def test_a_key_that_is_refused_names_the_variable_and_offers_what_helps(talk: Talk) -> None:
    async with talk(
        ModelServer({"error": 401, "message": "invalid x-api-key"}, {"text": "It works now."}), "Go"
    ) as screen:
        await screen.shows("The provider refused the key.", "401", "OPENAI_API_KEY", "r try again", "m another model")
        await screen.until(lambda: not screen.talk.is_working)
        await asyncio.sleep(1.1)
        await screen.sees("m", lambda: screen.draft == "/model ")
        screen.app.composer.fill("")
        await asyncio.sleep(1.1)
        await screen.sees("r", "It works now.")

    assert len(screen.server.requests) == 2


async def test_a_model_that_is_gone_is_said_in_words(connect: Connect) -> None:
    with connect(ModelServer(DONE)):
        pass
    async with running("Go", "--model", CHAT) as screen:
        await screen.shows("try 2 of 4")
        await screen.press("escape")


async def test_a_crash_of_the_host_leaves_an_error_not_a_screen(talk: Talk) -> None:
    async with talk(ModelServer(DONE), "Go", "--model", "openai-chat:") as screen:
        await screen.until(lambda: screen.talk.failure is not None)


async def test_an_unknown_command_is_not_sent_to_the_model(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.send("/modle x", "There is no command /modle; did you mean '/model'?")
        await screen.send("//etc is a folder", "❯ /etc is a folder", "Done.")

    assert len(screen.server.requests) == 1


async def test_the_plan_is_edited_beside_the_conversation(talk: Talk, folder: Path) -> None:
    del folder
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await screen.shows("– One", "– Two", "Goes on")
        await screen.sees("escape f2", lambda: screen.app.plan.rows.has_focus)
        await screen.sees("space", "✓ One", "1/2")
        await screen.press("a")
        await screen.enters("Three", "– Three", "1/3")
        await screen.press("u")
        await screen.hides("– Three")
        await screen.sees("escape", lambda: screen.app.composer.has_focus)


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_an_editor(talk: Talk, size: tuple[int, int]) -> None:
    async with talk(
        ModelServer(WRITE, {"tool": "bash", "args": {"command": "echo hello"}}, STOPS), "Go", size=size
    ) as screen:
        panel = screen.app.panel
        await screen.until(lambda: panel.has_keys)
        while not panel.body.end_is_visible:
            await screen.press("down")
        await screen.until(panel.body.is_armed)
        await screen.sees("y", lambda: screen.app.panel.question is None)
        await screen.type("hello")
        await screen.shows("❯ hello")
        columns = size[0]
        assert all(len(line) <= columns for line in screen.lines)
