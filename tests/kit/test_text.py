"""Text of tools: its width, Markdown, styles, truncation, amounts and keys."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base.keys import NO_KEYS, clash, is_key, key_of
from tildone.plan.text.amounts import copied_words, format_count, format_duration, format_size
from tildone.plan.text.styles import ELLIPSIS, LINE_BREAK, Role, Span, ansi, clip_text, display_width, plain, wrap_text
from tildone.plan.text.styles import markup as markup_theme
from tildone.run.kit.components import Markdown
from tildone.run.kit.definition import MAX_BYTES, MAX_LINES, TruncationResult, draw, keep_head, keep_tail, markup
from tildone.run.kit.drawing import MAX_TABLE_ROWS, MarkdownReader, markdown_rows


def shown(text: str, columns: int = 60) -> list[str]:
    return [plain(line).rstrip() for line in draw(Markdown(text, Role.TEXT), columns)]


some_text = st.text(st.sampled_from("ab  日本…é\u0301👩\u200d💻🏽\ufe0f"), max_size=40)


WIDTHS = {
    "plain": 5,
    "日本語": 6,
    "e\u0301": 1,
    "zero\u200bwidth": 9,
    "✓ done": 6,
    "🚀": 2,
    "❤\ufe0f": 2,
    "ｆｕｌｌ": 8,
}
WIDTHS |= {"👩\u200d💻": 4, "": 0}


def test_width_is_counted_in_columns() -> None:
    """Combining marks take none, East Asian characters and emoji two, joined emoji the sum of their parts."""
    assert {text: display_width(text) for text in WIDTHS} == WIDTHS


CLIPPED = {
    ("fits", 4): "fits",
    ("does not fit", 8): "does no…",
    ("cut here now", 5): "cut…",
    ("日本語", 5): "日本…",
    ("日本語", 4): "日…",
    ("👩\u200d💻x", 3): "👩…",
    ("anything", 1): "…",
    ("anything", 0): "",
    ("anything", -3): "",
    ("", 0): "",
}


def test_clipped_text_ends_with_an_ellipsis() -> None:
    """Without a space or joiner before it."""
    assert {case: clip_text(*case) for case in CLIPPED} == CLIPPED


@given(some_text, st.integers(0, 20))
def test_only_text_that_does_not_fit_is_clipped(text: str, columns: int) -> None:
    """The result fits, and is a prefix of it."""
    shown = clip_text(text, columns)

    assert display_width(shown) <= columns
    assert (shown == text) == (display_width(text) <= columns)
    assert text.startswith(shown.removesuffix(ELLIPSIS))


WRAPPED = {
    ("the quick brown fox", 10): ["the quick", "brown fox"],
    ("exactly ten", 11): ["exactly ten"],
    ("exactly", 7): ["exactly"],
    ("two words", 3): ["two", "wor", "ds"],
    ("unbreakable", 4): ["unbr", "eaka", "ble"],
    ("  indented text", 10): ["  indented", "text"],
    ("    x", 3): ["   ", " x"],
    ("日本語", 3): ["日", "本", "語"],
    ("日本", 1): ["日", "本"],
    ("ends with ", 9): ["ends with"],
    ("", 5): [""],
}


def test_text_is_wrapped_at_spaces() -> None:
    """A word that is longer than a line is broken anywhere."""
    assert {case: wrap_text(*case) for case in WRAPPED} == WRAPPED


@given(some_text, st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    lines = wrap_text(text, columns)

    assert all(display_width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def marked(text: str) -> str:
    return markup(Markdown(text, Role.TEXT))


KINDS = {
    "# Title": "<accent><bold>Title</bold></accent>",
    "### Part `x`": "<accent><bold>Part <accent>x</accent></bold></accent>",
    "- one": "<accent>• </accent><text>one</text>",
    "  * [x] done": "<accent>☑ </accent><text>done</text>",
    "+ [ ] open": "<accent>☐ </accent><text>open</text>",
    "12. twelfth": "<accent>12. </accent><text>twelfth</text>",
    "3) third": "<accent>3) </accent><text>third</text>",
    "> said": "<dim>│ </dim><text><italic>said</italic></text>",
    "* * *": "<dim>────────</dim>",
    **{text: f"<text>{text}</text>" for text in ("--", "-x-", "#hashtag", "| a | b |")},
}


def test_each_kind_of_line_has_its_rendering() -> None:
    assert {text: marked(text) for text in KINDS} == KINDS


STYLES = {
    "a **b** c": "a <bold>b</bold> c",
    "a __b__ c": "a <bold>b</bold> c",
    "这是**重点**内容": "这是<bold>重点</bold>内容",
    "an *old* one": "an <italic>old</italic> one",
    "an _old_ one": "an <italic>old</italic> one",
    "**a _b_**": "<bold>a <italic>b</italic></bold>",
    "~~gone~~": "<strikethrough>gone</strikethrough>",
    "run `a*b*c` now": "run <accent>a*b*c</accent> now",
    "``a`b``": "<accent>a`b</accent>",
    "[docs](docs/a.md)!": "docs<muted> (docs/a.md)</muted>!",
    r"\*as it is\*": "*as it is*",
    "~~**_*a*_**~~": "<strikethrough><bold><italic>*a*</italic></bold></strikethrough>",
}
LITERAL = ["snake_case_name", "2 * 3 * 4", "src/*.py and tests/*.py", "a ** b", "`open", "[not](a link)", "**", "[x]"]
LITERAL += ["*open"]


def test_inline_delimiters_are_styles() -> None:
    """Unpaired ones are literal."""
    expected = STYLES | {text: text for text in LITERAL}

    assert {text: marked(text) for text in expected} == {
        text: f"<text>{shown}</text>" for text, shown in expected.items()
    }


LINES = {
    "before\n```python\n# **not** bold\n\tif x:\n~~~\n```\nafter": [
        "before",
        "  # **not** bold",
        "     if x:",
        "  ~~~",
        "after",
    ],
    "````\n```\n``` info\n````\nafter": ["  ```", "  ``` info", "after"],
    "```\n- a": ["  - a"],
    "```\na | b\n-|-\n```": ["  a | b", "  -|-"],
    "a\r\nb\n\nc": ["a", "b", "", "c"],
    "- one\n    * two\n        + three": ["• one", "  ◦ two", "    ▪ three"],
    "1. four\n  - five\n\n   more of five\n- six": ["1. four", "   ◦ five", "", "     more of five", "• six"],
    "- one\n\t- two": ["• one", "  ◦ two"],
    "- one\n# Title\n  - two\ntext\n  more": ["• one", "Title", "• two", "text", "  more"],
    "1. one\n      ```\n      x = 1\n     y\n        z\n      ```\n   after": [
        "1. one",
        "     x = 1",
        "     y",
        "       z",
        "   after",
    ],
    "    ```\n- a": ["    ```", "• a"],
    "a | b\n-|-\n1 | 2\nafter\n- c": ["a │ b", "──┼──", "1 │ 2", "after", "• c"],
    "a | b\n-|-\n\x1b[2J | \u202ex": ["a    │ b", "─────┼───", "\ufffd[2J │ \ufffdx"],
}


def test_the_lines_of_code_lists_and_tables() -> None:
    """Code is unchanged; a fence closes with as many marks, or at the end. Items are below those they belong to."""
    assert {text: shown(text) for text in LINES} == LINES


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("- one two three\n> four five six", 10, ["• one two", "  three", "│ four", "│ five six"]),
        ("- one\n  - two three four", 12, ["• one", "  ◦ two", "    three", "    four"]),
        (
            "| key | value |\n|---|---|\n| a | one two three four |\n| b | five |",
            16,
            ["key │ value", "────┼───────────", "a   │ one two", "    │ three four", "b   │ five"],
        ),
        (
            "| key | value |\n|---|---|\n| alpha | one two |\n| beta | five |",
            11,
            ["key: alpha", "value: one", "two", "", "key: beta", "value: five"],
        ),
    ],
    ids=["an item", "a nested one", "a table", "a table with no room for its columns"],
)
def test_what_is_too_wide_is_wrapped(text: str, columns: int, expected: list[str]) -> None:
    """Items have a hanging indent, the widest columns of a table are wrapped first."""
    assert shown(text, columns) == expected


def test_the_search_for_a_closing_delimiter_is_limited() -> None:
    """A long line of unpaired delimiters stays cheap."""
    for mark in ("*", "**", "`", "``", "_", "__", "~~"):
        near, far = (f"{mark}{'a' * length}{mark}" for length in (500, 501))

        assert marked(near) != f"<text>{near}</text>"
        assert marked(far) == f"<text>{far}</text>"


TABLE = "| Flag | Was | Now |\n|:--|:-:|--:|\n| `--out` | parsed *twice* | 1 |\n| a\\|b |  |\n|1|2|3|4|"


def test_a_table_is_aligned_with_a_bold_header() -> None:
    """Cells keep their markup."""
    assert shown(TABLE) == [
        "Flag  │     Was      │ Now",
        "──────┼──────────────┼────",
        "--out │ parsed twice │   1",
        "a|b   │              │",
        "1     │      2       │   3",
    ]
    assert marked("a | `b`\n--|--\n*c* | d") == (
        "<text><bold>a</bold></text><dim> │ </dim><text><bold><accent>b</accent></bold></text>\n"
        "<dim>──┼──</dim>\n"
        "<text><italic>c</italic></text><dim> │ </dim><text>d</text>"
    )


NO_TABLES = ["| a | b |", "| a | b |\n| - |", "| a | b |\n| c | d |", "| a | b |\n", "x | y\nz"]
NO_TABLES += ["- a | b\n-|-", "# a | b\n-|-"]


def test_pipes_without_a_line_of_dashes_below_the_header_are_text() -> None:
    drawn = ["".join(shown(text)) for text in NO_TABLES]

    assert [text for text in drawn if "│" in text or "|" not in text] == []


def test_a_long_table_continues_below_a_header_of_its_own() -> None:
    body = "\n".join(f"{number} | x" for number in range(MAX_TABLE_ROWS + 1))
    lines = shown(f"n | t\n-|-\n{body}")

    assert [at for at, line in enumerate(lines) if line.startswith("n")] == [0, MAX_TABLE_ROWS + 2]
    assert lines[-1].startswith(str(MAX_TABLE_ROWS))


PIECES = "# T\n- a\n  - b\n\nx | y\n-|-\n1 | 2\n\n```py\ncode | here\n```\np | q\nend"


def test_reading_line_by_line_gives_the_rows_of_the_whole_text() -> None:
    """Whatever has arrived: the complete rows and the rest are the rows of the text so far."""
    for end in range(1, len(PIECES) + 1):
        *complete, unfinished = PIECES[:end].split("\n")
        reader = MarkdownReader(Role.TEXT)
        rows = [row for line in complete for row in reader.read(line)]

        for _ in range(2):  # asking for the rest changes nothing
            assert [*rows, *reader.rest(unfinished)] == list(markdown_rows(PIECES[:end].removesuffix("\n"), Role.TEXT))


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


def test_the_first_or_the_last_lines_are_kept() -> None:
    text = "one\ntwo\nthree\nfour"
    counted: dict[str, Any] = {"truncated": True, "total_lines": 4, "total_bytes": 18, "output_lines": 2}
    many, wide = "x\n" * (MAX_LINES + 1), "x" * (MAX_BYTES + 1)

    assert keep_head(text, max_lines=2) == TruncationResult("one\ntwo\n", **counted, output_bytes=8)
    assert keep_tail(text, max_lines=2) == TruncationResult("three\nfour", **counted, output_bytes=10)
    assert (keep_head(many).output_lines, keep_tail(many).output_lines) == (MAX_LINES, MAX_LINES)
    assert (keep_head(wide).output_bytes, keep_tail(wide).output_bytes) == (MAX_BYTES, MAX_BYTES)


CUT: list[tuple[str, dict[str, int], str, str]] = [
    ("ab\ncd\nef\n", {"max_bytes": 8}, "ab\ncd\n", "cd\nef\n"),
    ("ab\ncd\nef\n", {"max_bytes": 6}, "ab\ncd\n", "cd\nef\n"),
    ("\n\na", {"max_lines": 1}, "\n", "a"),
    ("a\n\n", {"max_lines": 1}, "a\n", "\n"),
    ("\nabc", {"max_lines": 1}, "\n", "abc"),
    ("字字字\nnext", {"max_bytes": 4}, "字", "next"),
    ("before\n字字字", {"max_bytes": 4}, "befo", "字"),
    ("字字", {"max_lines": 1, "max_bytes": 4}, "字", "字"),
    ("abcd\r\n", {"max_bytes": 5}, "abcd", "bcd\r\n"),
    ("abcd\r\n", {"max_bytes": 1}, "a", ""),
    *(("abc", {limit: number}, "", "") for limit, number in (("max_bytes", 0), ("max_lines", 0), ("max_bytes", -1))),
]


def test_lines_that_fit_only_in_part_are_omitted_and_a_single_one_is_cut_between_characters() -> None:
    """A text of exactly the limit is kept, an empty line is a line, and a CRLF is never split."""
    kept = [(text, at, keep_head(text, **at).content, keep_tail(text, **at).content) for text, at, _, _ in CUT]

    assert kept == CUT


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


@both_parts
@given(text=texts, max_lines=limits, max_bytes=limits)
def test_as_many_whole_lines_as_fit_are_kept(part: Part, text: str, max_lines: int, max_bytes: int) -> None:
    """Unless the first or last line is too long; then it is cut."""
    result = part(text, max_lines, max_bytes).content
    kept, step = lines(result), 1 if part is keep_head else -1
    nearest_first = lines(text)[::step]

    assert text.startswith(result) if part is keep_head else text.endswith(result)
    if nearest_first and max_lines and size(nearest_first[0]) > max_bytes:
        assert max_bytes - size(result) < 4
    else:
        left = nearest_first[len(kept) :]
        assert kept[::step] == nearest_first[: len(kept)]
        assert len(kept) == max_lines or not left or size(result) + size(left[0]) > max_bytes


STYLED = (
    Span("● ", Role.WARNING),
    Span((Span("☑ "), Span("old", strike=True)), Role.SUCCESS),
    LINE_BREAK,
    Span("title", Role.TOOL_TITLE, bold=True),
    Span(" end"),
)


def show_breaks(text: str) -> str:
    return text.replace("\n", "⏎").replace("\x1b", "␛")


def test_each_piece_of_ansi_text_resets_its_style_and_plain_text_has_none() -> None:
    """Nested spans inherit the style of the enclosing one. An empty line gets no escape sequence."""
    assert plain(STYLED) == "● ☑ old\ntitle end"
    assert ansi(STYLED, color=False, safe=show_breaks) == "● ☑ old\ntitle end"
    assert ansi(STYLED, color=True, safe=show_breaks) == (
        "\x1b[33m● \x1b[0m\x1b[32m☑ \x1b[0m\x1b[32;9mold\x1b[0m\n\x1b[1mtitle\x1b[0m end"
    )
    assert ansi([Span("a\n\nb", Role.DIM, lines=True)], color=True, safe=str) == ("\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m")


def test_markup_puts_the_colour_outermost_and_strikethrough_innermost() -> None:
    """The text is not escaped. Bold and italic are closed at line ends; each span has a tag."""
    every_trait = Span("a<b>", Role.DIM, bold=True, italic=True, strike=True)

    assert markup_theme([every_trait]) == (
        "<dim><bold><italic><strikethrough>a<b></strikethrough></italic></bold></dim>"
    )

    assert markup_theme(STYLED[1:2]) == "<success>☑ <strikethrough>old</strikethrough></success>"
    assert markup_theme([Span("a", Role.DIM), Span("b", Role.DIM)]) == "<dim>a</dim><dim>b</dim>"

    text = Span("a\nb", Role.ACCENT, bold=True, strike=True)

    assert markup_theme([text]) == "<accent><bold><strikethrough>a</bold>\n<bold>b</strikethrough></bold></accent>"
    assert markup_theme([Span("a\nb", italic=True)]) == "<italic>a</italic>\n<italic>b</italic>"


def test_all_ansi_text_is_sanitized() -> None:
    """A line break is kept only in spans with `lines`."""
    hostile = "x\x1b[2J\ny"
    for color in (True, False):
        shown = ansi([Span((Span(hostile, Role.ERROR),), bold=True)], color=color, safe=show_breaks)
        first, second = ansi([Span(hostile, italic=True, lines=True)], color=color, safe=show_breaks).split("\n")

        assert ("x␛[2J⏎y" in shown, "\n" in shown) == (True, False)
        assert ("x␛[2J" in first, "y" in second) == (True, True)


def test_every_role_can_be_drawn() -> None:
    """Roles without a colour have no escape sequences.

    Quiet text is faint: bright black is the background of some terminals, where text in it cannot be read.
    """
    drawn = {role: ansi([Span("x", role)], color=True, safe=str) for role in Role}

    assert [text for text in drawn.values() if text != "x" and not re.fullmatch(r"\x1b\[.*mx\x1b\[0m", text)] == []
    assert drawn[Role.MUTED] == drawn[Role.DIM] == "\x1b[2mx\x1b[0m"


def test_spans_are_values() -> None:
    """Equal by content, hashable and immutable."""
    assert Span("a", Role.DIM) == Span("a", Role.DIM)
    assert Span("a", Role.DIM) != Span("a", Role.TEXT)
    assert Span("a") != "a"  # type: ignore[comparison-overlap]  # what the test is about
    assert len({Span("a"), Span("a"), Span("a", bold=True)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        Span("a").text = "b"  # type: ignore[misc]  # what the test is about


SIZES = {0: "0 B", 1023: "1023 B", 1024: "1.0 KB", 1536: "1.5 KB", 1_048_530: "1.0 MB", 1024**2 - 1: "1.0 MB"}
SIZES |= {2_411_725: "2.3 MB", 5 * 1024**3: "5.0 GB", 1024**4: "1.0 TB", 3000 * 1024**5: "3000.0 PB"}
COUNTS: dict[tuple[Any, ...], str] = {
    (1234567,): "1,234,567",
    (0, "file"): "0 files",
    (1, "file"): "1 file",
    (1200, "file"): "1,200 files",
}
COUNTS |= {(1, "entry", "entries"): "1 entry", (2, "entry", "entries"): "2 entries"}
DURATIONS = {0: "0ms", 999: "999ms", 1000: "1.0s", 3240: "3.2s", 59_949: "59.9s", 59_960: "1m 0s", 75_000: "1m 15s"}
DURATIONS |= {3_599_700: "1h 0m", 7_500_000: "2h 5m", 100_800_000: "1d 4h"}


def test_amounts_have_their_largest_fitting_units() -> None:
    """A size that would be rounded to 1024 is 1 of the next unit, and no part of a duration is 60 of its unit.

    A count agrees with its noun.
    """
    assert {size: format_size(size) for size in SIZES} == SIZES
    assert {count: format_count(*count) for count in COUNTS} == COUNTS


def test_what_was_copied_is_counted_in_lines_unless_it_is_not_certain() -> None:
    assert [copied_words(text, certain=True) for text in ("a", "a\nb")] == ["Copied 1 line", "Copied 2 lines"]
    assert copied_words("a", certain=False) == "Copied, if the terminal allows it"
    assert {milliseconds: format_duration(milliseconds) for milliseconds in DURATIONS} == DURATIONS


def test_a_key_can_be_rebound() -> None:
    """The screen may have no key for an action, or not know it."""
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"

    assert key_of("app.tools.expand", {"app.interrupt": "escape"}) == ""
    assert key_of("app.tools.expand", NO_KEYS) == ""
    assert key_of("app.of.tomorrow") == ""


def test_a_key_has_the_name_of_a_character_or_of_a_key() -> None:
    names = ["f6", "ctrl+t", "shift+down", "ctrl+shift+k", "K", "?", "question_mark", "pagedown"]
    others = ["", " ", "F6", "f25", "control+t", "ctrl+", "enterr", "\n", "j k"]

    assert [name for name in (*names, *others) if is_key(name)] == names


def test_two_actions_of_one_pane_cannot_have_the_same_key() -> None:
    assert clash({}) is None
    assert clash({"task.toggle": "x"}) == ("task.drop", "task.toggle", "x")
    assert clash({"task.toggle": "f6, /"}) == ("plan.filter", "task.toggle", "/")
    assert clash({"task.toggle": "x", "task.drop": "space"}) is None
    assert clash({"watch.open": "space"}) is None
