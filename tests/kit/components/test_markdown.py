"""Rendering of Markdown in results."""

import pytest

from tildone.kit.components import Markdown
from tildone.kit.components.drawing import draw, markup
from tildone.kit.theme import Role, plain


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("# Title", "<accent><bold>Title</bold></accent>"),
        ("### Part `x`", "<accent><bold>Part <accent>x</accent></bold></accent>"),
        ("- one", "<accent>• </accent><text>one</text>"),
        ("  * [x] done", "  <accent>☑ </accent><text>done</text>"),
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
