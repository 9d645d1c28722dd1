"""What happens in a host as blocks of the transcript."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.host.models.model_server import ModelServer
from tests.host.test_host import tool
from tests.run.plan_calls import OUT_OF_RANGE, PLAN_CALLS
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import Connect, Screen, Talk, running
from tests.tui.transcript.screen import showing
from tildone.plan.text.styles import Role, Theme, plain
from tildone.run.events import ToolExecutionEnd, ToolExecutionStart
from tildone.run.kit.components import Component, RenderContext, Text
from tildone.run.kit.definition import text_result
from tildone.screens.run.conversation import ConversationFeed, HostParts
from tildone.screens.transcript.widget import TranscriptPane


@pytest.mark.usefixtures("folder")
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


@pytest.mark.usefixtures("folder")
async def test_the_sign_and_the_words_of_a_refusal_have_the_colour_of_an_error(talk: Talk) -> None:
    turns = [turn for turn, _ in PLAN_CALLS["indexed"]]
    async with talk(
        ModelServer(*turns, {"text": "The end.", "repeat": True}), "Go", "--dialect", "indexed", "--max-nudges", "0"
    ) as screen:
        await screen.shows("The end.")

        assert roles(screen, OUT_OF_RANGE) == roles(screen, "✗") == 2 * [Role.ERROR]
        assert roles(screen, "✓").count(Role.SUCCESS) == 1 + len(turns) - 2


async def test_a_result_that_an_extension_has_made_an_error_has_the_sign_of_one() -> None:
    async with showing(size=(40, 12)) as screen:
        feed = ConversationFeed(screen.transcript, HostParts(lambda _: None, lambda _: None, ""), lambda: "")
        feed.render(ToolExecutionStart("1", "slow", {}))
        feed.render(ToolExecutionEnd("1", "slow", text_result("one"), is_error=True))
        await screen.until(lambda: screen.rows[0].startswith("  slow ✗"))


async def test_invalidate_draws_a_running_call_again() -> None:
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


async def test_a_click_on_the_name_of_a_file_opens_it_in_the_editor(
    folder: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its whole path, which no editor takes for an option; a file that is gone is told."""
    (folder / "+quit").write_text("x = 1\n", encoding="utf-8")
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "$1" > opened\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with talk(
        ModelServer({"tool": "read", "args": {"path": "+quit"}}, {"text": "Done.", "repeat": True}), "Go"
    ) as screen:
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
