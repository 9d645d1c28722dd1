"""Display width, clipping and wrapping of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.text.styles import ELLIPSIS, clip_text, display_width, wrap_text

some_text = st.text(st.sampled_from("ab  日本…é\u0301👩\u200d💻🏽\ufe0f"), max_size=40)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("日本語", 6),
        ("e\u0301", 1),
        ("zero\u200bwidth", 9),
        ("✓ done", 6),
        ("🚀", 2),
        ("❤\ufe0f", 2),
        ("👩\u200d💻", 4),
        ("ｆｕｌｌ", 8),
        ("", 0),
    ],
)
def test_width_is_counted_in_columns(text: str, columns: int) -> None:
    """Combining marks take none, East Asian characters and emoji two, joined emoji the sum of their parts."""
    assert display_width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("fits", 4, "fits"),
        ("does not fit", 8, "does no…"),
        ("cut here now", 5, "cut…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("👩\u200d💻x", 3, "👩…"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
        ("anything", -3, ""),
        ("", 0, ""),
    ],
)
def test_clipped_text_ends_with_an_ellipsis(text: str, columns: int, shown: str) -> None:
    """Without a space or joiner before it."""
    assert clip_text(text, columns) == shown


@given(some_text, st.integers(0, 20))
def test_clipped_text_fits(text: str, columns: int) -> None:
    assert display_width(clip_text(text, columns)) <= columns


@given(some_text, st.integers(1, 20))
def test_only_text_that_does_not_fit_is_clipped(text: str, columns: int) -> None:
    """The result is a prefix of it."""
    shown = clip_text(text, columns)

    assert (shown == text) == (display_width(text) <= columns)
    assert text.startswith(shown.removesuffix(ELLIPSIS))


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("the quick brown fox", 10, ["the quick", "brown fox"]),
        ("exactly ten", 11, ["exactly ten"]),
        ("exactly", 7, ["exactly"]),
        ("two words", 3, ["two", "wor", "ds"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("  indented text", 10, ["  indented", "text"]),
        ("    x", 3, ["   ", " x"]),
        ("日本語", 3, ["日", "本", "語"]),
        ("日本", 1, ["日", "本"]),
        ("ends with ", 9, ["ends with"]),
        ("", 5, [""]),
    ],
)
def test_text_is_wrapped_at_spaces(text: str, columns: int, lines: list[str]) -> None:
    """A word that is longer than a line is broken anywhere."""
    assert wrap_text(text, columns) == lines


@given(some_text, st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    lines = wrap_text(text, columns)

    assert all(display_width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
