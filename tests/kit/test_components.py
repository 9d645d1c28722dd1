"""Components: default rendering of tools, drawing within a width, and layout into rows."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base import replace
from tildone.base.keys import NO_KEYS
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import LINE_BREAK, Role, Span, ansi, display_width, plain
from tildone.run.kit.components import (
    MAX_INLINE_COLUMNS,
    Component,
    Container,
    Field,
    Item,
    KeyHint,
    Markdown,
    RenderOptions,
    Spacer,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
    rows,
    stacked,
)
from tildone.run.kit.defaults import (
    PREVIEW_LINES,
    call_component,
    default_call,
    default_result,
    error_message,
    partial_message,
    result_component,
    told_spans,
)
from tildone.run.kit.definition import (
    ImageContent,
    TextContent,
    ToolDefinition,
    ToolResult,
    draw,
    error_result,
    fitted,
    markup,
    mask_unprintable,
    text_result,
)
from tildone.run.kit.drawing import TAB, DrawnLine


async def nothing(*_five: object) -> ToolResult:
    return text_result("")


TOOL = ToolDefinition(
    "process",
    "Process",
    "Manage processes.",
    {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["start", "list"]},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "name": {"type": "string"},
            "command": {"type": "string"},
            "limit": {"type": "number"},
            "odd": True,
        },
    },
    nothing,
)
LONG = "\n".join(f"line {number}" for number in range(PREVIEW_LINES + 2))


def lines(component: Component, columns: int = 100) -> list[str]:
    return [plain(line) for line in draw(component, columns)]


def test_a_call_shows_its_action_and_its_arguments_long_ones_on_lines_below() -> None:
    args = {"limit": 10, "name": "backend", "action": "start", "mode": "fast"}
    long = {"name": "build", "command": "make all && make install DESTDIR=/srv", "odd": "one\ntwo"}
    [first, *more] = lines(default_call(TOOL, {"command": "x\n" * 20}))

    assert lines(default_call(TOOL, args)) == ['Process: start "backend" mode=fast limit=10']
    assert lines(default_call(TOOL, {"action": "start", "name": "backend"}, name_all=True)) == [
        "Process: start name=backend"
    ]
    assert lines(default_call(TOOL, long)) == [
        'Process: "build"',
        "  command: make all && make install DESTDIR=/srv",
        "  odd: one",
        "       two",
    ]
    assert (first, len(more)) == ("Process", PREVIEW_LINES)
    assert more[-1].endswith("x … (24 B more)")


def test_arguments_are_in_the_order_of_the_schema() -> None:
    """Whatever the order of the call; unknown arguments come last, by name."""
    args = {"name": "a", "odd": "x", "limit": 1, "zeta": 1, "alpha": 2}

    assert default_call(TOOL, args) == default_call(TOOL, dict(reversed(args.items())))
    assert lines(default_call(TOOL, args)) == ['Process: "a" limit=1 odd=x alpha=2 zeta=1']


OPTIONS: list[tuple[Any, str]] = [
    *((True, "true"), (False, "false"), (None, "null"), (2.0, "2"), (2.5, "2.5"), ("", "")),
    *(([0, 5.0], "[0, 5]"), ([], "[]"), ([{"text": "a"}], "1 item"), ([[1], [2]], "2 items")),
    ({"a": 1, "b": 2}, "2 fields"),
]


def test_options_are_formatted_by_type() -> None:
    """Incomplete arguments are rendered, too."""
    incomplete: list[Any] = [None, {}, "{", []]

    assert [default_call(TOOL, {"odd": arg}) for arg, _ in OPTIONS] == [
        ToolCallHeader("Process", option_args=(f"odd={shown}",)) for _, shown in OPTIONS
    ]
    assert [lines(default_call(TOOL, args)) for args in incomplete] == [["Process"]] * 4


def test_a_result_shows_its_content_and_a_long_one_is_collapsed_with_a_hint_to_expand_it() -> None:
    """An empty one says so."""
    result = ToolResult((TextContent("one\n"), ImageContent("QUJD" * 512, "image/png")), {})
    collapsed = lines(default_result(text_result(LONG)))
    expanded = lines(default_result(text_result(LONG), RenderOptions(expanded=True)))

    assert lines(default_result(result)) == ["one", "", "[image/png, 1.5 KB]"]
    assert markup(default_result(text_result("a\n"))) == "<toolOutput>a</toolOutput>"
    assert default_result(text_result("\n")) == default_result(ToolResult((), {})) == Text("No output", Role.DIM)
    assert collapsed == [*expanded[:PREVIEW_LINES], "2 more lines | ctrl+o to expand"]
    assert expanded == LONG.split("\n")


def test_a_partial_result_is_a_constant_message() -> None:
    """Streamed text is not echoed."""
    some, more = (default_result(text_result(text), RenderOptions(is_partial=True), "Process") for text in ("a", "ab"))

    assert some == more == partial_message("Process") == Text("Process: working...", Role.MUTED)
    assert partial_message("Process", "starting") == Text("Process: starting...", Role.MUTED)


def test_a_failed_call_shows_its_error_or_a_default_message() -> None:
    """Whether the host or the result reports the failure."""
    by_host = default_result(text_result("No such process"), RenderOptions(is_error=True))
    by_itself = default_result(error_result("No such process"))

    assert by_host == by_itself == error_message(error_result("No such process")) == Text("No such process", Role.ERROR)

    assert error_message(ToolResult((), {})) == Text("Operation failed", Role.ERROR)
    assert error_message(ToolResult((), {}), "Could not list processes") == Text("Could not list processes", Role.ERROR)


def test_a_tool_with_renderers_uses_them_unless_they_return_none() -> None:
    own = replace(TOOL, render_call=lambda args: Text(args["name"]), render_result=lambda result, _: Text(result.text))

    assert call_component(own, {"name": "a"}) == Text("a")
    assert result_component(own, text_result("b"), RenderOptions()) == Text("b")

    own = replace(TOOL, render_call=lambda _: None, render_result=lambda _result, _options: None)

    for tool in (own, TOOL):
        assert call_component(tool, {"name": "a"}) == default_call(TOOL, {"name": "a"})
        assert result_component(tool, text_result(LONG), RenderOptions()) == default_result(text_result(LONG))
        assert result_component(tool, text_result(""), RenderOptions(is_partial=True)) == partial_message("Process")


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
def test_no_line_is_wider_than_the_terminal_and_only_printable_characters_are_drawn(
    component: Component, columns: int, safe: Callable[[str], str]
) -> None:
    drawn = [plain(line) for line in draw(component, columns, safe=safe)]

    assert all(display_width(line) <= columns for line in drawn)
    assert all(line.isprintable() for line in drawn)


@given(text=st.text(alphabet="ab 字é", max_size=60), columns=st.integers(2, 30))
def test_wrapping_loses_no_characters(text: str, columns: int) -> None:
    drawn = "".join(plain(line) for line in draw(Text(text), columns))

    assert drawn.replace(" ", "") == text.replace(" ", "")


def test_one_column_is_enough() -> None:
    """A character that is wider is replaced by an ellipsis."""
    assert lines(Text("a字b", Role.DIM), 1) == ["a", "…", "b"]
    assert [draw(stacked(Text("a"), Spacer()), columns) for columns in (0, -5)] == [[], []]
    assert draw(Text("字", Role.DIM), 1) == [[Span("…", Role.DIM)]]
    assert lines(Text("字字字"), 4) == ["字字", "字"]


def test_words_are_wrapped_at_spaces_and_keep_their_styles() -> None:
    """Nested spans have the styles of both."""
    two = Text((Span("first part ", Role.ACCENT), Span("second", bold=True)))
    struck = Text((Span("one two", Role.ERROR, strike=True), Span("!", italic=True)))
    inner = Span((Span("a"), Span("b", Role.DIM)), italic=True)

    first, part, second = (Span("first", Role.ACCENT), Span("part", Role.ACCENT), Span("second", bold=True))
    assert draw(two, 8) == [[first], [part], [second]]
    assert draw(struck, 4) == [
        [Span("one", Role.ERROR, strike=True)],
        [Span("two", Role.ERROR, strike=True), Span("!", italic=True)],
    ]
    assert draw(Text((inner,), Role.ERROR, bold=True), 9) == [
        [Span("a", Role.ERROR, bold=True, italic=True), Span("b", Role.DIM, bold=True, italic=True)]
    ]


def test_only_spans_with_lines_are_split_at_line_breaks() -> None:
    """In other spans, a line break is replaced."""
    assert lines(Text("a\r\nb\n\nc"), 9) == ["a", "b", "", "c"]
    assert lines(Text((Span("a\nb"),)), 9) == ["a\ufffdb"]
    assert [plain(line) for line in draw(Text((Span("a\nb"),)), 9, safe=printable)] == ["a⏎b"]


def test_lines_below_a_label_are_indented_to_its_width() -> None:
    """A wide label is wrapped with its text."""
    narrow = ToolBody((Field("Path", "one two three", show_collapsed=True),))
    wide = ToolBody((Field("Location", "one\ntwo three", show_collapsed=True),))

    assert lines(narrow, 14) == ["Path: one two", "      three"]
    assert lines(narrow, 12) == ["Path: one", "      two", "      three"]
    assert lines(wide, 10) == ["Location:", "one", "two three"]


def test_the_default_mask_replaces_unprintable_characters_and_keeps_visible_text() -> None:
    hidden = "\x00\x07\x1b\r\x7f\x9b\u202e\u200b\u2028\ud83d"

    assert mask_unprintable(f"a{hidden}b") == "a" + "\ufffd" * len(hidden) + "b"
    assert mask_unprintable("plain, größe 字\u3000\xa0😀") == "plain, größe 字\u3000\xa0😀"
    assert lines(Text("a\tb"), 9) == [f"a{TAB}b"]


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


FIELDS = (Field("Results", "3 items", show_collapsed=True), Field("Backend", "local"))
EXPAND = KeyHint("app.tools.expand", "to expand")


def test_each_part_of_a_call_header_has_its_place_and_its_role() -> None:
    """The colon is optional, and omitted if nothing follows."""
    header = ToolCallHeader("Process", "start", '"backend"', ("cwd=/srv", "end=true"))
    long = (Item("task", "Read it.\nSay it."), Item("", "now"))
    said = ["  task: Read it.", "        Say it.", "  now"]

    assert lines(header) == ['Process: start "backend" cwd=/srv end=true']
    assert markup(ToolCallHeader("Process", "start", '"backend"', ("end=true",))) == (
        "<toolTitle><bold>Process:</bold></toolTitle> <warning>start</warning> "
        '<accent>"backend"</accent> <muted>end=true</muted>'
    )
    assert lines(ToolCallHeader("Repo tree", main_arg="src", show_colon=False)) == ["Repo tree src"]
    assert lines(ToolCallHeader("List todos")) == ["List todos"]
    assert lines(ToolCallHeader("Ask", main_arg='"reviewer"', long_args=long)) == ['Ask: "reviewer"', *said]
    assert lines(ToolCallHeader("Ask", long_args=(Item("task", ""),))) == ["Ask", "  task: "]


def test_arguments_that_do_not_fit_the_first_line_are_below_it() -> None:
    """In order, before the long arguments."""
    main_arg, command = "m" * (MAX_INLINE_COLUMNS - 8), "grep x" * 13
    header = ToolCallHeader("Run", "start", main_arg, ("o" * 8, "p" * 7, "q"), (Item("env", "A=1"),))

    assert lines(header) == [f"Run: start {main_arg} {'p' * 7}", f"  {'o' * 8}", "  q", "  env: A=1"]
    assert lines(ToolCallHeader("Run", main_arg=command)) == ["Run", f"  {command}"]
    assert lines(ToolCallHeader("Run", "start", "one\ntwo")) == ["Run: start", "  one", "  two"]


def test_a_collapsed_body_has_only_fields_with_show_collapsed() -> None:
    body = ToolBody((Field("", Text("plain")), Field("Files", Text("a\nb"))), expanded=True)

    assert lines(ToolBody(FIELDS)) == ["Results: 3 items"]
    assert lines(ToolBody(FIELDS, expanded=True)) == ["Results: 3 items", "Backend: local"]
    assert lines(body) == ["plain", "Files:", "a", "b"]


def test_an_empty_line_separates_a_body_from_its_footer() -> None:
    footer = ToolFooter((Item("total", "3"),))
    close = ToolBody(FIELDS, footer=footer, include_spacer_before_footer=False)

    assert lines(ToolBody(FIELDS, footer=footer)) == ["Results: 3 items", "", "total: 3"]
    assert lines(close) == ["Results: 3 items", "total: 3"]
    assert lines(ToolBody((), footer=footer)) == ["total: 3"]
    assert lines(ToolBody(FIELDS, footer=ToolFooter(()))) == ["Results: 3 items"]


def test_a_footer_joins_its_items() -> None:
    footer = ToolFooter((Item("showing", "3/9 lines"), Item("", "local"), Item("", EXPAND)), separator=" - ")

    assert lines(footer) == ["showing: 3/9 lines - local - ctrl+o to expand"]
    assert markup(ToolFooter((Item("a", "1"), Item("b", "2")))) == (
        "<muted>a: </muted><muted>1</muted><dim> | </dim><muted>b: </muted><muted>2</muted>"
    )

    assert lines(ToolFooter((Item("count", ""),))) == []


def test_a_hint_shows_the_bound_key() -> None:
    footer = ToolFooter((Item("total", "9"), Item("", EXPAND)))

    assert markup(EXPAND) == "<dim>ctrl+o</dim><muted> to expand</muted>"
    assert markup(EXPAND, keys={"app.tools.expand": "f2"}) == "<dim>f2</dim><muted> to expand</muted>"
    assert [plain(line) for line in draw(footer, 80, keys={"app.tools.expand": ""})] == ["total: 9"]
    assert draw(KeyHint("app.of.tomorrow", "to fly"), 80) == []


def test_components_are_values_that_are_stacked_vertically() -> None:
    """Equal by content, so that a screen can detect changes."""
    assert lines(Container((Text("a"), Spacer(2), Container(()), Text("b")))) == ["a", "", "", "b"]
    assert stacked(Text("a"), None, Text("b")) == Container((Text("a"), Text("b")))
    assert ToolBody(FIELDS) == ToolBody(FIELDS)
    assert len({ToolCallHeader("A"), ToolCallHeader("A"), ToolCallHeader("B")}) == 2


MARKED: dict[Component, str] = {
    Text("No such\nfile", Role.ERROR): "<error>No such\nfile</error>",
    Text("Done", Role.SUCCESS, bold=True): "<success><bold>Done</bold></success>",
    Text("as it is"): "as it is",
    Text((Span("a", Role.DIM), Span("b"))): "<dim>a</dim>b",
    Text((Span("a", Role.DIM), Span("b")), Role.ERROR): "<error><dim>a</dim>b</error>",
}


def test_markup_has_a_tag_for_each_style() -> None:
    assert {text: markup(text) for text in MARKED} == MARKED
    assert markup(stacked(Text("a"), Spacer(), Text("b", Role.DIM))) == "a\n\n<dim>b</dim>"
    assert markup(stacked()) == ""


def test_the_sign_of_what_was_told_has_the_colour_that_it_has_in_lists() -> None:
    roles = {line: told_spans(line)[0].role for line in ("✓ Done: a", "▸ Started: a", "! Blocked: a", "− Removed: a")}

    assert list(roles.values()) == [Role.SUCCESS, Role.ACCENT, Role.WARNING, Role.DIM]
    assert plain(told_spans("✓ Done: a b")) == "✓ Done: a b"
