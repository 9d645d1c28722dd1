"""The viewport follows the end and nothing but the person moves it.

By scrolling, from block to block, or by finding words.
"""

import pytest
from textual.events import MouseScrollDown, MouseScrollUp, Paste
from textual.strip import Strip
from textual.widgets import Static

from tests.tui.transcript.conversations import done, numbered, view
from tests.tui.transcript.screen import Shown, showing
from tildone.base import replace
from tildone.base.keys import TRANSCRIPT_BINDINGS, key_names
from tildone.run.kit.components import Container
from tildone.run.kit.definition import text_result
from tildone.screens.transcript.blocks import (
    MAX_EXPANDED_LINES,
    AnswerBlock,
    CallBlock,
    CallState,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Thinking,
)
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.widgets.keys import PALETTES


async def test_it_opens_at_the_end_and_follows_it_until_one_scrolls_up() -> None:
    """Nothing is announced until something is new; back at the end, it is followed again."""
    async with showing(AnswerBlock(numbered(30))) as screen:
        assert screen.rows[-1] == "  line 30"
        assert (await screen.press("up"))[-1] == "  line 29"
        await screen.press("up")
        assert [(await screen.press("down"), screen.transcript.viewport.follows)[1] for _ in range(2)] == [False, True]
        before = await screen.press("up", "up")
        number = screen.transcript.add(AnswerBlock("one\ntwo"))
        await screen.stream(number, "\nthree")

        assert screen.transcript.viewport.new_lines == 4
        assert screen.rows == [*before[:-1], "  ↓ 4 new lines · end"]
        assert (await screen.press("end"))[-1] == "  three▍"
        assert screen.transcript.viewport.follows
        await screen.stream(number, " more\n", "and")
        assert screen.rows[-2:] == ["  three more", "  and▍"]
        assert screen.transcript.viewport.follows
        screen.transcript.finish_text(number)
        await screen.pilot.pause()
        assert screen.rows[-1] == "  and"


async def test_keys_the_wheel_and_a_click_on_the_announcement_scroll() -> None:
    rows = {
        ("up",): 20,
        ("up", "up", "down"): 20,
        ("ctrl+u",): 16,
        ("ctrl+u", "ctrl+d", "ctrl+u"): 16,
        ("pageup",): 12,
        ("pageup", "pageup", "pagedown"): 12,
        ("home",): 1,
        ("home", "down"): 2,
        ("home", "end"): 21,
    }
    async with showing(AnswerBlock(numbered(30))) as screen:
        found = {keys: (await screen.press("end", *keys))[0] for keys in rows}
        assert found == {keys: f"  line {first}" for keys, first in rows.items()}
        await screen.wheel(MouseScrollUp)
        assert screen.rows[0] == "  line 18"
        await screen.wheel(MouseScrollUp)
        await screen.wheel(MouseScrollDown)
        assert screen.rows[0] == "  line 18"
        await screen.press("home")
        await screen.add(AnswerBlock("new"))
        assert screen.rows[-1] == "  ↓ 2 new lines · end"
        await screen.click((5, 9))

        assert screen.rows[-1] == "  new"


@pytest.mark.parametrize("width", [30, 40, 100])
async def test_another_width_keeps_the_text_at_the_top(width: int) -> None:
    """The blocks above it get other heights, and so does the block itself."""
    long = [AnswerBlock(" ".join(f"a{block}w{word}" for word in range(60))) for block in range(30)]
    async with showing(*long, size=(60, 10)) as screen:
        await screen.press("home", *["pagedown"] * 6)
        first = screen.rows[0].split()[0]
        screen.transcript.add(AnswerBlock("new"))
        await screen.drawn(width)

        assert first in screen.rows[0].split()
        assert screen.transcript.viewport.new_lines == 2
        assert screen.rows[-1] == "  ↓ 2 new lines · end"


