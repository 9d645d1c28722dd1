"""Rendering of Markdown in results."""

import pytest

from tildone.plan.text.styles import Role, plain
from tildone.run.kit.components import Markdown
from tildone.run.kit.definition import draw, markup
from tildone.run.kit.drawing import MAX_TABLE_ROWS, MarkdownReader, markdown_rows


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
