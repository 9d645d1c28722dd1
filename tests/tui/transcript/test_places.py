"""Places in a document: the text between two of them, and where words are."""

import pytest

from tests.tui.transcript.conversations import document, done, drawn
from tildone.plan.text.styles import Role
from tildone.screens.transcript.blocks import AnswerBlock, PersonMessage, markdown_lines
from tildone.screens.transcript.document import character_at, matches, selected_text, word_at

LONG = "one two three four five six seven eight nine ten"


def test_copied_text_has_no_wrapping_breaks_no_gutter_and_no_padding() -> None:
    made = document(
        PersonMessage("go\non"), AnswerBlock(f"{LONG}\n\n- item\n\n```\n  code\n```"), done("ls", "a\nb"), columns=20
    )
    drawn(made)

    assert selected_text(made, (0, 0, 0), (2, 2, 99)) == (f'go\non\n\n{LONG}\n\n• item\n\n  code\n\nBash: "ls"\na\nb')


def test_a_part_of_wrapped_lines_is_copied_as_it_is_in_the_text() -> None:
    made = document(AnswerBlock(LONG), columns=20)
    assert drawn(made) == ["one two three four", "five six seven eight", "nine ten"]

    assert selected_text(made, (0, 0, 8), (0, 1, 8)) == "three four five six"
    assert selected_text(made, (0, 1, 5), (0, 1, 8)) == "six"
    assert selected_text(made, (0, 2, 5), (0, 2, 5)) == ""


@pytest.mark.parametrize(("column", "character"), [(0, 0), (1, 1), (2, 1), (3, 2), (9, 3)])
def test_the_character_at_a_column_is_the_one_that_is_drawn_there(column: int, character: int) -> None:
    assert character_at("a字b", column) == character


@pytest.mark.parametrize(("character", "word"), [(0, "say"), (3, " "), (4, "grüß_Gott"), (13, "!?"), (99, "")])
def test_a_word_is_found_at_each_of_its_characters(character: int, word: str) -> None:
    text = "say grüß_Gott!?"
    start, end = word_at(text, character)

    assert text[start:end] == word


def test_words_are_found_across_wrapped_lines() -> None:
    lines = markdown_lines(f"{LONG}\n- FOUR five", 20, Role.TEXT)

    assert matches(lines, "four five") == [[(0, 14, 18), (1, 0, 4)], [(3, 2, 11)]]
    assert matches(lines, "FOUR") == [[(3, 2, 6)]]
    assert matches(lines, "eleven") == []
    assert matches([], "x") == []


def test_a_pattern_is_searched_for_literally() -> None:
    assert matches(markdown_lines("a.c abc", 20, Role.TEXT), "a.c") == [[(0, 0, 3)]]