@pytest.mark.parametrize(
    ("keys", "width"),
    [(("home", *["pagedown"] * 8), 30), (("home", "down"), 100), (("pageup",) * 5, 30), (("pageup",) * 5, 100)],
)
async def test_another_width_keeps_the_text_at_the_top_of_a_long_answer(keys: tuple[str, ...], width: int) -> None:
    """It is fitted to the width in parts: above the viewport, in it, and below."""
    long = "\n".join(" ".join(f"a{line}w{word}" for word in range(line % 30 + 1)) for line in range(600))
    async with showing(AnswerBlock(long), size=(60, 10)) as screen:
        await screen.press(*keys)
        first = screen.rows[0].split()[0]
        await screen.stream(screen.transcript.document.entries[0].id, "\nnew\nlines")
        await screen.pilot.resize_terminal(width, 10)
        await screen.until(lambda: screen.transcript.document.columns == width - 4)
        await screen.pilot.pause()
        assert first in screen.rows[0].split()
        await screen.drawn()

        assert first in screen.rows[0].split()
        assert screen.rows[-1] == "  ↓ 2 new lines · end"
        assert (await screen.press("end"))[-1] == "  lines▍"


async def test_a_selection_ends_when_its_lines_are_fitted_to_another_width() -> None:
    async with showing(AnswerBlock(numbered(2_000)), size=(60, 10)) as screen:
        transcript = screen.transcript
        transcript.document.resize(30)
        transcript.selection.by_keys = True
        transcript.selection.select((0, 1_999, 0), (0, 1_999, 0))
        transcript.document.draw_rows(0, 10)

        assert not transcript.selection.exists


async def test_another_width_keeps_the_end_in_view() -> None:
    async with showing(*(AnswerBlock("word " * 30) for _ in range(30)), AnswerBlock("end")) as screen:
        await screen.drawn(30, 12)

        assert screen.rows[-1] == "  end"
        assert screen.transcript.viewport.follows


@pytest.mark.parametrize("heights", [(5,), (5, 14), (14, 3, 10)])
async def test_the_last_lines_stay_visible_when_something_opens_below(heights: tuple[int, ...]) -> None:
    """A question takes rows of the viewport, and gives them back."""
    async with showing(AnswerBlock(numbered(30))) as screen:
        number = screen.transcript.add(AnswerBlock("one\ntwo"))
        for height in heights:
            screen.transcript.append_text(number, f"\nthree {height}")
            await screen.pilot.resize_terminal(40, height)
            await screen.until(lambda wanted=height: screen.transcript.size.height == wanted)  # type: ignore[misc]  # bound
            await screen.until(lambda: not screen.transcript.document.dirty)
            await screen.pilot.pause()

            assert screen.transcript.viewport.follows
            assert screen.rows[-3:] == [*numbers(heights, height)][-3:]


def numbers(heights: tuple[int, ...], height: int) -> list[str]:
    shown = [f"  three {each}" for each in heights[: heights.index(height) + 1]]
    return ["  one", "  two", *shown[:-1], f"{shown[-1]}▍"]


async def test_corrected_heights_do_not_move_the_viewport() -> None:
    """A table is estimated too high: its source has more lines than it has rows on a narrow screen."""
    odd = [AnswerBlock("word " * 50 + "\n```\nx\n```" * 5) for _ in range(40)]
    async with showing(*odd, size=(50, 10)) as screen:
        await screen.press("pageup", "pageup")
        before = screen.rows
        screen.transcript.document.resize(screen.transcript.document.columns)
        screen.transcript.on_resize()
        await screen.drawn()

        assert screen.rows == before


async def test_a_shorter_conversation_is_drawn_from_the_top_and_thinking_is_shown_and_folded() -> None:
    async with showing(Thinking("first\nsecond")) as screen:
        folded = ["  Thinking · 2 lines · ctrl+t to show", *[""] * 9]
        assert screen.rows == folded
        await screen.press("up", "down", "pageup", "home", "end")
        assert screen.rows == folded
        assert await screen.press("ctrl+t") == ["  first", "  second", *[""] * 8]
        assert await screen.press("ctrl+t") == folded


async def test_an_empty_transcript_takes_every_key() -> None:
    async with showing() as screen:
        for keys in TRANSCRIPT_BINDINGS.values():
            await screen.press(*key_names(keys))
        await screen.press("escape", "ctrl+t", "ctrl+o")
        await screen.press("ctrl+f", "x", "enter", "ctrl+n", "escape")
        await screen.pilot.click(screen.transcript, offset=(3, 3), times=3)

        assert screen.rows == [""] * 10


async def test_clearing_and_loading_show_another_conversation() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("home", "alt+down")
        screen.transcript.clear()
        await screen.pilot.pause()
        assert screen.rows == [""] * 10
        screen.transcript.load([AnswerBlock(numbered(12, "row"))])
        await screen.pilot.pause()

        assert screen.rows[-1] == "  row 12"
        assert screen.transcript.cursor is None


