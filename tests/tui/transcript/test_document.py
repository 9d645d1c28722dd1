"""A document: the rows of its blocks whatever was done to them, cumulative heights, and places in it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.transcript.conversations import document, done, drawn, numbered, view
from tildone.run.kit.components import Container, Text
from tildone.run.kit.definition import text_result
from tildone.screens.transcript.blocks import (
    AnswerBlock,
    CallBlock,
    NoticeBlock,
    PersonMessage,
    Remark,
    Separator,
    Thinking,
)
from tildone.screens.transcript.document import (
    MAX_FLUSH,
    Document,
    HeightIndex,
    character_at,
    matches,
    selected_text,
    word_at,
)

TEXTS = st.text(alphabet="ab |-`#*\n字\x1b", max_size=60)
BLOCKS = st.one_of(
    st.builds(AnswerBlock, TEXTS),
    st.builds(Thinking, TEXTS),
    st.builds(PersonMessage, TEXTS),
    st.builds(done, st.just("ls"), TEXTS),
    st.builds(Separator, st.just("told to go on")),
    st.builds(NoticeBlock, TEXTS),
    st.just(Remark(Container())),
)
STEPS = st.one_of(
    st.tuples(st.just("add"), BLOCKS),
    st.tuples(st.just("replace"), st.integers(0, 9), BLOCKS),
    st.tuples(st.just("append"), st.integers(0, 9), TEXTS),
    st.tuples(st.just("flush")),
    st.tuples(st.just("finish"), st.integers(0, 9)),
    st.tuples(st.just("fold"), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("all"), st.booleans()),
    st.tuples(st.just("thinking"), st.booleans()),
    st.tuples(st.just("resize"), st.integers(1, 90)),
    st.tuples(st.just("draw"), st.integers(0, 40), st.integers(0, 40)),
)


def _do(made: Document, step: tuple[Any, ...]) -> None:
    match step:
        case ("add", block):
            made.add(block)
        case ("all", expanded):
            made.expand_all(expanded=expanded)
        case ("thinking", is_shown):
            made.show_thinking(shown=is_shown)
        case ("resize", columns):
            made.resize(columns)
        case ("draw", first, rows):
            made.draw_rows(first, first + rows)
        case ("flush",):
            made.flush(20)
        case (name, at, *rest) if at < len(made.entries):
            entry = made.entries[at]
            if name == "replace":
                made.replace(entry.id, rest[0])
            elif name == "fold":
                made.set_expanded(entry.id, expanded=rest[0])
            elif isinstance(entry.block, AnswerBlock | Thinking):
                made.append(entry.id, rest[0]) if name == "append" else made.finish(entry.id)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_the_cumulative_heights_are_the_rows_that_are_drawn(steps: list[tuple[Any, ...]]) -> None:
    """And they are the rows of a document in which the same blocks are drawn at once."""
    made = document()
    for step in steps:
        _do(made, step)
        assert made.total == sum(entry.gap + entry.rows for entry in made.entries)
    made.flush(10_000)
    rows = drawn(made)
    fresh = document(columns=made.columns)
    for entry in made.entries:
        block = type(entry.block)(entry.text) if isinstance(entry.block, AnswerBlock | Thinking) else entry.block
        fresh.set_expanded(fresh.add(block), expanded=entry.expanded)

    assert made.total == sum(entry.gap + len(entry.lines or ()) for entry in made.entries) == len(rows)
    assert rows == drawn(fresh)


def test_there_is_an_empty_row_between_messages_and_none_in_a_run_of_calls() -> None:
    """A block without rows takes no space. The gap below a block that is replaced follows its kind."""
    made = document(PersonMessage("go"), done("ls", "a"), done("cat", "b"), AnswerBlock("done"), Separator("end"))
    assert drawn(made) == ["❯ go", "", 'Bash: "ls"', "  a", 'Bash: "cat"', "  b", "", "done", "", "── end " + "─" * 53]
    assert drawn(document(AnswerBlock("a"), Remark(Container()), AnswerBlock("b"))) == ["a", "", "b"]

    made = document(Remark(Text("a")), done("ls", "b"))
    drawn(made)
    made.replace(made.entries[0].id, done("cat", "a"))
    made.flush()
    assert drawn(made) == ['Bash: "cat"', "  a", 'Bash: "ls"', "  b"]


def test_heights_are_estimated_until_the_rows_are_wanted() -> None:
    made = document(*(AnswerBlock(numbered(10)) for _ in range(100)))

    assert not made.is_drawn
    assert made.drawn == 0
    made.draw_rows(500, 520)
    assert made.drawn in (20, 30)
    assert abs(made.total - len(drawn(made))) <= len(made.entries)


def test_a_piece_of_text_draws_no_complete_line_again() -> None:
    made = document(*(AnswerBlock(numbered(10)) for _ in range(99)))
    number = made.add(AnswerBlock(numbered(10)))
    drawn(made)
    before = made.drawn
    for piece in ("\n", "and ", "so on\nne", "xt", "\n"):
        made.append(number, piece)
        made.flush()

    # The line that was last when each piece came, and the lines that the piece has added.
    assert made.drawn - before == 1 + 1 + 2 + 1 + 1
    assert drawn(made)[-3:] == ["line 10", "and so on", "next"]


def test_a_large_piece_is_drawn_in_parts() -> None:
    made = document()
    number = made.add(AnswerBlock())
    drawn(made)
    made.append(number, "x\n" * MAX_FLUSH)
    made.flush()

    assert made.total == MAX_FLUSH // 2
    made.finish(number)
    assert made.total == MAX_FLUSH
    assert not made.dirty
    assert made.entries[0].block == AnswerBlock("x\n" * MAX_FLUSH)


def test_a_line_without_an_end_is_not_drawn_again_for_every_piece() -> None:
    made = document(columns=100)
    number = made.add(AnswerBlock())
    drawn(made)
    for _ in range(400):
        made.append(number, "x" * 100)
        made.flush()

    assert made.drawn < 8_000
    assert 250 < made.total <= 400
    made.finish(number)
    assert made.total == 400


def test_another_width_keeps_about_the_same_rows_until_they_are_drawn() -> None:
    made = document(AnswerBlock("word " * 40), columns=40)
    drawn(made)
    assert made.total == 5
    made.resize(20)

    assert made.total == 10
    assert len(drawn(made)) == 10


def test_the_output_of_a_running_call_is_replaced_with_the_next_frame() -> None:
    made = document(CallBlock(view("make"), text_result("one")))
    drawn(made)
    made.replace(made.entries[0].id, CallBlock(view("make"), text_result("one\ntwo")))
    assert "  two" not in drawn(made)
    made.flush()

    assert drawn(made)[-2:] == ["  one", "  two"]


def test_a_folded_thought_is_counted_while_it_is_streamed() -> None:
    made = document()
    number = made.add(Thinking())
    drawn(made)
    made.append(number, "a\nb")
    made.flush()
    assert drawn(made) == ["Thinking · 2 lines · ctrl+t to show"]
    made.show_thinking(shown=True)

    assert drawn(made) == ["a", "b"]


LONG = "\n".join(f"- item {number} " + "word " * (number % 40) for number in range(3_000))


@pytest.mark.parametrize("columns", [25, pytest.param(90, marks=pytest.mark.slow)])
def test_another_width_is_fitted_in_parts(columns: int) -> None:
    """One answer of 3,000 lines: what is wanted at once, the rest bit by bit; counted, not timed."""
    made = document(AnswerBlock(LONG), columns=60)
    made.lines(0)
    before = made.drawn
    made.resize(columns)
    assert made.drawn - before <= 5
    made.draw_rows(made.total - 100, made.total)
    assert 0 < made.drawn - before <= 1200
    assert not made.is_drawn
    middle = made.total // 2
    made.draw_rows(middle, middle + 100)
    assert max(len(line.text) for line in made.lines(0)[middle : middle + 100]) <= columns
    made.append(made.entries[0].id, "\nmore\n- and more " + "word " * 40)
    made.flush()
    before = made.drawn
    while made.draw_waiting():
        assert made.drawn - before <= 1200
        before = made.drawn

    afresh = document(AnswerBlock(f"{LONG}\nmore\n- and more " + "word " * 40), columns=columns)
    assert made.lines(0) == afresh.lines(0)
    assert made.total == afresh.total


def test_long_code_keeps_its_colours_at_another_width() -> None:
    made = document(AnswerBlock("```python\n" + "x = None # a b c d e f g h\n" * 1000 + "```\n"), columns=60)
    made.lines(0)
    [(stream, block)] = made.uncolored
    made.resize(20)
    made.draw_rows(made.total - 50, made.total)
    made.colors.lines(block.language, block.code)
    stream.color(block)
    while made.draw_waiting():
        pass

    afresh = document(AnswerBlock("```python\n" + "x = None # a b c d e f g h\n" * 1000 + "```\n"), columns=20)
    afresh.colors = made.colors
    assert made.lines(0) == afresh.lines(0)


heights = st.lists(st.integers(0, 9), max_size=40)


@given(heights, st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=20))
def test_every_top_is_the_sum_of_the_heights_before_it(first: list[int], changes: list[tuple[int, int]]) -> None:
    index, plain = HeightIndex(), list(first)
    for height in first:
        index.append(height)
    for at, height in changes:
        if at < len(plain):
            plain[at] = height
            index.set(at, height)

    assert [index.top(at) for at in range(len(plain) + 1)] == [sum(plain[:at]) for at in range(len(plain) + 1)]
    assert index.total == sum(plain)
    assert [index[at] for at in range(len(plain))] == plain


@given(heights.filter(any))
def test_a_row_is_found_in_the_block_that_covers_it(given_heights: list[int]) -> None:
    """An empty index has no rows."""
    index = HeightIndex()
    owners = []
    for at, height in enumerate(given_heights):
        index.append(height)
        owners += [at] * height

    assert [index.find(row) for row in range(len(owners))] == owners
    assert index.find(len(owners) + 5) == owners[-1]
    index.clear()
    assert (index.total, index.find(4)) == (0, 0)


TEN_WORDS = "one two three four five six seven eight nine ten"


def test_copied_text_has_no_wrapping_breaks_no_gutter_and_no_padding() -> None:
    """Also a part of wrapped lines is copied as it is in the text."""
    answer = AnswerBlock(f"{TEN_WORDS}\n\n- item\n\n```\n  code\n```")
    made = document(PersonMessage("go\non"), answer, done("ls", "a\nb"), columns=20)
    assert drawn(made)[3:6] == ["one two three four", "five six seven eight", "nine ten"]

    everything = f'go\non\n\n{TEN_WORDS}\n\n• item\n\n  code\n\nBash: "ls"\na\nb'
    assert selected_text(made, (0, 0, 0), (2, 2, 99)) == everything
    assert selected_text(made, (1, 0, 8), (1, 1, 8)) == "three four five six"
    assert selected_text(made, (1, 1, 5), (1, 1, 8)) == "six"
    assert selected_text(made, (1, 2, 5), (1, 2, 5)) == ""


def test_the_character_at_a_column_is_the_one_that_is_drawn_there_and_is_in_its_word() -> None:
    assert [character_at("a字b", column) for column in (0, 1, 2, 3, 9)] == [0, 1, 1, 2, 3]

    text, words = "say grüß_Gott!?", {0: "say", 3: " ", 4: "grüß_Gott", 13: "!?", 99: ""}
    assert {at: text[slice(*word_at(text, at))] for at in words} == words


def test_words_are_found_across_wrapped_lines() -> None:
    lines = document(AnswerBlock(f"{TEN_WORDS}\n- FOUR five a.c abc"), columns=20).lines(0)
    found = {
        "four five": [[(0, 14, 18), (1, 0, 4)], [(3, 2, 11)]],
        "FOUR": [[(3, 2, 6)]],
        "a.c": [[(3, 12, 15)]],
        "eleven": [],
    }
    assert {words: matches(lines, words) for words in found} == found
    assert matches([], "x") == []
