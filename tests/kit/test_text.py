"""Text of tools: its width, Markdown, styles, truncation, amounts and keys."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base.keys import NO_KEYS, clash, is_key, key_of
from tildone.plan.text.amounts import format_count, format_duration, format_size
from tildone.plan.text.styles import ELLIPSIS, LINE_BREAK, Role, Span, ansi, clip_text, display_width, plain, wrap_text
from tildone.plan.text.styles import markup as markup_theme
from tildone.run.kit.components import Markdown
from tildone.run.kit.definition import MAX_BYTES, MAX_LINES, TruncationResult, draw, keep_head, keep_tail, markup
from tildone.run.kit.drawing import MAX_TABLE_ROWS, MarkdownReader, markdown_rows

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


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("# Title", "<accent><bold>Title</bold></accent>"),
        ("### Part `x`", "<accent><bold>Part <accent>x</accent></bold></accent>"),
        ("- one", "<accent>• </accent><text>one</text>"),
        ("  * [x] done", "<accent>☑ </accent><text>done</text>"),
        ("+ [ ] open", "<accent>☐ </accent><text>open</text>"),
        ("12. twelfth", "<accent>12. </accent><text>twelfth</text>"),
        ("3) third", "<accent>3) </accent><text>third</text>"),
        ("> said", "<dim>│ </dim><text><italic>said</italic></text>"),
        ("* * *", "<dim>────────</dim>"),
        ("--", "<text>--</text>"),
        ("-x-", "<text>-x-</text>"),
        ("#hashtag", "<text>#hashtag</text>"),
        ("| a | b |", "<text>| a | b |</text>"),
    ],
)
def test_each_kind_of_line_has_its_rendering(text: str, tagged: str) -> None:
    assert markup(Markdown(text, Role.TEXT)) == tagged


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("a **b** c", "a <bold>b</bold> c"),
        ("a __b__ c", "a <bold>b</bold> c"),
        ("这是**重点**内容", "这是<bold>重点</bold>内容"),
        ("an *old* one", "an <italic>old</italic> one"),
        ("an _old_ one", "an <italic>old</italic> one"),
        ("**a _b_**", "<bold>a <italic>b</italic></bold>"),
        ("~~gone~~", "<strikethrough>gone</strikethrough>"),
        ("run `a*b*c` now", "run <accent>a*b*c</accent> now"),
        ("``a`b``", "<accent>a`b</accent>"),
        ("[docs](docs/a.md)!", "docs<muted> (docs/a.md)</muted>!"),
        (r"\*as it is\*", "*as it is*"),
    ],
)
def test_inline_delimiters_are_styles(text: str, tagged: str) -> None:
    assert markup(Markdown(text, Role.TEXT)) == f"<text>{tagged}</text>"


@pytest.mark.parametrize(
    "text",
    [
        "snake_case_name",
        "2 * 3 * 4",
        "src/*.py and tests/*.py",
        "a ** b",
        "`open",
        "[not](a link)",
        "**",
        "[x]",
        "*open",
    ],
)
def test_unpaired_delimiters_are_literal(text: str) -> None:
    assert markup(Markdown(text, Role.TEXT)) == f"<text>{text}</text>"


def test_deeply_nested_delimiters_are_literal() -> None:
    assert markup(Markdown("~~**_*a*_**~~", Role.TEXT)) == (
        "<text><strikethrough><bold><italic>*a*</italic></bold></strikethrough></text>"
    )


def test_code_is_unchanged_and_indented() -> None:
    text = "before\n```python\n# **not** bold\n\tif x:\n~~~\n```\nafter"

    assert [plain(line) for line in draw(Markdown(text), 40)] == [
        "before",
        "  # **not** bold",
        "     if x:",
        "  ~~~",
        "after",
    ]


def test_a_fence_closes_with_at_least_as_many_marks() -> None:
    text = "````\n```\n``` info\n````\nafter"

    assert [plain(line) for line in draw(Markdown(text), 40)] == ["  ```", "  ``` info", "after"]


def test_an_unclosed_fence_extends_to_the_end() -> None:
    assert [plain(line) for line in draw(Markdown("```\n- a"), 40)] == ["  - a"]


def test_wrapped_items_have_a_hanging_indent() -> None:
    text = "- one two three\n> four five six"

    assert [plain(line) for line in draw(Markdown(text), 10)] == ["• one two", "  three", "│ four", "│ five six"]


def test_every_source_line_is_a_line() -> None:
    assert [plain(line) for line in draw(Markdown("a\r\nb\n\nc"), 40)] == ["a", "b", "", "c"]


@pytest.mark.parametrize("mark", ["*", "**", "`", "``", "_", "__", "~~"])
def test_the_search_for_a_closing_delimiter_is_limited(mark: str) -> None:
    """A long line of unpaired delimiters stays cheap."""
    near, far = f"{mark}{'a' * 500}{mark}", f"{mark}{'a' * 501}{mark}"

    assert markup(Markdown(near, Role.TEXT)) != f"<text>{near}</text>"
    assert markup(Markdown(far, Role.TEXT)) == f"<text>{far}</text>"


def shown(text: str, columns: int = 60) -> list[str]:
    return [plain(line).rstrip() for line in draw(Markdown(text, Role.TEXT), columns)]


def test_items_of_nested_lists_are_below_the_text_of_the_item_that_they_belong_to() -> None:
    text = "- one\n    * two\n        + three\n1. four\n  - five\n\n   more of five\n- six"

    assert shown(text) == ["• one", "  ◦ two", "    ▪ three", "1. four", "   ◦ five", "", "     more of five", "• six"]


def test_a_tab_indents_an_item() -> None:
    assert shown("- one\n\t- two") == ["• one", "  ◦ two"]


def test_wrapped_text_of_an_item_has_its_hanging_indent() -> None:
    assert shown("- one\n  - two three four", 12) == ["• one", "  ◦ two", "    three", "    four"]


def test_a_heading_and_text_at_the_margin_end_a_list() -> None:
    assert shown("- one\n# Title\n  - two\ntext\n  more") == ["• one", "Title", "• two", "text", "  more"]


def test_code_within_an_item_is_indented_with_it() -> None:
    text = "1. one\n      ```\n      x = 1\n     y\n        z\n      ```\n   after"

    assert shown(text) == ["1. one", "     x = 1", "     y", "       z", "   after"]


def test_a_fence_that_is_indented_too_far_is_text_outside_a_list() -> None:
    assert shown("    ```\n- a") == ["    ```", "• a"]


TABLE = "| Flag | Was | Now |\n|:--|:-:|--:|\n| `--out` | parsed *twice* | 1 |\n| a\\|b |  |\n|1|2|3|4|"


def test_a_table_is_aligned() -> None:
    assert shown(TABLE) == [
        "Flag  │     Was      │ Now",
        "──────┼──────────────┼────",
        "--out │ parsed twice │   1",
        "a|b   │              │",
        "1     │      2       │   3",
    ]


def test_the_header_of_a_table_is_bold_and_its_cells_keep_their_markup() -> None:
    assert markup(Markdown("a | `b`\n--|--\n*c* | d", Role.TEXT)) == (
        "<text><bold>a</bold></text><dim> │ </dim><text><bold><accent>b</accent></bold></text>\n"
        "<dim>──┼──</dim>\n"
        "<text><italic>c</italic></text><dim> │ </dim><text>d</text>"
    )


def test_the_widest_columns_of_a_table_are_wrapped_if_it_is_too_wide() -> None:
    text = "| key | value |\n|---|---|\n| a | one two three four |\n| b | five |"

    assert shown(text, 16) == [
        "key │ value",
        "────┼───────────",
        "a   │ one two",
        "    │ three four",
        "b   │ five",
    ]


def test_a_table_with_no_room_for_its_columns_is_a_list() -> None:
    text = "| key | value |\n|---|---|\n| alpha | one two |\n| beta | five |"

    assert shown(text, 11) == ["key: alpha", "value: one", "two", "", "key: beta", "value: five"]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |",
        "| a | b |\n| - |",
        "| a | b |\n| c | d |",
        "| a | b |\n",
        "x | y\nz",
        "- a | b\n-|-",
        "# a | b\n-|-",
    ],
)
def test_pipes_without_a_line_of_dashes_below_the_header_are_text(text: str) -> None:
    assert "│" not in "".join(shown(text))
    assert "|" in "".join(shown(text))


def test_text_ends_a_table() -> None:
    assert shown("a | b\n-|-\n1 | 2\nafter\n- c") == ["a │ b", "──┼──", "1 │ 2", "after", "• c"]


def test_a_table_within_code_is_code() -> None:
    assert shown("```\na | b\n-|-\n```") == ["  a | b", "  -|-"]


def test_a_long_table_continues_below_a_header_of_its_own() -> None:
    body = "\n".join(f"{number} | x" for number in range(MAX_TABLE_ROWS + 1))
    lines = shown(f"n | t\n-|-\n{body}")

    assert [at for at, line in enumerate(lines) if line.startswith("n")] == [0, MAX_TABLE_ROWS + 2]
    assert lines[-1].startswith(str(MAX_TABLE_ROWS))


def test_hostile_text_in_a_table_is_sanitized() -> None:
    assert shown("a | b\n-|-\n\x1b[2J | \u202ex") == ["a    │ b", "─────┼───", "\ufffd[2J │ \ufffdx"]


PIECES = "# T\n- a\n  - b\n\nx | y\n-|-\n1 | 2\n\n```py\ncode | here\n```\np | q\nend"


@pytest.mark.parametrize("end", range(1, len(PIECES) + 1))
def test_reading_line_by_line_gives_the_rows_of_the_whole_text(end: int) -> None:
    """Whatever has arrived: the complete rows and the rest are the rows of the text so far."""
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


STYLED = (
    Span("● ", Role.WARNING),
    Span((Span("☑ "), Span("old", strike=True)), Role.SUCCESS),
    LINE_BREAK,
    Span("title", Role.TOOL_TITLE, bold=True),
    Span(" end"),
)


def show_breaks(text: str) -> str:
    return text.replace("\n", "⏎").replace("\x1b", "␛")


def test_plain_text_has_no_style() -> None:
    assert plain(STYLED) == "● ☑ old\ntitle end"


def test_markup_puts_the_colour_outermost_and_strikethrough_innermost() -> None:
    """The text itself is not escaped."""
    every_trait = Span("a<b>", Role.DIM, bold=True, italic=True, strike=True)

    assert markup_theme([every_trait]) == (
        "<dim><bold><italic><strikethrough>a<b></strikethrough></italic></bold></dim>"
    )


def test_markup_has_one_colour_tag_around_nested_spans() -> None:
    """Adjacent spans of one colour have a tag each."""
    assert markup_theme(STYLED[1:2]) == "<success>☑ <strikethrough>old</strikethrough></success>"
    assert markup_theme([Span("a", Role.DIM), Span("b", Role.DIM)]) == "<dim>a</dim><dim>b</dim>"


def test_markup_closes_bold_and_italic_at_line_ends() -> None:
    """Strikethrough and colour span lines."""
    text = Span("a\nb", Role.ACCENT, bold=True, strike=True)

    assert markup_theme([text]) == "<accent><bold><strikethrough>a</bold>\n<bold>b</strikethrough></bold></accent>"
    assert markup_theme([Span("a\nb", italic=True)]) == "<italic>a</italic>\n<italic>b</italic>"


def test_each_piece_of_ansi_text_resets_its_style() -> None:
    """Nested spans inherit the style of the enclosing one."""
    assert ansi(STYLED, color=True, safe=show_breaks) == (
        "\x1b[33m● \x1b[0m\x1b[32m☑ \x1b[0m\x1b[32;9mold\x1b[0m\n\x1b[1mtitle\x1b[0m end"
    )


def test_there_are_no_escape_sequences_without_colour() -> None:
    """The text is the same."""
    assert ansi(STYLED, color=False, safe=show_breaks) == "● ☑ old\ntitle end"


@pytest.mark.parametrize("color", [True, False])
def test_all_ansi_text_is_sanitized(*, color: bool) -> None:
    """A line break is kept only in spans with `lines`."""
    hostile = "x\x1b[2J\ny"

    shown = ansi([Span((Span(hostile, Role.ERROR),), bold=True)], color=color, safe=show_breaks)
    lines = ansi([Span(hostile, italic=True, lines=True)], color=color, safe=show_breaks)

    assert "x␛[2J⏎y" in shown
    assert "\n" not in shown
    assert "x␛[2J" in lines.split("\n")[0]
    assert len(lines.split("\n")) == 2


def test_an_empty_line_gets_no_escape_sequence() -> None:
    assert ansi([Span("a\n\nb", Role.DIM, lines=True)], color=True, safe=str) == ("\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m")


@pytest.mark.parametrize("role", Role)
def test_every_role_can_be_drawn(role: Role) -> None:
    """Roles without a colour have no escape sequences."""
    drawn = ansi([Span("x", role)], color=True, safe=str)

    assert drawn == "x" or (drawn.startswith("\x1b[") and drawn.endswith("mx\x1b[0m"))


def test_spans_are_values() -> None:
    """Equal by content, hashable and immutable."""
    assert Span("a", Role.DIM) == Span("a", Role.DIM)
    assert Span("a", Role.DIM) != Span("a", Role.TEXT)
    assert Span("a") != "a"  # type: ignore[comparison-overlap]  # what the test is about
    assert len({Span("a"), Span("a"), Span("a", bold=True)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        Span("a").text = "b"  # type: ignore[misc]  # what the test is about


@pytest.mark.parametrize("role", [Role.MUTED, Role.DIM])
def test_quiet_text_is_faint_and_never_bright_black(role: Role) -> None:
    """Bright black is the background of some terminals, where text in it cannot be read."""
    assert ansi([Span("x", role)], color=True, safe=str) == "\x1b[2mx\x1b[0m"


@pytest.mark.parametrize(
    ("size", "read"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (1_048_530, "1.0 MB"),
        (1024**2 - 1, "1.0 MB"),
        (2_411_725, "2.3 MB"),
        (5 * 1024**3, "5.0 GB"),
        (1024**4, "1.0 TB"),
        (3000 * 1024**5, "3000.0 PB"),
    ],
)
def test_a_size_is_in_the_largest_fitting_unit(size: int, read: str) -> None:
    """A value that would be rounded to 1024 is 1 of the next unit."""
    assert format_size(size) == read


@pytest.mark.parametrize(
    ("count", "noun", "plural", "read"),
    [
        (1234567, "", "", "1,234,567"),
        (0, "file", "", "0 files"),
        (1, "file", "", "1 file"),
        (1200, "file", "", "1,200 files"),
        (1, "entry", "entries", "1 entry"),
        (2, "entry", "entries", "2 entries"),
    ],
)
def test_a_count_agrees_with_its_noun(count: int, noun: str, plural: str, read: str) -> None:
    assert format_count(count, noun, plural) == read


@pytest.mark.parametrize(
    ("milliseconds", "read"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1.0s"),
        (3240, "3.2s"),
        (59_949, "59.9s"),
        (59_960, "1m 0s"),
        (75_000, "1m 15s"),
        (3_599_700, "1h 0m"),
        (7_500_000, "2h 5m"),
        (100_800_000, "1d 4h"),
    ],
)
def test_a_duration_has_its_two_largest_units(milliseconds: int, read: str) -> None:
    """No part is 60 of its unit."""
    assert format_duration(milliseconds) == read


def test_a_key_can_be_rebound() -> None:
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"


def test_an_action_may_have_no_key() -> None:
    """Because the screen has none for it, or it is unknown."""
    assert key_of("app.tools.expand", {"app.interrupt": "escape"}) == ""
    assert key_of("app.tools.expand", NO_KEYS) == ""
    assert key_of("app.of.tomorrow") == ""


@pytest.mark.parametrize("name", ["f6", "ctrl+t", "shift+down", "ctrl+shift+k", "K", "?", "question_mark", "pagedown"])
def test_a_key_has_the_name_of_a_character_or_of_a_key(name: str) -> None:
    assert is_key(name)


@pytest.mark.parametrize("name", ["", " ", "F6", "f25", "control+t", "ctrl+", "enterr", "\n", "j k"])
def test_anything_else_is_not_the_name_of_a_key(name: str) -> None:
    assert not is_key(name)


def test_two_actions_of_one_pane_cannot_have_the_same_key() -> None:
    assert clash({}) is None
    assert clash({"task.toggle": "x"}) == ("task.drop", "task.toggle", "x")
    assert clash({"task.toggle": "f6, /"}) == ("plan.filter", "task.toggle", "/")
    assert clash({"task.toggle": "x", "task.drop": "space"}) is None
    assert clash({"watch.open": "space"}) is None
