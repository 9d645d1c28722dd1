"""A run in full screen: what a person says, sees and stops, the blocks of what happens, and other conversations."""

import asyncio
import re
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual import events

from tests.host.models.model_server import ModelServer, Turn
from tests.host.test_host import tool
from tests.run.plan_calls import OUT_OF_RANGE, PLAN_CALLS, call
from tests.run.run_workspace import CHAT, WRITE
from tests.tui.run.run_screen import DONE, STOPS, Connect, Screen, Talk, running, set_keys
from tests.tui.transcript.screen import showing
from tildone.plan.text.styles import Role, Theme, plain
from tildone.run.events import ToolExecutionEnd, ToolExecutionStart
from tildone.run.extension import BeforeSettle
from tildone.run.kit.components import Component, RenderContext, Text
from tildone.run.kit.definition import text_result
from tildone.screens.run import app
from tildone.screens.run.conversation import ConversationFeed, HostParts
from tildone.screens.transcript.widget import TranscriptPane

OTHER_SIZES = ((200, 50), (119, 40), (80, 24), (59, 20), (40, 12), (20, 6))
SIZES = [(39, 24), (12, 3), *(pytest.param(size, marks=pytest.mark.slow) for size in OTHER_SIZES)]

pytestmark = pytest.mark.usefixtures("folder")


