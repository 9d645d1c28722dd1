"""Truncation of long text to its head or tail."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.run.kit.definition import MAX_BYTES, MAX_LINES, TruncationResult, keep_head, keep_tail

Part = Callable[..., TruncationResult]

pieces = st.sampled_from(["a", "\n", "À", "字", "😀", "\ud83d", "\r\n", "\r"])
texts = st.lists(pieces, max_size=12).map("".join)
limits = st.integers(min_value=0, max_value=12)
both_parts = pytest.mark.parametrize("part", [keep_head, keep_tail])


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def lines(text: str) -> list[str]:
    """Return each line with its line feed."""
    pieces = text.split("\n")
    return [f"{line}\n" for line in pieces[:-1]] + [line for line in pieces[-1:] if line]


@both_parts
@pytest.mark.parametrize(
    ("text", "counted"),
    [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\r\nb\r\n", 2), ("\n", 1), ("\n\n", 2), ("a\rb", 1)],
)
def test_a_text_that_fits_is_kept_and_counted(part: Part, text: str, counted: int) -> None:
    result = part(text)

    assert (result.content, result.truncated) == (text, False)
    assert (
        (result.total_lines, result.total_bytes) == (result.output_lines, result.output_bytes) == (counted, size(text))
    )


def test_keep_head_returns_the_first_lines() -> None:
    result = keep_head("one\ntwo\nthree\nfour", max_lines=2)

    assert result == TruncationResult(
        "one\ntwo\n", truncated=True, total_lines=4, total_bytes=18, output_lines=2, output_bytes=8
    )


def test_keep_tail_returns_the_last_lines() -> None:
    result = keep_tail("one\ntwo\nthree\nfour", max_lines=2)

    assert result == TruncationResult(
        "three\nfour", truncated=True, total_lines=4, total_bytes=18, output_lines=2, output_bytes=10
    )


def test_the_byte_limit_may_be_reached_first() -> None:
    """A line that fits only in part is omitted."""
    assert keep_head("ab\ncd\nef\n", max_bytes=8).content == "ab\ncd\n"
    assert keep_tail("ab\ncd\nef\n", max_bytes=8).content == "cd\nef\n"


def test_a_text_of_exactly_the_limit_is_kept() -> None:
    assert keep_head("ab\ncd\nef\n", max_bytes=6).content == "ab\ncd\n"
    assert keep_tail("ab\ncd\nef\n", max_bytes=6).content == "cd\nef\n"


def test_an_empty_line_is_a_line() -> None:
    assert keep_head("\n\na", max_lines=1).content == "\n"
    assert keep_tail("a\n\n", max_lines=1).content == "\n"
    assert keep_tail("\nabc", max_lines=1).content == "abc"


def test_a_single_long_line_is_cut_between_characters() -> None:
    """Four bytes are enough for one of these three-byte characters."""
    assert keep_head("字字字\nnext", max_bytes=4).content == "字"
    assert keep_tail("before\n字字字", max_bytes=4).content == "字"
    assert keep_head("字字", max_lines=1, max_bytes=4).content == keep_tail("字字", 1, 4).content == "字"


def test_a_crlf_is_never_split() -> None:
    assert keep_head("abcd\r\n", max_bytes=5).content == "abcd"
    assert keep_tail("abcd\r\n", max_bytes=1).content == ""


def test_nothing_is_kept_if_a_limit_is_zero() -> None:
    assert keep_head("abc", max_bytes=0).content == keep_tail("abc", max_bytes=0).content == ""
    assert keep_head("abc", max_lines=0).content == keep_tail("abc", max_lines=0).content == ""
    assert keep_head("abc", max_bytes=-1).content == keep_tail("abc", max_bytes=-1).content == ""


def test_the_default_limits_apply() -> None:
    many, wide = "x\n" * (MAX_LINES + 1), "x" * (MAX_BYTES + 1)

    assert (keep_head(many).output_lines, keep_tail(many).output_lines) == (MAX_LINES, MAX_LINES)
    assert (keep_head(wide).output_bytes, keep_tail(wide).output_bytes) == (MAX_BYTES, MAX_BYTES)


@both_parts
@given(text=texts, max_lines=limits, max_bytes=limits)
def test_the_result_is_within_the_limits_and_has_the_right_counts(
    part: Part, text: str, max_lines: int, max_bytes: int
) -> None:
    result = part(text, max_lines, max_bytes)

    assert result.output_lines <= max_lines
    assert result.output_bytes <= max_bytes
    assert (result.output_lines, result.output_bytes) == (len(lines(result.content)), size(result.content))
    assert (result.total_lines, result.total_bytes) == (len(lines(text)), size(text))
    assert result.truncated == (result.content != text)


@given(text=texts, max_lines=limits, max_bytes=limits)
def test_keep_head_returns_as_many_whole_lines_as_fit(text: str, max_lines: int, max_bytes: int) -> None:
    """Unless the first line is too long; then it is cut."""
    result = keep_head(text, max_lines, max_bytes).content
    whole = lines(text)

    assert text.startswith(result)
    if whole and max_lines and size(whole[0]) > max_bytes:
        assert max_bytes - size(result) < 4
    else:
        count = len(lines(result))
        assert lines(result) == whole[:count]
        assert count == max_lines or whole[count:] == [] or size(result + whole[count]) > max_bytes


@given(text=texts, max_lines=limits, max_bytes=limits)
def test_keep_tail_returns_as_many_whole_lines_as_fit(text: str, max_lines: int, max_bytes: int) -> None:
    """Unless the last line is too long; then it is cut."""
    result = keep_tail(text, max_lines, max_bytes).content
    whole = lines(text)

    assert text.endswith(result)
    if whole and max_lines and size(whole[-1]) > max_bytes:
        assert max_bytes - size(result) < 4
    else:
        left = len(whole) - len(lines(result))
        assert lines(result) == whole[left:]
        assert len(lines(result)) == max_lines or left == 0 or size(whole[left - 1] + result) > max_bytes
