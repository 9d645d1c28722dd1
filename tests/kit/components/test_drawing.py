"""Drawing of components: width, wrapping and sanitizing."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base.keys import NO_KEYS
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import LINE_BREAK, Role, Span, ansi, display_width, plain
from tildone.run.kit.components import (
    Component,
    Field,
    Item,
    KeyHint,
    Markdown,
    Spacer,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
    rows,
    stacked,
)
from tildone.run.kit.definition import draw, fitted, mask_unprintable
from tildone.run.kit.drawing import TAB, DrawnLine

words = st.text(alphabet="ab 字é😀\u0301\n\r\t\x1b\u202e\u200d*`_>-#1.[]~|", max_size=40)
styled = st.tuples(
    st.builds(Span, words, st.sampled_from(Role), bold=st.booleans(), lines=st.booleans()),
    st.just(LINE_BREAK),
    st.builds(Span, st.tuples(st.builds(Span, words, italic=st.booleans())), strike=st.booleans()),
)
items = st.lists(st.builds(Item, words, words | st.builds(KeyHint, st.just("app.exit"), words)), max_size=3).map(tuple)
headers = st.builds(
    ToolCallHeader, words, words, words, st.lists(words, max_size=3).map(tuple), items, show_colon=st.booleans()
)
texts = st.builds(Text, words | styled, st.none() | st.sampled_from(Role))
fields = st.builds(Field, words, words | texts | st.builds(Markdown, words), show_collapsed=st.booleans())
bodies = st.builds(
    ToolBody, st.lists(fields, max_size=3).map(tuple), expanded=st.booleans(), footer=st.builds(ToolFooter, items)
)
components = texts | headers | bodies | st.builds(Markdown, words) | st.builds(Spacer, st.integers(0, 3))


@given(component=components, columns=st.integers(-1, 30), safe=st.sampled_from([mask_unprintable, printable]))
def test_no_line_is_ever_wider_than_the_terminal(
    component: Component, columns: int, safe: Callable[[str], str]
) -> None:
    for line in draw(component, columns, safe=safe):
        assert display_width(plain(line)) <= columns


@given(component=components, columns=st.integers(1, 30))
def test_only_printable_characters_are_drawn(component: Component, columns: int) -> None:
    """Also with the default mask."""
    assert all(plain(line).isprintable() for line in draw(component, columns))


@given(text=st.text(alphabet="ab 字é", max_size=60), columns=st.integers(2, 30))
def test_wrapping_loses_no_characters(text: str, columns: int) -> None:
    drawn = "".join(plain(line) for line in draw(Text(text), columns))

    assert drawn.replace(" ", "") == text.replace(" ", "")


def test_drawing_is_deterministic() -> None:
    header = ToolCallHeader("Run", "start", "x", ("a=1",), (Item("task", "words " * 20),))

    assert draw(header, 40) == draw(header, 40)


@pytest.mark.parametrize("columns", [0, -5])
def test_nothing_is_drawn_into_zero_columns(columns: int) -> None:
    assert draw(stacked(Text("a"), Spacer()), columns) == []


def test_one_column_is_enough() -> None:
    """A character that is wider is replaced by an ellipsis."""
    assert [plain(line) for line in draw(Text("a字b", Role.DIM), 1)] == ["a", "…", "b"]
    assert draw(Text("字", Role.DIM), 1) == [[Span("…", Role.DIM)]]


def test_wide_characters_take_two_columns() -> None:
    assert [plain(line) for line in draw(Text("字字字"), 4)] == ["字字", "字"]


def test_words_are_wrapped_at_spaces_and_keep_their_styles() -> None:
    text = Text((Span("first part ", Role.ACCENT), Span("second", bold=True)))

    assert draw(text, 8) == [
        [Span("first", Role.ACCENT)],
        [Span("part", Role.ACCENT)],
        [Span("second", bold=True)],
    ]


def test_a_style_continues_after_a_line_break() -> None:
    text = Text((Span("one two", Role.ERROR, strike=True), Span("!", italic=True)))

    assert draw(text, 4) == [
        [Span("one", Role.ERROR, strike=True)],
        [Span("two", Role.ERROR, strike=True), Span("!", italic=True)],
    ]


def test_nested_spans_have_the_styles_of_both() -> None:
    inner = Span((Span("a"), Span("b", Role.DIM)), italic=True)

    assert draw(Text((inner,), Role.ERROR, bold=True), 9) == [
        [Span("a", Role.ERROR, bold=True, italic=True), Span("b", Role.DIM, bold=True, italic=True)]
    ]


def test_only_spans_with_lines_are_split_at_line_breaks() -> None:
    """In other spans, a line break is replaced."""
    assert [plain(line) for line in draw(Text("a\r\nb\n\nc"), 9)] == ["a", "b", "", "c"]
    assert [plain(line) for line in draw(Text((Span("a\nb"),)), 9)] == ["a\ufffdb"]
    assert [plain(line) for line in draw(Text((Span("a\nb"),)), 9, safe=printable)] == ["a⏎b"]


def test_lines_below_a_label_are_indented_to_its_width() -> None:
    body = ToolBody((Field("Path", "one two three", show_collapsed=True),))

    assert [plain(line) for line in draw(body, 14)] == ["Path: one two", "      three"]
    assert [plain(line) for line in draw(body, 12)] == ["Path: one", "      two", "      three"]


def test_a_wide_label_is_wrapped_with_its_text() -> None:
    body = ToolBody((Field("Location", "one\ntwo three", show_collapsed=True),))

    assert [plain(line) for line in draw(body, 10)] == ["Location:", "one", "two three"]


def test_a_tab_is_replaced_by_spaces() -> None:
    assert [plain(line) for line in draw(Text("a\tb"), 9)] == [f"a{TAB}b"]


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x9b", "\u202e", "\u200b", "\u2028", "\ud83d"])
def test_the_default_mask_replaces_unprintable_characters(char: str) -> None:
    assert mask_unprintable(f"a{char}b") == "a\ufffdb"


def test_the_default_mask_keeps_visible_text() -> None:
    assert mask_unprintable("plain, größe 字\u3000\xa0😀") == "plain, größe 字\u3000\xa0😀"


def test_every_text_is_sanitized() -> None:
    """Titles, labels, options, separators and keys as well as values."""
    evil = "\x1b[2J"
    component = stacked(
        ToolCallHeader(evil, evil, evil, (evil,), (Item(evil, evil),)),
        ToolBody((Field(evil, evil),), expanded=True, footer=ToolFooter((Item(evil, evil),) * 2, separator=evil)),
        Markdown(f"# {evil}\n- {evil}\n> {evil}\n1. {evil}\n```\n{evil}\n```\n[{evil}](x{evil})"),
        KeyHint("app.exit", evil),
        Text((Span((Span(evil),)),)),
    )

    shown = [ansi(line, color=True, safe=str) for line in draw(component, 80, safe=printable, keys={"app.exit": evil})]

    assert all("␛[2J" in line for line in shown if line)
    assert not any(evil in line for line in shown)


def lines_of(component: Component, columns: int, prose_columns: int | None = None) -> list[DrawnLine]:
    laid_out = rows(component, NO_KEYS)
    return [*fitted(laid_out, columns, safe=mask_unprintable, prose_columns=prose_columns)]


def copied(lines: list[DrawnLine]) -> str:
    """The text of lines without layout."""
    texts: list[str] = []
    for line in lines:
        part = line.text[line.gutter :]
        if line.joint is None:
            texts.append(part)
        else:
            texts[-1] += line.joint + part
    return "\n".join(texts)


@pytest.mark.parametrize("columns", [7, 10, 40])
def test_the_text_of_wrapped_lines_can_be_put_together_again(columns: int) -> None:
    text = "one two  three four\n\n> five six seven\n```\n  code that goes on\n```\nnospaceatallinhere"

    assert copied(lines_of(Markdown(text), columns)) == (
        "one two  three four\n\nfive six seven\n  code that goes on\nnospaceatallinhere"
    )


def test_the_sign_of_an_item_is_text_and_its_hanging_indent_is_not() -> None:
    first, second = lines_of(Markdown("- one two"), 7)

    assert (first.text, first.gutter, first.joint) == ("• one", 0, None)
    assert (second.text, second.gutter, second.joint) == ("  two", 2, " ")


def test_prose_is_kept_narrow_and_code_and_tables_are_not() -> None:
    text = "one two three\n```\none two three\n```\na | one two three\n-|-\nb | c"

    assert [line.text.rstrip() for line in lines_of(Markdown(text), 40, prose_columns=8)] == [
        "one two",
        "three",
        "  one two three",
        "a │ one two three",
        "──┼──────────────",
        "b │ c",
    ]
