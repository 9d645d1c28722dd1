"""Sanitizing of text for models, reminders and terminals."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tildone.views.sanitize import (
    escape_reminder_tags,
    printable,
    printable_lines,
    single_line,
)

BREAKS = "\n\v\f\r\x85\u2028\u2029"
EMOJI = [
    "👨‍👩‍👧‍👦 family",
    "🏳️‍🌈 flag",
    "❤️‍🔥",
    "👩🏽‍💻",
    "1️⃣ #️⃣",
    "🇩🇪🇫🇷",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
]
SPELLING = ["می‌خواهم", "क्‍ष", "葛\U000e0100城", "ქართული", "עברית", "Z͑ͫ̓ͪ̂ͫ̽̕a", "全角　空白"]

CONTROLS = "\t\x00\x1b\x7f\x9b\xad\ud800\udfff"
HIDDEN = "\u034f\u200b\u200c\u200d\u202e\u2066\u3164\ufe00\ufe0f\ufeff\U0001d173\U000e0041\U000e007f\U000e0100"

hostile = st.text(st.sampled_from([*BREAKS, *CONTROLS, *HIDDEN, *"a1#<>&\"'葛👩❤🏴م"]))


@given(st.text(st.sampled_from([*BREAKS, *"ab\x1b\u202e⏎"])))
def test_a_single_line_has_no_line_break(text: str) -> None:
    """Neither for Python nor JavaScript, a terminal or a model."""
    assert not set(BREAKS) & set(single_line(text))
    assert single_line(single_line(text)) == single_line(text)


@given(st.text(st.characters(exclude_characters=BREAKS)))
@example("\x1b[31m\x00\x7f\x9b\u202e\u200b\x1c\t")
def test_single_line_changes_nothing_else(text: str) -> None:
    assert single_line(text) == text


def test_crlf_is_one_line_break() -> None:
    assert single_line("a\r\nb\n\nc\n\rd") == "a⏎b⏎⏎c⏎⏎d"


@pytest.mark.parametrize(
    "tag",
    [
        "</system-reminder>",
        "<system-reminder>",
        "< / System-Reminder >",
        "</SYSTEM_REMINDER>",
        "<\u200b/system\u00adreminder",
    ],
)
def test_text_cannot_open_or_close_a_reminder(tag: str) -> None:
    """In any spelling; line breaks are kept."""
    assert escape_reminder_tags(f"a\n{tag}\nb") == f"a\n‹{tag[1:]}\nb"


@pytest.mark.parametrize(
    "text", ["a < b", "<system> reminder", "<b>system-reminder</b>", "system-reminder>", "a\r\nb\x1b"]
)
def test_escaping_reminder_tags_changes_nothing_else(text: str) -> None:
    assert escape_reminder_tags(text) == text


@given(hostile)
@example("👩\ufe0f\ufe0f\u200d💻")
@example("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f\u200d👩")
def test_printable_text_has_no_character_that_moves_hides_or_reorders_others(text: str) -> None:
    """Joiners and selectors are allowed only where they are visible; sanitizing is idempotent."""
    shown = printable(text)
    in_place = shown
    for kept in ("\u200c", "\u200d", "\ufe00", "\ufe0f", "\U000e0100", *map(chr, range(0xE0061, 0xE0080))):
        in_place = in_place.replace(kept, "")

    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(char) for char in in_place}
    assert not set("\u034f\u3164\xad") & set(shown)
    assert printable(shown) == shown


@pytest.mark.parametrize("text", [*EMOJI, *SPELLING, "plain ⏎ text", "tab-free  spaces\xa0"])
def test_ordinary_text_is_unchanged(text: str) -> None:
    """Including emoji, and scripts whose spelling needs joiners."""
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("a\tb\x00", "a␉b␀"),
        ("\x7f", "␡"),
        ("\x9b31m", "<U+009B>31m"),
        ("a\r\nb\u2028c\x85", "a⏎b⏎c⏎"),
        ("user\u202egpj.exe", "user<U+202E>gpj.exe"),
        ("pass\u200bword pass\u200dword", "pass<U+200B>word pass<U+200D>word"),
        ("\u2066\u2069\u061c", "<U+2066><U+2069><U+061C>"),
        ("\ufeffbom", "<U+FEFF>bom"),
        ("half \ud83d", "half <U+D83D>"),
        ("hi\U000e0068\U000e0069", "hi<U+E0068><U+E0069>"),
        ("a\ufe0f👍\ufe01\ufe02", "a<U+FE0F>👍\ufe01<U+FE02>"),
        ("👩\u200d\u200d💻", "👩<U+200D><U+200D>💻"),
    ],
)
def test_unprintable_characters_are_replaced_by_symbols(text: str, shown: str) -> None:
    """Hidden text becomes visible."""
    assert printable(text) == shown


def test_line_feeds_of_multi_line_text_are_kept() -> None:
    """Each line is sanitized; other line breaks do not start a line."""
    assert printable_lines("a\r\n\x1bb\n\nc\rd") == ["a", "␛b", "", "c⏎d"]
