"""Layout of components into rows."""

import pytest

from tildone.plan.text.styles import Role, Span, plain
from tildone.run.kit.components import (
    MAX_INLINE_COLUMNS,
    Component,
    Container,
    Field,
    Item,
    KeyHint,
    Spacer,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
    stacked,
)
from tildone.run.kit.definition import draw, markup

FIELDS = (Field("Results", "3 items", show_collapsed=True), Field("Backend", "local"))
EXPAND = KeyHint("app.tools.expand", "to expand")


def lines(component: Component, columns: int = 100) -> list[str]:
    return [plain(line) for line in draw(component, columns)]


def test_a_call_header_has_name_action_main_argument_and_options() -> None:
    header = ToolCallHeader("Process", "start", '"backend"', ("cwd=/srv", "end=true"))

    assert lines(header) == ['Process: start "backend" cwd=/srv end=true']


def test_each_part_of_a_call_header_has_its_role() -> None:
    assert markup(ToolCallHeader("Process", "start", '"backend"', ("end=true",))) == (
        "<toolTitle><bold>Process:</bold></toolTitle> <warning>start</warning> "
        '<accent>"backend"</accent> <muted>end=true</muted>'
    )


def test_the_colon_is_optional_and_omitted_if_nothing_follows() -> None:
    assert lines(ToolCallHeader("Repo tree", main_arg="src", show_colon=False)) == ["Repo tree src"]
    assert lines(ToolCallHeader("List todos")) == ["List todos"]


def test_long_arguments_are_below_with_their_labels() -> None:
    header = ToolCallHeader(
        "Ask", main_arg='"reviewer"', long_args=(Item("task", "Read it.\nSay it."), Item("", "now"))
    )

    assert lines(header) == ['Ask: "reviewer"', "  task: Read it.", "        Say it.", "  now"]


def test_arguments_that_do_not_fit_the_first_line_are_below_it() -> None:
    """In order, before the long arguments."""
    main_arg = "m" * (MAX_INLINE_COLUMNS - 8)
    header = ToolCallHeader("Run", "start", main_arg, ("o" * 8, "p" * 7, "q"), (Item("env", "A=1"),))

    assert lines(header) == [
        f"Run: start {'m' * (MAX_INLINE_COLUMNS - 8)} {'p' * 7}",
        f"  {'o' * 8}",
        "  q",
        "  env: A=1",
    ]


def test_a_main_argument_that_does_not_fit_is_below_as_well() -> None:
    command = "grep x" * 13

    assert lines(ToolCallHeader("Run", main_arg=command)) == ["Run", f"  {command}"]


def test_an_argument_with_line_breaks_is_below_the_first_line() -> None:
    assert lines(ToolCallHeader("Run", "start", "one\ntwo")) == ["Run: start", "  one", "  two"]


def test_a_long_argument_may_be_empty() -> None:
    assert lines(ToolCallHeader("Ask", long_args=(Item("task", ""),))) == ["Ask", "  task: "]


def test_a_collapsed_body_has_only_fields_with_show_collapsed() -> None:
    assert lines(ToolBody(FIELDS)) == ["Results: 3 items"]
    assert lines(ToolBody(FIELDS, expanded=True)) == ["Results: 3 items", "Backend: local"]


def test_a_field_may_contain_a_component() -> None:
    body = ToolBody((Field("", Text("plain")), Field("Files", Text("a\nb"))), expanded=True)

    assert lines(body) == ["plain", "Files:", "a", "b"]


def test_an_empty_line_separates_a_body_from_its_footer() -> None:
    footer = ToolFooter((Item("total", "3"),))

    assert lines(ToolBody(FIELDS, footer=footer)) == ["Results: 3 items", "", "total: 3"]
    assert lines(ToolBody(FIELDS, footer=footer, include_spacer_before_footer=False)) == [
        "Results: 3 items",
        "total: 3",
    ]


def test_there_is_no_separator_without_a_body_or_footer() -> None:
    assert lines(ToolBody((), footer=ToolFooter((Item("total", "0"),)))) == ["total: 0"]
    assert lines(ToolBody(FIELDS, footer=ToolFooter(()))) == ["Results: 3 items"]


def test_a_footer_joins_its_items() -> None:
    footer = ToolFooter((Item("showing", "3/9 lines"), Item("", "local"), Item("", EXPAND)), separator=" - ")

    assert lines(footer) == ["showing: 3/9 lines - local - ctrl+o to expand"]
    assert markup(ToolFooter((Item("a", "1"), Item("b", "2")))) == (
        "<muted>a: </muted><muted>1</muted><dim> | </dim><muted>b: </muted><muted>2</muted>"
    )


def test_an_empty_footer_has_no_row() -> None:
    assert lines(ToolFooter((Item("count", ""),))) == []


def test_a_hint_shows_the_bound_key() -> None:
    footer = ToolFooter((Item("total", "9"), Item("", EXPAND)))

    assert markup(EXPAND) == "<dim>ctrl+o</dim><muted> to expand</muted>"
    assert markup(EXPAND, keys={"app.tools.expand": "f2"}) == "<dim>f2</dim><muted> to expand</muted>"
    assert [plain(line) for line in draw(footer, 80, keys={"app.tools.expand": ""})] == ["total: 9"]
    assert draw(KeyHint("app.of.tomorrow", "to fly"), 80) == []


def test_components_are_stacked_vertically() -> None:
    assert lines(Container((Text("a"), Spacer(2), Container(()), Text("b")))) == ["a", "", "", "b"]
    assert stacked(Text("a"), None, Text("b")) == Container((Text("a"), Text("b")))


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        (Text("No such\nfile", Role.ERROR), "<error>No such\nfile</error>"),
        (Text("Done", Role.SUCCESS, bold=True), "<success><bold>Done</bold></success>"),
        (Text("as it is"), "as it is"),
        (Text((Span("a", Role.DIM), Span("b"))), "<dim>a</dim>b"),
        (Text((Span("a", Role.DIM), Span("b")), Role.ERROR), "<error><dim>a</dim>b</error>"),
        (stacked(Text("a"), Spacer(), Text("b", Role.DIM)), "a\n\n<dim>b</dim>"),
        (stacked(), ""),
    ],
)
def test_markup_has_a_tag_for_each_style(text: Text | Container, tagged: str) -> None:
    assert markup(text) == tagged


def test_components_are_values() -> None:
    """Equal by content, so that a screen can detect changes."""
    assert ToolBody(FIELDS) == ToolBody(FIELDS)
    assert len({ToolCallHeader("A"), ToolCallHeader("A"), ToolCallHeader("B")}) == 2
