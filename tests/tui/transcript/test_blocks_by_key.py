"""The cursor on blocks, folding, and the keys that a block offers."""

import pytest

from tests.tui.transcript.conversations import done, numbered
from tests.tui.transcript.screen import Shown, showing
from tildone.base import replace
from tildone.run.kit.components import Container
from tildone.screens.transcript.blocks import (
    MAX_EXPANDED_LINES,
    AnswerBlock,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Thinking,
)
from tildone.screens.transcript.widget import TranscriptPane

CURSOR = "▎ "


def marked(rows: list[str]) -> list[str]:
    return [row.removeprefix(CURSOR) for row in rows if row.startswith(CURSOR)]


async def test_the_cursor_goes_from_block_to_block() -> None:
    async with showing(PersonMessage("go"), done("ls", "a"), Remark(Container()), AnswerBlock("end")) as screen:
        assert marked(screen.rows) == []
        assert marked(await screen.press("K")) == ["end"]
        assert marked(await screen.press("alt+up")) == ['Bash: "ls"', "  a"]
        assert marked(await screen.press("K", "K")) == ["❯ go"]
        assert marked(await screen.press("alt+down", "J", "J")) == ["end"]


async def test_the_first_step_down_is_the_first_visible_block() -> None:
    async with showing(*(AnswerBlock(f"{block}\n.") for block in range(10))) as screen:
        assert marked(await screen.press("J")) == ["6", "."]


async def test_the_viewport_goes_with_the_cursor() -> None:
    async with showing(*(AnswerBlock(f"{block}\n.") for block in range(10))) as screen:
        rows = await screen.press("J", *["K"] * 5)
        assert marked(rows) == ["1", "."]
        assert not screen.transcript.viewport.follows


async def test_a_call_is_expanded_where_it_is_and_folded_again() -> None:
    async with showing(
        AnswerBlock(numbered(30)), done("ls", numbered(20)), AnswerBlock("end"), size=(50, 20)
    ) as screen:
        folded = screen.rows
        at = folded.index('  Bash: "ls"')
        rows = await screen.press("space")
        assert rows[at] == '  Bash: "ls"'
        assert rows[at + 9] == "    line 9"
        await screen.press("ctrl+o")
        await screen.press("G")
        assert screen.rows == folded


@pytest.mark.parametrize(("column", "opens"), [(12, False), (13, True), (16, True), (17, False), (20, False)])
async def test_a_click_on_a_file_name_opens_it(column: int, *, opens: bool) -> None:
    """A click beside it folds."""
    async with showing(replace(done("cat a.py b.py", numbered(20)), path="a.py"), size=(50, 30)) as screen:
        assert screen.rows[0] == '  Bash: "cat a.py b.py"'
        await screen.click((column, 0))

        assert paths(screen) == ["a.py"] * opens
        assert ("▎   line 20" in screen.rows) is not opens


async def test_a_key_opens_the_file_of_a_call() -> None:
    """Of the last one, or of that with the cursor."""
    async with showing(done("ls", "x"), replace(done("cat", "x"), path="a b\x1b.py"), AnswerBlock("end")) as screen:
        await screen.press("E")
        assert paths(screen) == ["a b\x1b.py"]
        await screen.press("J", "E")
        assert len(screen.app.sent) == 1


def paths(screen: Shown) -> list[str]:
    return [message.path for message in screen.app.sent if isinstance(message, TranscriptPane.FileWanted)]


async def test_a_click_on_the_header_folds_and_one_below_it_does_not() -> None:
    async with showing(done("ls", numbered(20)), size=(50, 30)) as screen:
        await screen.pilot.click(screen.transcript, offset=(5, 0))
        assert "▎   line 20" in screen.rows
        await screen.click((5, 3))
        assert "▎   line 20" in screen.rows


async def test_all_calls_are_expanded_also_those_to_come() -> None:
    async with showing(done("ls", numbered(10)), done("cat", numbered(10)), size=(50, 40)) as screen:
        await screen.press("O")
        await screen.add(done("pwd", numbered(10)))
        assert screen.rows.count("    line 10") == 3
        assert (await screen.press("O")).count("    line 10") == 0


async def test_thinking_is_shown_and_folded() -> None:
    async with showing(Thinking("first\nsecond")) as screen:
        assert screen.rows[0] == "  Thinking · 2 lines · ctrl+t to show"
        assert (await screen.press("ctrl+t"))[:2] == ["  first", "  second"]
        assert (await screen.press("ctrl+t"))[1] == ""


async def test_folding_takes_the_last_visible_block_if_the_cursor_is_elsewhere() -> None:
    long = done("ls", numbered(12))
    async with showing(long, AnswerBlock(numbered(30)), long, size=(50, 12)) as screen:
        await screen.press("g", "J")
        assert screen.transcript.cursor == 1
        assert (await screen.press("G", "space", "G"))[-1] == "    line 12"
        await screen.press("g")
        assert "  line 12" not in screen.rows


async def test_lines_of_an_expanded_block_are_not_new() -> None:
    async with showing(AnswerBlock(numbered(30)), done("ls", numbered(20)), size=(50, 20)) as screen:
        await screen.press("space")

        assert screen.transcript.viewport.new_lines == 0
        screen.transcript.add(AnswerBlock("new"))
        assert screen.transcript.viewport.new_lines == 2


async def test_a_result_that_is_too_long_is_offered_to_a_pager() -> None:
    text = numbered(MAX_EXPANDED_LINES + 1)
    async with showing(done("cat", "short"), done("cat", text + "\x1b[2J"), size=(60, 20)) as screen:
        assert "    2,001 lines · o opens them in a pager" in await screen.press("space")
        await screen.press("o")
        [message] = screen.app.sent
        assert isinstance(message, TranscriptPane.PagerWanted)
        assert message.text == text + "␛[2J"
        await screen.press("K", "K", "o")
        assert len(screen.app.sent) == 1


async def test_the_keys_of_a_notice_work_while_it_is_last() -> None:
    notice = NoticeBlock("The provider refused the key.", offers=(Offer("r", "try again"), Offer("j", "another")))
    async with showing(AnswerBlock(numbered(30)), notice) as screen:
        await screen.press("r", "j", "x")
        chosen = [each for each in screen.app.sent if isinstance(each, TranscriptPane.OfferChosen)]
        assert [(each.number, each.key) for each in chosen] == [(2, "r"), (2, "j")]
        assert screen.transcript.offer("r")
        assert not screen.transcript.offer("x")
        screen.transcript.add(AnswerBlock("after"))
        await screen.press("r")
        await screen.pilot.pause()
        assert len(screen.app.sent) == 3
        assert not screen.transcript.offer("r")


@pytest.mark.parametrize(("key", "what"), [("f", "fork"), ("e", "edit")])
async def test_a_block_is_chosen_to_go_another_way(key: str, what: str) -> None:
    async with showing(PersonMessage("go"), AnswerBlock("done")) as screen:
        await screen.press(key)
        assert screen.app.sent == []
        await screen.press("K", "K", key)
        [message] = screen.app.sent
        assert isinstance(message, TranscriptPane.BlockChosen)
        assert (message.number, message.what) == (1, what)


async def test_keys_without_a_meaning_here_are_left_to_others() -> None:
    async with showing(AnswerBlock("a")) as screen:
        await screen.press("x", "escape", "ctrl+c", "left")

        assert screen.app.keys == ["x", "escape", "ctrl+c", "left"]
