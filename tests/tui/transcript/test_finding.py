"""Finding: the words are typed at the lower edge, matches are marked, and n and N go from one to the next."""

from textual.events import Paste

from tests.tui.transcript.conversations import done, numbered
from tests.tui.transcript.screen import Shown, showing
from tildone.screens.transcript.blocks import AnswerBlock, PersonMessage
from tildone.screens.widgets.keys import PALETTES

DARK = PALETTES["dark"]


def found(screen: Shown, color: str = DARK.warning) -> list[str]:
    """The characters that are reversed in this colour, row by row."""
    texts = []
    for y in range(screen.transcript.size.height):
        styled = [(each.text, each.style) for each in screen.transcript.render_line(y) if each.style]
        marked = [text for text, style in styled if style.reverse and style.color and style.color.name == color.lower()]
        texts += ["".join(marked)] if marked else []
    return texts


async def test_words_are_found_and_marked() -> None:
    async with showing(AnswerBlock("one two one"), PersonMessage("One"), size=(40, 8)) as screen:
        assert (await screen.press("slash", *"onx", "backspace"))[-1] == "  /on▍"
        await screen.press("e", "enter")

        assert found(screen, DARK.accent) == ["one"]
        assert found(screen) == ["one", "One"]
        await screen.press("n")
        await screen.press("n")
        assert found(screen, DARK.accent) == ["One"]
        await screen.press("escape")
        assert found(screen) == []


async def test_the_next_match_is_scrolled_to_and_the_search_starts_over() -> None:
    blocks = [AnswerBlock(numbered(10, f"b{block}")) for block in range(10)]
    async with showing(*blocks, size=(40, 8)) as screen:
        await screen.press("g", "slash", *"10", "enter")
        seen = []
        for _ in range(11):
            seen.append(next(row for row in screen.rows if row.endswith(" 10")).strip())
            await screen.press("n")
        assert seen == [*(f"b{block} 10" for block in range(10)), "b0 10"]
        assert not screen.transcript.viewport.follows


async def test_the_previous_match_is_found_backwards() -> None:
    async with showing(AnswerBlock("x 1\nx 2"), AnswerBlock("x 3")) as screen:
        await screen.press("slash", "x", "enter")
        seen = [screen.transcript.search.match]
        for _ in range(3):
            await screen.press("N")
            seen.append(screen.transcript.search.match)

        assert seen == [(1, 0), (2, 0), (1, 1), (1, 0)]


async def test_the_search_begins_at_the_viewport() -> None:
    async with showing(AnswerBlock(numbered(50)), size=(40, 8)) as screen:
        await screen.press("g", *["j"] * 14)
        await screen.press("slash", *"line", "enter")
        assert screen.transcript.search.match == (1, 14)
        await screen.press("escape", "slash", *"line", "enter", "N")
        assert screen.transcript.search.match == (1, 13)


async def test_a_word_across_a_wrapped_line_is_found() -> None:
    async with showing(AnswerBlock("one two three four five"), size=(16, 6)) as screen:
        assert screen.rows[:2] == ["  one two", "  three four"]
        assert screen.transcript.find("two three")
        assert found(screen, DARK.accent) == ["two", "three"]


async def test_words_that_are_nowhere_are_reported() -> None:
    async with showing(AnswerBlock(numbered(30))) as screen:
        before = screen.transcript.scroll_offset
        assert (await screen.press("slash", *"zzz", "enter"))[-1] == "  /zzz · not found · esc"
        assert screen.transcript.scroll_offset == before
        await screen.press("n")
        assert (await screen.press("escape"))[-1] == "  line 30"


async def test_typing_can_be_given_up_and_the_last_words_are_searched_again() -> None:
    async with showing(AnswerBlock("one two")) as screen:
        await screen.press("slash", *"two", "escape")
        assert screen.transcript.search.words == ""
        await screen.press("slash", *"one", "enter", "slash", "enter")
        assert screen.transcript.search.words == "one"


async def test_pasted_text_is_searched_for() -> None:
    async with showing(AnswerBlock("one two")) as screen:
        screen.transcript.post_message(Paste("ignored"))
        await screen.press("slash")
        screen.transcript.post_message(Paste("one\x1b[2J\nnext"))
        await screen.pilot.pause()
        assert screen.rows[-1] == "  /one␛[2J▍"


async def test_what_is_folded_is_not_found() -> None:
    async with showing(done("ls", numbered(20))) as screen:
        assert not screen.transcript.find("line 20")
        await screen.press("O")
        assert screen.transcript.find("line 20")
