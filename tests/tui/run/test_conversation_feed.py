"""What happens in a host as blocks of the transcript."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import Connect, running
from tests.tui.transcript.screen import showing
from tildone.host.content import TextBlock, ToolCallBlock
from tildone.host.events import ToolExecutionEnd, ToolExecutionStart
from tildone.host.messages import AssistantMessage, Message, ToolResultMessage
from tildone.kit.components import Text
from tildone.kit.definition import ToolDefinition, ToolResult, text_result
from tildone.tui.run.conversation_feed import ConversationFeed, HostParts
from tildone.tui.transcript.widget import TranscriptPane

PLANS = ("○ read\n○ write", "✓ read\n○ write", "✓ read\n● write")
SHOWN = ["  plan", "    ○ read", "    ○ write", "  plan", "    ✓ read", "  plan", "    ● write"]


async def _execute(*_args: Any) -> ToolResult:
    return text_result("")


PLAN = ToolDefinition(
    *("plan", "Plan", "Change the plan", {"type": "object"}, _execute),
    render_call=lambda _: Text("plan"),
    render_result=lambda result: Text(result.text),
)


def feed(view: TranscriptPane) -> ConversationFeed:
    parts = HostParts(lambda _: PLAN, lambda _: None, frozenset({"plan"}), "")
    return ConversationFeed(view, parts, lambda: "told to go on")


def tick(text: str) -> str:
    """A row without the time that a call took."""
    return text.partition(" ✓ 0")[0]


async def test_a_call_shows_what_it_changed_in_the_plan_however_fast_the_next_one_comes() -> None:
    """All calls have ended before a frame is drawn: what one shows does not depend on whether another was drawn."""
    async with showing(size=(40, 12)) as screen:
        conversation = feed(screen.transcript)
        for number, plan in enumerate(PLANS):
            conversation.render(ToolExecutionStart(str(number), "plan", {}))
            conversation.render(ToolExecutionEnd(str(number), "plan", text_result(plan), is_error=False))
        await screen.until(lambda: not screen.transcript.document.is_dirty)
        await screen.pilot.pause()

        assert [tick(row) for row in screen.rows[:7]] == SHOWN


async def test_a_click_on_the_name_of_a_file_opens_it_in_the_editor(
    folder: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole path, which no editor takes for an option; a file that is gone is told."""
    (folder / "+quit").write_text("x = 1\n", encoding="utf-8")
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "$1" > opened\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    with connect(ModelServer({"tool": "read", "args": {"path": "+quit"}}, {"text": "Done.", "repeat": True})):
        async with running("Go", "--model", CHAT) as screen:
            monkeypatch.setattr(type(screen.app), "suspend", lambda _: nullcontext())
            await screen.shows("Read: +quit", "Done.")
            row = next(row for row, line in enumerate(screen.lines) if "Read: +quit" in line)
            view = screen.app.view
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


async def test_a_call_that_failed_has_not_changed_the_plan() -> None:
    async with showing(size=(40, 12)) as screen:
        conversation = feed(screen.transcript)
        for number, (plan, failed) in enumerate([(PLANS[0], False), ("✓ read\nno such task", True), (PLANS[1], False)]):
            conversation.render(ToolExecutionStart(str(number), "plan", {}))
            conversation.render(ToolExecutionEnd(str(number), "plan", text_result(plan), is_error=failed))
        await screen.until(lambda: not screen.transcript.document.is_dirty)
        await screen.pilot.pause()

        assert [row.strip() for row in screen.rows[4:6]] == ["✓ read", "no such task"]
        assert screen.rows[7] == "    ✓ read"


async def test_a_stored_conversation_shows_what_each_call_changed() -> None:
    """Although its blocks are drawn from the end; and again if it is shown a second time."""
    messages: list[Message] = []
    for number, plan in enumerate(PLANS):
        messages.append(AssistantMessage((ToolCallBlock(str(number), "plan", {}),)))
        messages.append(ToolResultMessage(str(number), "plan", (TextBlock(plan),)))
    async with showing(size=(40, 12)) as screen:
        conversation = feed(screen.transcript)
        for _ in range(2):
            conversation.show_all(messages)
            await screen.until(lambda: screen.transcript.document.is_drawn)
            await screen.pilot.pause()

            assert screen.rows[:7] == SHOWN