async def test_an_answer_is_streamed_while_the_person_types_and_escape_stops_the_turn(talk: Talk) -> None:
    """The draft stays."""
    lines: Turn = {"text": "First line.\n\nSecond line.", "hold": 3}
    async with talk(ModelServer({"text": "A long answer.", "hold": 2}, lines), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("draft")
        await screen.sees("escape", "Interrupted.")
        assert screen.draft == "draft"
        screen.server.held.clear()
        await screen.sees("enter", "❯ draft")
        await screen.until(screen.server.held.is_set)
        await screen.type("hello there")
        assert screen.draft == "hello there"
        await screen.shows("esc stop")
        screen.server.release()
        await screen.shows("First line.", "Second line.", "idle")
        assert screen.draft == "hello there"


async def test_enter_steers_and_alt_enter_waits_for_the_end(talk: Talk) -> None:
    slow: Turn = {**call("bash", command="echo one"), "hold": 1}
    async with talk(ModelServer(slow, {"text": "Two."}, DONE), "Go", "--allow", "echo *") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("before", "enter")
        await screen.type("after")
        await screen.sees("alt+enter", "❯ before (waits)", "❯ after (waits)")
        screen.server.release()
        await screen.until(lambda: len(screen.server.requests) > 2)
        await screen.shows("Done.")

    steered, last = (str(request.messages[-1]) for request in screen.server.requests[1:])
    assert ("before" in steered, "after" in last) == (True, True)
    assert "after" not in str(screen.server.requests[1].messages)


async def test_the_second_key_to_leave_keeps_what_the_first_brought_back(
    talk: Talk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "TWICE_SECONDS", 600.0)
    busy = call("bash", command="touch begun; until [ -e go ]; do sleep 0.05; done")
    async with talk(ModelServer(busy, DONE), "Go", "--allow", "*") as screen:
        await screen.until((folder / "begun").exists)
        await screen.enters("one", "❯ one (waits)")
        await screen.sees("ctrl+c", "ctrl+c again leaves", lambda: screen.draft == "one")
        await screen.sees("ctrl+c", "Leave all the same?")
        await screen.press("n")
        await screen.hides("Leave all the same?")
        assert screen.draft == "one"
        await screen.type(" more")
        await screen.sees("ctrl+c", lambda: screen.draft == "")
        (folder / "go").touch()


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


LONG = "\n\n".join(f"Line {number} of it." for number in range(40))


async def test_what_is_sent_is_followed_and_end_goes_to_the_end_of_the_conversation(talk: Talk) -> None:
    """So are answers to commands. In a text, `end` goes to the end of the line first."""
    answers: list[Turn] = [{"text": LONG}, {"text": "Second.\n\n" + LONG}, {"text": "Third.", "repeat": True}]
    async with talk(ModelServer(*answers)) as screen:
        view = screen.talk.view
        await screen.send("Go", "Line 39")
        for typed, shown in (("More", "❯ More"), ("/help", "//TEXT"), ("/nothing", "There is no command /nothing")):
            await screen.until(lambda: not screen.talk.is_working)
            await screen.sees("tab home", lambda: not view.viewport.follows)
            await screen.sees("escape", lambda: screen.app.composer.has_focus)
            await screen.send(typed)
            await screen.until(lambda: view.viewport.follows)
            await screen.shows("Line 39" if typed == "More" else shown)
        await screen.sees("tab home", lambda: not view.viewport.follows)
        await screen.sees("escape", lambda: screen.app.composer.has_focus)
        await screen.type("text", "home", "end")
        assert not view.viewport.follows
        await screen.sees("end", lambda: view.viewport.follows)
        assert screen.draft == "text"


async def test_another_key_for_the_end_of_the_conversation_works_in_a_text(talk: Talk, folder: Path) -> None:
    set_keys(folder, 'keys."editor.conversationEnd" = "f7"\n')
    async with talk(ModelServer({"text": LONG})) as screen:
        view = screen.talk.view
        await screen.send("Go", "Line 39")
        await screen.sees("tab home", lambda: not view.viewport.follows)
        await screen.sees("escape", lambda: screen.app.composer.has_focus)
        await screen.type("text", "home", "f7")
        await screen.until(lambda: view.viewport.follows)


async def test_what_is_typed_in_the_conversation_goes_to_the_editor(talk: Talk, folder: Path) -> None:
    """So does a paste, but not what is searched for, or the key of an action that the person has bound to a letter."""
    set_keys(folder, 'keys."transcript.first" = "g"\nkeys."transcript.last" = "G"\n')
    async with talk(ModelServer({"text": LONG})) as screen:
        view = screen.talk.view
        await screen.send("Go", "Line 39")
        await screen.sees("tab", lambda: view.has_focus)
        await screen.sees("g", lambda: not view.viewport.follows)
        await screen.sees("G", lambda: view.viewport.follows)
        await screen.type("yes, /now")
        await screen.until(lambda: screen.draft == "yes, /now")
        assert screen.app.composer.has_focus
        await screen.type(" going")
        screen.app.composer.fill("")
        await screen.sees("tab", lambda: view.has_focus)
        screen.app.post_message(events.Paste("two\nlines"))
        await screen.until(lambda: screen.draft == "two\nlines")
        screen.app.composer.fill("")
        await screen.sees("tab", lambda: view.has_focus)
        await screen.press("ctrl+f")
        await screen.type("line 7", "enter")
        await screen.until(lambda: view.search.words == "line 7")
        assert screen.draft == ""


async def test_the_screen_is_drawn_again_after_it_was_suspended(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk(ModelServer({"text": "The answer."})) as screen:
        await screen.send("Go", "The answer.")
        await screen.until(lambda: not screen.talk.is_working)
        drawn: list[str] = []
        monkeypatch.setattr(screen.app, "_display", lambda _, update: drawn.append(type(update).__name__))
        screen.app.app_resume_signal.publish(screen.app)
        # Not only the lines that have changed.
        await screen.until(lambda: "LayoutUpdate" in drawn)


async def test_what_is_sent_while_the_run_is_starting_is_delivered_in_its_order(connect: Connect) -> None:
    """Also commands. Esc takes it back instead, and leaving waits for nothing."""
    loaded = threading.Event()
    with connect(ModelServer({"text": "One."}, {"text": "Two."}, DONE)) as server:
        async with running("First", "--model", CHAT, loaded=loaded) as screen:
            for text in ("wrong", "also @wrong"):
                await screen.send(text, f"❯ {text} (waits)")
            await screen.type("draft")
            await screen.press("escape", "escape")
            assert screen.draft == "draft\nwrong\nalso @wrong"
            await screen.hides("(waits)")
            screen.app.composer.fill("")
            for text in ("/model openai-chat:other", "Second", "/later Third"):
                await screen.send(text, f"❯ {text} (waits)")
            loaded.set()
            await screen.shows("❯ First", "other answers from now on", "❯ Second", "❯ Third")
            await screen.hides("(waits)")
            await screen.until(lambda: len(server.requests) > 2)
        assert [asked.body["model"] for asked in server.requests][1:] == ["other", "other"]
        assert "wrong" not in str(server.requests[-1].messages)

        loaded.clear()
        async with running("First", "--model", CHAT, loaded=loaded) as screen:
            await screen.send("/exit")
            await screen.until(lambda: not screen.app.is_running)
            loaded.set()


async def test_escape_takes_back_what_waits_for_the_end_of_a_command(talk: Talk, folder: Path) -> None:
    """What is sent after that begins the next turn."""
    wait = call("bash", command="touch begun; until [ -e go ]; do sleep 0.05; done; touch ended")
    async with talk(ModelServer(wait, DONE), "Go", "--allow", "*") as screen:
        await screen.until((folder / "begun").exists)
        await screen.type("one", "alt+enter")
        await screen.type("two @x", "enter")
        await screen.shows("❯ one (waits)", "❯ two @x (waits)")
        await screen.type("draft")
        await screen.sees("escape", "The turn ends with this command")
        await screen.hides("(waits)")
        assert screen.draft == "draft\none\ntwo @x"
        # No list of files takes the key if it comes again.
        assert screen.app.composer.completions.dismissed == screen.draft
        screen.app.composer.fill("")
        await screen.send("three", "❯ three (waits)")
        (folder / "go").touch()
        await screen.shows("Interrupted.", "❯ three", "Done.")

    assert len(screen.server.requests) == 2
    assert "two" not in str(screen.server.requests[1].messages)


async def test_what_waits_after_a_failure_is_taken_back(talk: Talk) -> None:
    failing: Turn = {"error": 401, "message": "no", "delay": 0.5}
    async with talk(ModelServer(failing, DONE), "Go") as screen:
        await screen.until(lambda: screen.talk.is_working)
        await screen.send("next", "❯ next (waits)")
        await screen.shows("The provider refused the key.")
        await screen.until(lambda: not screen.talk.is_working)
        await screen.sees("escape", lambda: screen.draft == "next")
        await screen.hides("(waits)")


@pytest.mark.parametrize("times", [1, 2])
async def test_escape_waits_for_a_command_and_twice_stops_it(talk: Talk, folder: Path, times: int) -> None:
    wait = call("bash", command="touch begun; until [ -e go ]; do sleep 0.05; done; touch ended")
    async with talk(ModelServer(wait, DONE), "Go", "--allow", "*") as screen:
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


async def test_a_countdown_is_shown_and_a_key_or_a_paste_stops_it_and_is_typed(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows("Goes on by itself in 3 s  ━━━━━━━━━", "type anything to stop it")
        await screen.press("up")
        await screen.hides("Goes on by itself")
        assert screen.draft == ""
        await asyncio.sleep(3.5)
        assert len(screen.server.requests) == 2
        await screen.shows("idle")
        await screen.send("Again", "Goes on by itself")
        await screen.type("w")
        await screen.hides("Goes on by itself")
        assert screen.draft == "w"
        await screen.send("Again", "Goes on by itself")
        screen.app.post_message(events.Paste("two\nlines"))
        await screen.hides("Goes on by itself")
        await screen.until(lambda: screen.draft == "two\nlines")
        assert len(screen.server.requests) == 4


async def test_without_a_countdown_it_is_said_that_it_goes_on(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
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
            await screen.shows("❯ Plan it", "+ Added 2: One; Two", "It is done.")
            await screen.sees("escape", lambda: not screen.talk.is_working and not screen.talk.is_counting_down)
            screen.app.composer.fill("")
            await screen.sees("up up", lambda: "Plan it" in screen.draft or "Work" in screen.draft)


async def test_a_key_that_is_refused_names_the_variable_and_offers_what_helps(talk: Talk) -> None:
    refused: Turn = {"error": 401, "message": "invalid x-api-key"}
    async with talk(ModelServer(refused, {"text": "It works now."}), "Go") as screen:
        await screen.shows("The provider refused the key.", "401", "OPENAI_API_KEY", "r try again", "m another model")
        await screen.until(lambda: not screen.talk.is_working)
        await asyncio.sleep(1.1)
        await screen.sees("m", lambda: screen.draft == "/model ")
        screen.app.composer.fill("")
        await asyncio.sleep(1.1)
        await screen.sees("r", "It works now.")

    assert len(screen.server.requests) == 2


async def test_a_model_that_is_gone_and_a_crash_of_the_host_are_told_in_words(connect: Connect, talk: Talk) -> None:
    with connect(ModelServer(DONE)):
        pass
    async with running("Go", "--model", CHAT) as screen:
        await screen.shows("retrying in")
        await screen.press("escape")
    async with talk(ModelServer(DONE), "Go", "--model", "openai-chat:") as screen:
        await screen.until(lambda: screen.talk.failure is not None)


async def test_an_unknown_command_is_not_sent_to_the_model(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.send("/modle x", "There is no command /modle; did you mean '/model'?")
        await screen.send("//etc is a folder", "❯ /etc is a folder", "Done.")

    assert len(screen.server.requests) == 1


async def test_the_plan_is_edited_beside_the_conversation(talk: Talk) -> None:
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
    async with talk(ModelServer(WRITE, call("bash", command="echo hello"), STOPS), "Go", size=size) as screen:
        panel = screen.app.panel
        await screen.until(lambda: panel.has_keys)
        while not panel.body.end_is_visible:
            await screen.press("down")
        await screen.until(panel.body.is_armed)
        await screen.sees("y", lambda: screen.app.panel.question is None)
        await screen.type("hello")
        await screen.shows("❯ hello")
        assert all(len(line) <= size[0] for line in screen.lines)


@pytest.mark.parametrize("dialect", PLAN_CALLS)
async def test_every_call_of_a_plan_tool_shows_the_list_or_why_it_was_refused(connect: Connect, dialect: str) -> None:
    """A refused call has the sign of a failure. Its conversation is shown in the same way when it is taken up again."""
    turns = [turn for turn, _ in PLAN_CALLS[dialect]]
    expected: list[str] = []
    for header, sign, lines in (drawn for _, drawn in PLAN_CALLS[dialect]):
        indent = "    " if sign else "  "
        expected += [f"  {header} {sign}".rstrip(), *(indent + line for line in lines)]
    argv = ("--dialect", dialect, "--model", CHAT, "--max-nudges", "0")

    with connect(ModelServer(*turns, {"text": "The end.", "repeat": True})):
        async with running("Go", *argv, size=(100, 70)) as screen:
            await screen.shows("The end.")
            assert await calls_on(screen) == expected
        async with running("--continue", *argv, size=(100, 70)) as screen:
            await screen.shows("The end.")
            assert await calls_on(screen) == [line.removesuffix(" ✓") for line in expected]


async def calls_on(screen: Screen) -> list[str]:
    """The rows from the first call to the answer, without times and without what the person was warned of."""
    await screen.until(lambda: screen.talk.view.document.is_drawn and not screen.talk.is_working)
    rows = [row[:98].rstrip() for row in screen.lines]
    rows = rows[rows.index("  ❯ Go") + 1 : rows.index("  The end.")]
    return [re.sub(r"(?<=[✓✗]) \d+\.\d s$", "", row) for row in rows if row and "Todo update failed" not in row]


def roles(screen: Screen, words: str) -> list[Role | None]:
    """The roles of the parts of the transcript that have these words."""
    document = screen.talk.view.document
    drawn = [line for index in range(len(document.entries)) for line in document.lines(index)]
    return [span.role for line in drawn for span in line.spans if plain([span]) == words]


async def test_the_sign_and_the_words_of_a_refusal_have_the_colour_of_an_error(talk: Talk) -> None:
    turns = [*(turn for turn, _ in PLAN_CALLS["indexed"]), {"text": "The end.", "repeat": True}]
    async with talk(ModelServer(*turns), "Go", "--dialect", "indexed", "--max-nudges", "0") as screen:
        await screen.shows("The end.")

        assert roles(screen, OUT_OF_RANGE) == roles(screen, "✗") == 2 * [Role.ERROR]
        assert roles(screen, "✓").count(Role.SUCCESS) == 4
        assert roles(screen, "▸") == [Role.ACCENT]


async def test_a_result_that_an_extension_has_made_an_error_has_the_sign_of_one() -> None:
    """Before, invalidating draws the running call again."""
    contexts: list[RenderContext] = []

    def render_call(_args: object, _theme: Theme, context: RenderContext) -> Component:
        contexts.append(context)
        return Text(f"round {context.state.get('round', 1)}")

    slow = tool("slow", render_call=render_call)
    async with showing(size=(40, 12)) as screen:
        feed = ConversationFeed(screen.transcript, HostParts(lambda _: slow, lambda _: None, ""), lambda: "")
        feed.render(ToolExecutionStart("1", "slow", {}))
        await screen.until(lambda: screen.rows[0].startswith("  round 1"))
        contexts[-1].state["round"] = 2
        contexts[-1].invalidate()
        await screen.until(lambda: screen.rows[0].startswith("  round 2"))
        feed.render(ToolExecutionEnd("1", "slow", text_result("one"), is_error=True))
        await screen.until(lambda: screen.rows[0].startswith("  round 2 ✗"))


async def test_a_click_on_a_file_name_opens_an_editor(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole path, which no editor takes for an option; a file that is gone is told."""
    (folder / "+quit").write_text("x = 1\n", encoding="utf-8")
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "$1" > opened\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with talk(ModelServer(call("read", path="+quit"), DONE), "Go") as screen:
        monkeypatch.setattr(type(screen.app), "suspend", lambda _: nullcontext())
        await screen.shows("Read: +quit", "Done.")
        row = next(row for row, line in enumerate(screen.lines) if "Read: +quit" in line)
        view = screen.talk.view
        await screen.pilot.click(view, offset=(10, row - view.region.y))
        await screen.until((folder / "opened").exists)
        await screen.until(lambda: (folder / "opened").read_text(encoding="utf-8") == f"{folder / '+quit'}\n")
        editor.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        view.post_message(TranscriptPane.FileWanted("+quit"))
        await screen.shows("The editor failed")
        (folder / "+quit").unlink()
        view.post_message(TranscriptPane.FileWanted("+quit"))
        await screen.shows("There is no file +quit")
        view.post_message(TranscriptPane.FileWanted("nul\0"))
        await screen.shows("There is no file nul␀")
        monkeypatch.delenv("VISUAL")
        monkeypatch.delenv("EDITOR", raising=False)
        view.post_message(TranscriptPane.FileWanted("+quit"))
        await screen.shows("There is no editor")


async def test_a_message_is_edited_and_both_branches_are_in_the_tree(talk: Talk) -> None:
    answers = [{"text": f"Answer {number}."} for number in range(4)]
    async with talk(ModelServer(*answers)) as screen:
        await screen.send("First thing", "Answer 0.")
        await screen.send("Second thing", "Answer 1.")
        await screen.sees("tab alt+up alt+up f5", lambda: screen.draft == "Second thing")
        await screen.hides("Answer 1.")
        await screen.send("Another way", "Answer 2.")
        assert "Second thing" not in str(screen.server.requests[-1].messages)
        await screen.sees("f3", "○ First thing", "├─╮", "│ ○ Second thing", "● Another way", "you are here")
        await screen.sees("k enter", "Answer 1.")
        await screen.hides("Answer 2.")


async def test_a_label_is_shown_in_the_tree_and_a_fork_begins_a_new_conversation_with_the_text(talk: Talk) -> None:
    async with talk(ModelServer({"text": "One."}, {"text": "Two."})) as screen:
        await screen.send("Begin", "One.")
        await screen.press("f3", "r")
        await screen.type("start")
        await screen.sees("enter f3", "“start”")
        await screen.press("escape")
        await screen.hides("“start”")
        await screen.until(lambda: screen.app.composer.has_focus)
        first = screen.talk.host.transcript.file if screen.talk.host else None
        await screen.sees("f3 f", lambda: screen.draft == "Begin")
        await screen.hides("One.")
        assert screen.talk.host is not None
        assert screen.talk.host.transcript.file != first


async def test_another_conversation_is_found_and_continued(connect: Connect) -> None:
    with connect(ModelServer({"text": "About apples."}, {"text": "About pears."}, {"text": "More apples."})) as server:
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of apples", "About apples.")
        async with running("--model", CHAT) as screen:
            await screen.send("Tell me of pears", "About pears.")
            await screen.sees("f4", "Conversations", "Tell me of apples", "Tell me of pears")
            await screen.type("apple")
            await screen.hides("Tell me of pears")
            await screen.sees("enter", "About apples.")
            await screen.send("More", "More apples.")

    assert "Tell me of apples" in str(server.requests[-1].messages)
