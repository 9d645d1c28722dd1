"""Rendering of the indexed dialect's tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.text.lists import edit_call, list_call, listing, message, result, write_call
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Span, ansi, markup

STATUSES = {"todo": PENDING, "doing": IN_PROGRESS, "done": COMPLETED, "out": ABANDONED}
TITLE = "<toolTitle><bold>{}</bold></toolTitle>"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "status", "x"]), inner),
    max_leaves=8,
)


def listed(plan: Plan) -> tuple[Span, ...]:
    todos = [{"text": task.text, "status": task.status.value} for task in plan.tasks]
    return result("", {"todos": todos}, {status.value: status for status in Status})


def test_a_list_shows_each_status_in_its_colour() -> None:
    """Closed tasks are struck through; positions are highlighted."""
    plan = flat(Task("a"), Task("b", IN_PROGRESS), Task("c", COMPLETED), Task("d", ABANDONED))

    assert markup(listed(plan)) == (
        "<dim>–</dim> <accent>[0]</accent> <text>a</text>\n"
        "<warning>●</warning> <accent>[1]</accent> <text>b</text>\n"
        "<success>✓</success> <accent>[2]</accent> <dim><strikethrough>c</strikethrough></dim>\n"
        "<error>✗</error> <accent>[3]</accent> <dim><strikethrough>d</strikethrough></dim>"
    )
    assert markup(listed(Plan())) == "<dim>No todos</dim>"


def test_a_text_cannot_forge_a_line_of_a_drawn_list() -> None:
    """Only line breaks between tasks start a line."""
    text = ansi(listed(plan_of("a\n✓ [1] b\x1b[2J", "c")), color=False, safe=printable)

    assert text == "– [0] a⏎✓ [1] b␛[2J\n– [1] c"


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({}, "<warning>replace </warning><muted>(0 items)</muted>"),
        (None, "<warning>replace </warning><muted>(0 items)</muted>"),
        ({"mode": "append"}, "<warning>append </warning><muted>(0 items)</muted>"),
        ({"todos": [{"text": "x"}]}, "<warning>replace </warning><muted>(1 items)</muted>"),
        ({"mode": "insert", "index": 9.0, "todos": [1, 2]}, "<warning>insert </warning><muted>(2 items @9)</muted>"),
        ({"mode": "insert", "index": -1}, "<warning>insert </warning><muted>(0 items @-1)</muted>"),
        ({"mode": "insert", "index": None}, "<warning>insert </warning><muted>(0 items)</muted>"),
        ({"mode": "append", "index": 2, "todos": "x"}, "<warning>append </warning><muted>(0 items)</muted>"),
    ],
)
def test_an_incomplete_write_call_is_rendered(args: object, shown: str) -> None:
    """The index is shown only for inserts."""
    assert markup(write_call(args)) == TITLE.format("write_todos ") + shown


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"action": "start", "indices": [0, 5.0, 14]}, "<warning>start </warning><accent>[0, 5, 14]</accent>"),
        ({"action": "start"}, "<warning>start </warning><accent>[]</accent>"),
        ({"indices": [1.5]}, "<accent>[1.5]</accent>"),
        ([], "<accent>[]</accent>"),
    ],
)
def test_an_incomplete_edit_call_is_rendered(args: object, shown: str) -> None:
    assert markup(edit_call(args)) == TITLE.format("edit_todos ") + shown


def test_a_list_call_shows_only_its_name() -> None:
    assert markup(list_call()) == markup(list_call({"x": 1})) == TITLE.format("list_todos")


def test_a_result_is_rendered_as_its_list() -> None:
    """With the status words of the dialect; invalid items are omitted but keep their positions."""
    todos = [
        {"text": "a", "status": "doing"},
        {"text": "b"},
        7,
        {"text": "c", "status": "?"},
        {"text": "d", "status": "out"},
    ]

    assert markup(result("words", {"todos": todos}, STATUSES)) == (
        "<warning>●</warning> <accent>[0]</accent> <text>a</text>\n"
        "<error>✗</error> <accent>[4]</accent> <dim><strikethrough>d</strikethrough></dim>"
    )
    assert markup(result("words", {"todos": []}, STATUSES)) == "<dim>No todos</dim>"


def test_a_result_without_a_list_is_rendered_as_its_error_or_text() -> None:
    """Without details, it is the text; empty details mean that the call failed."""
    assert (
        markup(result("x", {"todos": [], "error": "no todos exist"}, STATUSES))
        == "<error>Error: no todos exist</error>"
    )
    assert markup(result("Tool\ncrashed", None, STATUSES)) == "Tool\ncrashed"
    assert markup(result("Validation failed", {}, STATUSES)) == "<error>Validation failed</error>"


@given(json_values, st.text())
def test_arguments_and_details_of_any_shape_are_rendered(given: object, text: str) -> None:
    for spans in (
        write_call(given),
        edit_call(given),
        write_call({"mode": given, "todos": given, "index": given}),
        edit_call({"action": given, "indices": given}),
        result(text, given, STATUSES),
        result(text, {"todos": given, "error": given}, STATUSES),
        result(text, {"todos": [given, {"text": text, "status": given}]}, STATUSES),
        message(text, text),
    ):
        assert isinstance(ansi(spans, color=True, safe=printable), str)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("til-done-context", "<accent>📋 </accent><dim>one\ntwo</dim>"),
        ("til-done-complete", "<success>✓ </success><text>one\ntwo</text>"),
        ("til-done-countdown", "<accent>⏳ </accent><dim>one\ntwo</dim>"),
        ("another", "<text>one\ntwo</text>"),
    ],
)
def test_a_message_is_prefixed_by_the_icon_of_its_kind(kind: str, shown: str) -> None:
    """Its line breaks are kept."""
    assert markup(message(kind, "one\ntwo")) == shown
    assert ansi(message(kind, "one\ntwo"), color=False, safe=printable).endswith("one\ntwo")


def test_a_listing_is_drawn_like_a_list_and_other_lines_stay() -> None:
    text = "● [0] a [1] b\n✓ [10] done\nx [0] odd\n– [²] odd\n… and 3 more tasks"

    assert markup(listing(text)) == (
        "<warning>●</warning> <accent>[0]</accent> <text>a [1] b</text>\n"
        "<success>✓</success> <accent>[10]</accent> <dim><strikethrough>done</strikethrough></dim>\n"
        "x [0] odd\n– [²] odd\n… and 3 more tasks"
    )
