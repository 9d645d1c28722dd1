"""The viewport: it follows the end, and nothing but the person moves it."""

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.strip import Strip
from textual.widgets import Static

from tests.tui.transcript.conversations import done, numbered, view
from tests.tui.transcript.screen import showing
from tildone.run.kit.definition import text_result
from tildone.screens.transcript.blocks import AnswerBlock, CallBlock, CallState, PersonMessage
from tildone.screens.transcript.widget import TranscriptPane


async def test_it_opens_at_the_end_and_follows_it() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        assert screen.rows[-1] == "  line 30"
        number = screen.transcript.add(AnswerBlock())
        await screen.stream(number, "more\n", "and")

        assert screen.rows[-2:] == ["  more", "  and▍"]
        assert screen.transcript.viewport.follows
        screen.transcript.finish_text(number)
        await screen.pilot.pause()
        assert screen.rows[-1] == "  and"


async def test_scrolling_up_stops_following_and_new_lines_are_announced() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("k", "k")
        before = screen.rows
        number = screen.transcript.add(AnswerBlock("one\ntwo"))
        await screen.stream(number, "\nthree")

        assert screen.transcript.viewport.new_lines == 4
        assert screen.rows == [*before[:-1], "  ↓ 4 new lines · end"]
        assert (await screen.press("G"))[-1] == "  three▍"
        assert screen.transcript.viewport.follows


async def test_nothing_is_announced_until_something_is_new() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("k")

        assert screen.rows[-1] == "  line 29"


async def test_scrolling_back_to_the_end_follows_it_again() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("k", "k", "j")
        assert not screen.transcript.viewport.follows
        await screen.press("j")
        assert screen.transcript.viewport.follows


async def test_keys_scroll() -> None:
    rows = {
        ("k",): 20,
        ("up", "up", "down"): 20,
        ("ctrl+u",): 16,
        ("ctrl+u", "ctrl+d", "ctrl+u"): 16,
        ("pageup",): 12,
        ("pageup", "pageup", "pagedown"): 12,
        ("g",): 1,
        ("home", "j"): 2,
        ("g", "end"): 21,
    }
    async with showing(AnswerBlock(numbered(30))) as screen:
        found = {keys: (await screen.press("G", *keys))[0] for keys in rows}

    assert found == {keys: f"  line {first}" for keys, first in rows.items()}


async def test_the_wheel_scrolls_three_rows() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.wheel(MouseScrollUp)
        assert screen.rows[0] == "  line 18"
        await screen.wheel(MouseScrollUp)
        await screen.wheel(MouseScrollDown)
        assert screen.rows[0] == "  line 18"


async def test_a_click_on_the_announcement_goes_to_the_end() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("g")
        await screen.add(AnswerBlock("new"))
        assert screen.rows[-1] == "  ↓ 2 new lines · end"
        await screen.click((5, 9))

        assert screen.rows[-1] == "  new"


@pytest.mark.parametrize("width", [30, 40, 100])
async def test_another_width_keeps_the_text_at_the_top(width: int) -> None:
    """The blocks above it get other heights, and so does the block itself."""
    long = [AnswerBlock(" ".join(f"a{block}w{word}" for word in range(60))) for block in range(30)]
    async with showing(*long, size=(60, 10)) as screen:
        await screen.press("g", *["pagedown"] * 6)
        first = screen.rows[0].split()[0]
        screen.transcript.add(AnswerBlock("new"))
        await screen.pilot.resize_terminal(width, 10)
        await screen.until(lambda: screen.transcript.document.columns == width - 4)
        await screen.until(lambda: screen.transcript.document.is_drawn)
        await screen.pilot.pause()

        assert first in screen.rows[0].split()
        assert screen.transcript.viewport.new_lines == 2
        assert screen.rows[-1] == "  ↓ 2 new lines · end"


@pytest.mark.parametrize(
    ("keys", "width"),
    [(("g", *["pagedown"] * 8), 30), (("g", "j"), 100), (("pageup",) * 5, 30), (("pageup",) * 5, 100)],
)
async def test_another_width_keeps_the_text_at_the_top_of_a_long_answer(keys: tuple[str, ...], width: int) -> None:
    """It is fitted to the width in parts: above the viewport, in it, and below."""
    long = "\n".join(" ".join(f"a{line}w{word}" for word in range(line % 30 + 1)) for line in range(600))
    async with showing(AnswerBlock(long), size=(60, 10)) as screen:
        await screen.press(*keys)
        first = screen.rows[0].split()[0]
        number = screen.transcript.document.entries[0].id
        await screen.stream(number, "\nnew\nlines")
        await screen.pilot.resize_terminal(width, 10)
        await screen.until(lambda: screen.transcript.document.columns == width - 4)
        await screen.pilot.pause()
        assert first in screen.rows[0].split()
        await screen.until(lambda: screen.transcript.document.is_drawn)
        await screen.pilot.pause()

        assert first in screen.rows[0].split()
        assert screen.rows[-1] == "  ↓ 2 new lines · end"
        assert (await screen.press("G"))[-1] == "  lines▍"


async def test_a_selection_ends_when_its_lines_are_fitted_to_another_width() -> None:
    async with showing(AnswerBlock(numbered(2_000)), size=(60, 10)) as screen:
        transcript = screen.transcript
        transcript.document.resize(30)
        transcript.selection.begin_by_keys((0, 1_999, 0))
        transcript.document.draw_rows(0, 10)

        assert not transcript.selection.exists


async def test_another_width_keeps_the_end_in_view() -> None:
    async with showing(*(AnswerBlock("word " * 30) for _ in range(30)), AnswerBlock("end")) as screen:
        await screen.pilot.resize_terminal(30, 12)
        await screen.until(lambda: screen.transcript.document.is_drawn)
        await screen.pilot.pause()

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
            await screen.until(lambda: not screen.transcript.document.is_dirty)
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
        await screen.until(lambda: screen.transcript.document.is_drawn)
        await screen.pilot.pause()

        assert screen.rows == before


async def test_a_shorter_conversation_is_drawn_from_the_top() -> None:
    async with showing(PersonMessage("hello")) as screen:
        assert screen.rows == ["  ❯ hello", *[""] * 9]
        await screen.press("k", "j", "pageup", "g", "G")
        assert screen.rows == ["  ❯ hello", *[""] * 9]


async def test_an_empty_transcript_takes_every_key() -> None:
    async with showing() as screen:
        await screen.press(*"jkgGJKOvyYcnNfeo ", "ctrl+t", "ctrl+o", "alt+up", "ctrl+u", "pageup")
        await screen.press("slash", "x", "enter", "n", "escape")
        await screen.pilot.click(screen.transcript, offset=(3, 3), times=3)

        assert screen.rows == [""] * 10


async def test_clearing_and_loading_show_another_conversation() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        await screen.press("g", "J")
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
