"""Selecting and copying: by the mouse, by keys, and whole blocks."""

import pytest
from textual.events import MouseDown, MouseMove, MouseUp

from tests.tui.transcript.conversations import done, numbered
from tests.tui.transcript.screen import Shown, showing
from tildone.base import replace
from tildone.screens.transcript.blocks import AnswerBlock, PersonMessage
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.widgets.keys import PALETTES

LONG = "one two three four five six seven eight nine ten"


@pytest.fixture(autouse=True)
def no_platform_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not write to the clipboard of whoever runs them."""
    monkeypatch.setenv("SSH_CONNECTION", "here")


async def drag(screen: Shown, start: tuple[int, int], *ways: tuple[int, int]) -> None:
    """Press the mouse, move it, and release it where it is then."""

    def event(kind: type[MouseDown | MouseMove | MouseUp], at: tuple[int, int]) -> MouseDown | MouseMove | MouseUp:
        return kind(screen.transcript, *at, 0, 0, 1, shift=False, meta=False, ctrl=False)

    screen.transcript.post_message(event(MouseDown, start))
    for at in ways:
        screen.transcript.post_message(event(MouseMove, at))
        await screen.pilot.pause()
    screen.transcript.post_message(event(MouseUp, ways[-1]))
    await screen.pilot.pause()


async def test_a_drag_selects_and_a_key_copies() -> None:
    """Without gutter, padding and wrapping breaks; and not before the key."""
    async with showing(PersonMessage("go on"), AnswerBlock(LONG), size=(24, 10)) as screen:
        assert screen.rows[:5] == ["  ❯ go on", "", "  one two three four", "  five six seven eight", "  nine ten"]
        await drag(screen, (7, 0), (6, 3), (11, 3))
        assert screen.transcript.selection.exists
        assert screen.app.sent == []
        assert await screen.copied("ctrl+y") == "on\n\none two three four five six"
        assert not screen.transcript.selection.exists


async def test_selected_text_is_marked_and_a_drag_backwards_or_clicks_select_too() -> None:
    async with showing(AnswerBlock("one two three")) as screen:
        await screen.pilot.click(screen.transcript, offset=(7, 0), times=2)
        assert screen.transcript.selection.text == "two"
        await screen.pilot.click(screen.transcript, offset=(7, 0), times=3)
        assert screen.transcript.selection.text == "one two three"
        await screen.pilot.click(screen.transcript, offset=(7, 0))
        assert not screen.transcript.selection.exists
        await drag(screen, (6, 0), (9, 0))
        strip = screen.transcript.render_line(0)
        selected = PALETTES["dark"].selected
        marked = [s.text for s in strip if s.style and s.style.bgcolor and s.style.bgcolor.name == selected.lower()]

        assert marked == ["two"]
        await drag(screen, (9, 0), (6, 0))
        assert await screen.copied("ctrl+c") == "two"


async def test_a_drag_beyond_the_edge_scrolls() -> None:
    async with showing(AnswerBlock(numbered(60))) as screen:
        transcript = screen.transcript
        down = MouseDown(transcript, 2, 5, 0, 0, 1, shift=False, meta=False, ctrl=False)
        above = MouseMove(transcript, 2, -1, 0, 0, 1, shift=False, meta=False, ctrl=False)
        below = MouseMove(transcript, 2, 12, 0, 0, 1, shift=False, meta=False, ctrl=False)
        transcript.post_message(down)
        transcript.post_message(above)
        await screen.until(lambda: transcript.scroll_offset.y < 40)
        transcript.post_message(below)
        await screen.until(lambda: transcript.viewport.follows)
        transcript.post_message(MouseUp(transcript, 2, 12, 0, 0, 1, shift=False, meta=False, ctrl=False))
        await screen.pilot.pause()
        before = transcript.scroll_offset

        assert transcript.selection.text.startswith("line 56\n")
        await screen.pilot.pause(0.2)
        assert transcript.scroll_offset == before


async def test_keys_select_from_the_first_visible_line_and_words_beyond_the_edge_scroll() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        assert await screen.copied("ctrl+k", "right", "right", "right", "right", "left", "ctrl+y") == "line"
        assert await screen.copied("ctrl+k", "down", "right", "left", "down", "up", "ctrl+y") == "line 21\nl"
        assert await screen.copied("ctrl+k", "end", "ctrl+y") == "\n".join(f"line {n}" for n in range(21, 30)) + "\nl"
        assert (await screen.press("ctrl+k", *["ctrl+left"] * 4))[0] == "  line 19"
        assert (await screen.press(*["alt+right"] * 30))[-1] == "  line 30"


async def test_keys_select_from_the_block_with_the_cursor_and_scroll() -> None:
    async with showing(*(AnswerBlock(f"block {n}") for n in range(20))) as screen:
        assert await screen.copied("alt+up", "ctrl+k", "up", "up", "ctrl+y") == "block 17\n\nblock 18\n\nb"
        assert screen.transcript.viewport.follows
        await screen.press("ctrl+k", *["up"] * 30)
        assert screen.transcript.scroll_offset.y < 10
        await screen.press("home")
        assert screen.transcript.selection.text.startswith("block 0\n")


WORD_KEYS = {"w": "ctrl+right", "b": "ctrl+left", "e": "alt+right"}


async def test_keys_select_words() -> None:
    """From line to line, and from block to block."""
    selected = {
        "e": "one",
        "ee": "one two",
        "w": "one t",
        "wwe": "one two, three",
        "wwwb": "one two,",
        "eeeeeee": "one two, three four-five",
        "eeeeeeee": "one two, three four-five six",
        "wwwwwwwww": "one two, three four-five six\n\nl",
        "wwwwwwwwwwwb": "one two, three four-five s",
        "wwwwwwwwwbb": "one two, three four-f",
        "b": "o",
    }
    async with showing(AnswerBlock("one two, three four-five six"), AnswerBlock("last"), size=(24, 10)) as screen:
        for typed, text in selected.items():
            assert await screen.copied("ctrl+k", *(WORD_KEYS[key] for key in typed), "ctrl+y") == text


async def test_escape_ends_the_selection_without_which_the_keys_of_words_have_another_meaning() -> None:
    async with showing(AnswerBlock("one two")) as screen:
        await screen.press("ctrl+k", "escape")
        assert not screen.transcript.selection.exists
        await screen.press("ctrl+y")
        assert screen.app.sent == []
        await screen.press("alt+up", "ctrl+k", "alt+right", "f6", "escape", "ctrl+right", "ctrl+left", "f5")

        chosen = [(message.number, message.what) for message in screen.app.sent]  # type: ignore[attr-defined]  # one kind
        assert chosen == [(1, "edit")]


async def test_a_selection_ends_when_its_lines_change() -> None:
    async with showing(done("ls", numbered(20)), AnswerBlock("a b")) as screen:
        number = screen.transcript.document.entries[1].id
        await screen.press("ctrl+k", "end")
        screen.transcript.replace(number, AnswerBlock("other"))
        assert not screen.transcript.selection.exists
        await screen.press("ctrl+k")
        await screen.pilot.resize_terminal(30, 10)
        await screen.until(lambda: not screen.transcript.selection.exists)
        await screen.press("ctrl+k", "enter")
        assert not screen.transcript.selection.exists


async def test_a_block_is_copied_as_it_was_written() -> None:
    text = "# Title\n\n- *item*\x1b[2J\n\n```py\nx = 1\n\ny = 2\n```\n\n~~~\nz\n~~~"
    async with showing(PersonMessage("go"), done("ls", "a\n\nb"), AnswerBlock(text)) as screen:
        assert await screen.copied("f8") == text.replace("\x1b", "␛")
        assert await screen.copied("ctrl+e") == "x = 1\n\ny = 2\nz"
        assert await screen.copied("alt+up", "alt+up", "f8") == "a\n\nb"
        assert await screen.copied("ctrl+e") == "a\n\nb"
        await screen.press("alt+up", "ctrl+e")
        assert len(screen.app.sent) == 4


def test_the_person_is_told_what_was_copied() -> None:
    words = {
        ("a\nb\nc", True): "Copied 3 lines",
        ("a", True): "Copied 1 line",
        ("a", False): "Copied, if the terminal allows it",
    }
    assert {(text, certain): TranscriptPane.Copied(text, certain=certain).words for text, certain in words} == words


async def test_another_palette_paints_everything_again() -> None:
    async with showing(AnswerBlock("one")) as screen:
        screen.transcript.palette = replace(PALETTES["light"])
        _, _, text, *_ = screen.transcript.render_line(0)

        assert text.style is not None
        assert text.style.color is not None
        assert text.style.color.name == PALETTES["light"].text.lower()