async def test_a_running_call_turns_its_sign_until_it_has_ended() -> None:
    async with showing() as screen:
        number = await screen.add(CallBlock(view("make"), text_result("one"), since=0.0))
        assert screen.rows[:3] == ['  Bash: "make" ⠹ 0:38', "    Bash: working...", "    one"]
        clock = iter(range(39, 10_000))
        screen.transcript.document.now = lambda: float(next(clock))
        await screen.until(lambda: "0:38" not in screen.rows[0])
        screen.transcript.replace(number, CallBlock(view("make"), text_result("two"), CallState.DONE, seconds=41))
        await screen.until(lambda: screen.rows[:2] == ['  Bash: "make" ✓ 41 s', "    two"])


async def test_a_piece_of_text_paints_only_the_rows_that_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: in a transcript of 2,000 lines no complete line is drawn again, and no other row painted."""
    painted: list[int] = []
    render_line = TranscriptPane.render_line

    def counted(pane: TranscriptPane, y: int) -> Strip:
        painted.append(y)
        return render_line(pane, y)

    async with showing(*(AnswerBlock(numbered(100)) for _ in range(20)), size=(40, 10)) as screen:
        number = screen.transcript.add(AnswerBlock())
        await screen.stream(number, "first")
        drawn = screen.transcript.document.drawn
        monkeypatch.setattr(TranscriptPane, "render_line", counted)
        await screen.stream(number, " and more")
        assert set(painted) == {8, 9}  # the line, and the empty row above its block
        assert screen.transcript.document.drawn == drawn + 1
        painted.clear()
        await screen.stream(number, "\nnext")
        assert len(painted) <= 10
        await screen.press("pageup")
        painted.clear()
        drawn = screen.transcript.document.drawn
        await screen.stream(number, "\n" + numbered(50))

        assert screen.transcript.document.drawn == drawn + 51
        assert set(painted) == {9}
        assert screen.rows[-1] == "  ↓ 50 new lines · end"


async def test_opening_a_long_conversation_draws_only_what_is_near() -> None:
    async with showing(*(done("ls", numbered(5)) for _ in range(5)), size=(40, 10)) as screen:
        screen.transcript.load([AnswerBlock(numbered(10)) for _ in range(200)])
        assert screen.transcript.document.drawn < 100
        await screen.until(lambda: screen.transcript.document.is_drawn)
        assert screen.transcript.document.total == 2_199


async def test_the_end_stays_visible_if_a_region_is_read_before_the_layout() -> None:
    """Textual then sends no event about the new size: `tildone.screens.widgets.rows` tells why."""
    async with showing(AnswerBlock(numbered(30))) as screen:
        below = Static("below")
        below.styles.height, below.display = 1, False
        await screen.app.mount(below)
        await screen.pilot.pause()

        below.display = True
        # As after a scroll of another widget: the next one who reads a region computes all of them.
        screen.app.screen._compositor._full_map_invalidated = True  # noqa: SLF001  see above
        assert below.region.height == 1

        await screen.until(lambda: screen.rows[-2:] == ["  line 30", "below"])


CURSOR = "▎ "


def marked(rows: list[str]) -> list[str]:
    return [row.removeprefix(CURSOR) for row in rows if row.startswith(CURSOR)]


async def test_the_cursor_goes_from_block_to_block() -> None:
    """A key opens the file of the call with the cursor, or of the last one."""
    call = replace(done("cat", "a"), path="a b\x1b.py")
    blocks = (PersonMessage("go"), done("ls", "x"), call, Remark(Container()), AnswerBlock("end"))
    async with showing(*blocks) as screen:
        assert marked(screen.rows) == []
        await screen.press("f7")
        assert paths(screen) == ["a b\x1b.py"]
        assert marked(await screen.press("alt+up")) == ["end"]
        assert marked(await screen.press("alt+up")) == ['Bash: "cat"', "  a"]
        await screen.press("f7")
        assert paths(screen) == ["a b\x1b.py"] * 2
        assert marked(await screen.press("alt+up")) == ['Bash: "ls"', "  x"]
        await screen.press("f7")
        assert len(screen.app.sent) == 2
        assert marked(await screen.press("alt+up", "alt+up")) == ["❯ go"]
        assert marked(await screen.press("alt+down", "alt+down", "alt+down", "alt+down")) == ["end"]


async def test_the_first_step_down_is_the_first_visible_block_and_the_viewport_goes_with_the_cursor() -> None:
    async with showing(*(AnswerBlock(f"{block}\n.") for block in range(10))) as screen:
        assert marked(await screen.press("alt+down")) == ["6", "."]
        assert marked(await screen.press(*["alt+up"] * 5)) == ["1", "."]
        assert not screen.transcript.viewport.follows


async def test_a_call_is_expanded_where_it_is_and_folded_again() -> None:
    async with showing(
        AnswerBlock(numbered(30)), done("ls", numbered(20)), AnswerBlock("end"), size=(50, 20)
    ) as screen:
        folded = screen.rows
        at = folded.index('  Bash: "ls"')
        rows = await screen.press("enter")
        assert rows[at] == '  Bash: "ls"'
        assert rows[at + 9] == "    line 9"
        await screen.press("ctrl+o")
        await screen.press("end")
        assert screen.rows == folded


async def test_a_click_on_a_file_name_opens_it_and_beside_it_folds() -> None:
    """A click below the header does not."""
    call = replace(done("cat a.py b.py", numbered(20)), path="a.py")
    for column, opens in {12: False, 13: True, 16: True, 17: False, 20: False}.items():
        async with showing(call, size=(50, 30)) as screen:
            assert screen.rows[0] == '  Bash: "cat a.py b.py"'
            await screen.click((column, 0))

            assert paths(screen) == ["a.py"] * opens
            assert ("▎   line 20" in screen.rows) is not opens
            await screen.click((5, 3))
            assert ("▎   line 20" in screen.rows) is not opens


def paths(screen: Shown) -> list[str]:
    return [message.path for message in screen.app.sent if isinstance(message, TranscriptPane.FileWanted)]


async def test_all_calls_are_expanded_also_those_to_come_and_what_is_folded_is_not_found() -> None:
    async with showing(done("ls", numbered(10)), done("cat", numbered(10)), size=(50, 40)) as screen:
        assert not screen.transcript.find("line 10")
        await screen.press("ctrl+r")
        assert screen.transcript.find("line 10")
        await screen.add(done("pwd", numbered(10)))
        assert screen.rows.count("    line 10") == 3
        assert (await screen.press("ctrl+r")).count("    line 10") == 0


async def test_folding_takes_the_last_visible_block_if_the_cursor_is_elsewhere() -> None:
    """Its lines are not new."""
    long = done("ls", numbered(12))
    async with showing(long, AnswerBlock(numbered(30)), long, size=(50, 12)) as screen:
        await screen.press("home", "alt+down")
        assert screen.transcript.cursor == 1
        await screen.press("end", "enter")
        assert screen.transcript.viewport.new_lines == 0
        screen.transcript.add(AnswerBlock("new"))
        assert screen.transcript.viewport.new_lines == 2
        assert (await screen.press("end"))[-3:] == ["    line 12", "", "  new"]
        await screen.press("home")
        assert "  line 12" not in screen.rows


async def test_a_result_that_is_too_long_is_offered_to_a_pager() -> None:
    text = numbered(MAX_EXPANDED_LINES + 1)
    async with showing(done("cat", "short"), done("cat", text + "\x1b[2J"), size=(60, 20)) as screen:
        assert "    2,001 lines · f9 opens them in a pager" in await screen.press("enter")
        await screen.press("f9")
        [message] = screen.app.sent
        assert isinstance(message, TranscriptPane.PagerWanted)
        assert message.text == text + "␛[2J"
        await screen.press("alt+up", "alt+up", "f9")
        assert len(screen.app.sent) == 1


async def test_the_keys_of_a_notice_work_while_it_is_last() -> None:
    notice = NoticeBlock("The provider refused the key.", offers=(Offer("r", "try again"), Offer("j", "another")))
    async with showing(AnswerBlock(numbered(30)), notice) as screen:
        assert [screen.transcript.offer(key) for key in "rjx"] == [True, True, False]
        await screen.pilot.pause()
        chosen = [each for each in screen.app.sent if isinstance(each, TranscriptPane.OfferChosen)]
        assert [(each.number, each.key) for each in chosen] == [(2, "r"), (2, "j")]
        screen.transcript.add(AnswerBlock("after"))
        assert not screen.transcript.offer("r")


async def test_a_block_is_chosen_to_go_another_way() -> None:
    async with showing(PersonMessage("go"), AnswerBlock("done")) as screen:
        await screen.press("f6", "f5")
        assert screen.app.sent == []
        await screen.press("alt+up", "alt+up", "f6", "f5")
        chosen = [each for each in screen.app.sent if isinstance(each, TranscriptPane.BlockChosen)]
        assert [(each.number, each.what) for each in chosen] == [(1, "fork"), (1, "edit")]


async def test_keys_without_a_meaning_here_are_left_to_others() -> None:
    async with showing(AnswerBlock("a")) as screen:
        await screen.press("x", "escape", "ctrl+c", "left")

        assert screen.app.keys == ["x", "escape", "ctrl+c", "left"]


DARK = PALETTES["dark"]


def found(screen: Shown, color: str = DARK.warning) -> list[str]:
    """The characters that are reversed in this colour, row by row."""
    texts = []
    for y in range(screen.transcript.size.height):
        styled = [(each.text, each.style) for each in screen.transcript.render_line(y) if each.style]
        marked = [text for text, style in styled if style.reverse and style.color and style.color.name == color.lower()]
        texts += ["".join(marked)] if marked else []
    return texts


async def test_the_next_match_is_scrolled_to_and_the_search_starts_over() -> None:
    blocks = [AnswerBlock(numbered(10, f"b{block}")) for block in range(10)]
    async with showing(*blocks, size=(40, 8)) as screen:
        await screen.press("home", "ctrl+f", *"10", "enter")
        seen = []
        for _ in range(11):
            seen.append(next(row for row in screen.rows if row.endswith(" 10")).strip())
            await screen.press("ctrl+n")
        assert seen == [*(f"b{block} 10" for block in range(10)), "b0 10"]
        assert not screen.transcript.viewport.follows


async def test_the_previous_match_is_found_backwards() -> None:
    async with showing(AnswerBlock("x 1\nx 2"), AnswerBlock("x 3")) as screen:
        await screen.press("ctrl+f", "x", "enter")
        seen = [screen.transcript.search.match]
        for _ in range(3):
            await screen.press("ctrl+p")
            seen.append(screen.transcript.search.match)

        assert seen == [(1, 0), (2, 0), (1, 1), (1, 0)]


async def test_the_search_begins_at_the_viewport_and_words_that_are_nowhere_are_reported() -> None:
    async with showing(AnswerBlock(numbered(50)), size=(40, 8)) as screen:
        before = screen.transcript.scroll_offset
        assert (await screen.press("ctrl+f", *"zzz", "enter"))[-1] == "  /zzz · not found · esc"
        assert screen.transcript.scroll_offset == before
        await screen.press("ctrl+n")
        assert (await screen.press("escape"))[-1] == "  line 50"
        await screen.press("home", *["down"] * 14)
        await screen.press("ctrl+f", *"line", "enter")
        assert screen.transcript.search.match == (1, 14)
        await screen.press("escape", "ctrl+f", *"line", "enter", "ctrl+p")
        assert screen.transcript.search.match == (1, 13)


async def test_words_are_found_and_marked() -> None:
    """Also a word across a wrapped line."""
    async with showing(AnswerBlock("one two one"), PersonMessage("One"), size=(40, 8)) as screen:
        assert (await screen.press("ctrl+f", *"onx", "backspace"))[-1] == "  /on▍"
        await screen.press("e", "enter")

        assert found(screen, DARK.accent) == ["one"]
        assert found(screen) == ["one", "One"]
        await screen.press("ctrl+n", "ctrl+n")
        assert found(screen, DARK.accent) == ["One"]
        await screen.press("escape")
        assert found(screen) == []
    async with showing(AnswerBlock("one two three four five"), size=(16, 6)) as screen:
        assert screen.rows[:2] == ["  one two", "  three four"]
        assert screen.transcript.find("two three")
        assert found(screen, DARK.accent) == ["two", "three"]


async def test_typing_can_be_given_up_the_last_words_are_searched_again_and_so_is_pasted_text() -> None:
    async with showing(AnswerBlock("one two")) as screen:
        await screen.press("ctrl+f", *"two", "escape")
        assert screen.transcript.search.words == ""
        await screen.press("ctrl+f", *"one", "enter", "ctrl+f", "enter")
        assert screen.transcript.search.words == "one"
        screen.transcript.post_message(Paste("ignored"))
        await screen.press("ctrl+f")
        screen.transcript.post_message(Paste("one\x1b[2J\nnext"))
        await screen.pilot.pause()
        assert screen.rows[-1] == "  /one␛[2J▍"
