"""Plans as text: lines for terminals, calls and results of tools, lists for models, strips and status bars."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats import hostile_plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of, plans
from tildone.base import replace
from tildone.plan.events import Bound, Directive, State, Tripped
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task, flat
from tildone.plan.text import phases as phase_tree
from tildone.plan.text.lists import (
    MIN_COLUMNS,
    edit_call,
    list_call,
    listing,
    message,
    plan_lines,
    result,
    task_line,
    task_lines,
    write_call,
)
from tildone.plan.text.phases import phase_title, roman_numeral
from tildone.plan.text.safe import (
    MAX_TASK_CHARS,
    active_tasks,
    countdown_text,
    numbered_lines,
    numbered_list,
    printable,
    status_line,
    status_text,
)
from tildone.plan.text.state import count_text, strip_spans
from tildone.plan.text.styles import Role, Span, ansi, clip_line, display_width, hanging_lines, markup, plain


def drawn(lines: list[tuple[Span, ...]]) -> str:
    return "\n".join(plain(line) for line in lines)


def test_a_plan_shows_phases_tasks_and_notes() -> None:
    """Phases have their progress beside their names; a flat list has no heading."""
    plan = Plan(
        (
            Phase("Build\x1b", (Task("schema", COMPLETED), Task("migrate", IN_PROGRESS, ("see #12\nand #13", "slow")))),
            Phase("", (Task("rest"),)),
            Phase("Later"),
        )
    )

    assert drawn(plan_lines(plan)) == (
        "Build␛ 1/2\n"
        "  ✓ #1 schema\n"
        "  ● #2 migrate\n"
        "    │ see #12\n"
        "    │ and #13\n"
        "    │ \n"
        "    │ slow\n"
        "\n"
        "(unnamed) 0/1\n"
        "  – #3 rest\n"
        "\n"
        "Later 0/0"
    )
    assert markup(plan_lines(plan)[0]) == "<accent><bold>Build␛</bold></accent><muted> 1/2</muted>"
    assert drawn(plan_lines(plan_of("a", "b\nc"))) == "– #1 a\n– #2 b⏎c"
    assert drawn(plan_lines(Plan())) == "No todos"
    assert all(line for line in plan_lines(Plan((Phase("", (Task("text", number=10**18),)),)), 20))


def test_wrapped_lines_have_a_hanging_indent() -> None:
    """Names, texts and notes alike."""
    plan = Plan(
        (Phase("A phase of many words", (Task("a task of many words", COMPLETED, ("a note of many words",)),)),)
    )

    assert drawn(plan_lines(plan, 20)) == (
        "A phase of many\nwords 1/1\n  ✓ #1 a task of\n       many words\n    │ a note of many\n    │ words"
    )
    assert markup(plan_lines(plan, 20)[3]) == "       <dim><strikethrough>many words</strikethrough></dim>"


@given(plans, st.integers(0, 60))
def test_no_line_is_wider_than_the_terminal(plan: Plan, columns: int) -> None:
    """Down to a minimum width."""
    assert plan_lines(plan, columns) == plan_lines(plan, max(columns, MIN_COLUMNS))
    assert all(display_width(plain(line)) <= max(columns, MIN_COLUMNS) for line in plan_lines(plan, columns))


@given(plans)
def test_the_lines_of_a_plan_are_sanitized(plan: Plan) -> None:
    """Sanitizing them again changes nothing, so their widths are correct."""
    assert all(ansi(line, color=False, safe=printable) == plain(line) for line in plan_lines(plan))


def test_only_some_tasks_can_be_shown_with_positions_or_alone() -> None:
    """Phases without any are omitted; the others keep their progress."""
    plan = Plan((Phase("A", (Task("a", COMPLETED), Task("b"))), Phase("B", (Task("c"),))))

    assert drawn(plan_lines(plan, only={2})) == "A 1/2\n  – #2 b"
    assert drawn(plan_lines(plan, only=set())) == "No todos"

    plan = Plan((Phase("A", (Task("a", number=3),)), Phase("B", (Task("b", number=2),))))

    assert drawn(plan_lines(plan, positions=True)) == "A 0/1\n  – #3 [0] a\n\nB 0/1\n  – #2 [1] b"
    assert drawn(plan_lines(plan, positions=True, only={2})) == "B 0/1\n  – #2 [1] b"

    task = Task("wait", BLOCKED, ("for the key",), 7)

    assert drawn(task_lines(task)) == "! #7 wait\n  │ for the key"
    assert drawn(task_lines(task, 10, 3)) == "! #7 [3] wait\n  │ for the key"
    assert plain(task_line(task)) == "! #7 wait"
    assert plain(task_line(Task("wait"))) == "– wait"


PYTEST = Check(("pytest", "-q", "tests dir"))
PASSED, FAILED = (
    Proof(result, PYTEST.command, exit_code=code) for result, code in ((Result.PASSED, 0), (Result.FAILED, 1))
)


def test_a_check_and_its_state_stand_below_the_task() -> None:
    plan = flat(
        Task("a", COMPLETED, ("note",), 1, check=PYTEST, proof=PASSED),
        Task("b", COMPLETED, number=2, check=PYTEST, proof=PASSED),
        Task("c", IN_PROGRESS, number=3, check=PYTEST, proof=FAILED),
        Task("d", number=4, check=PYTEST),
        Task("e", number=5, check=PYTEST),
    )

    lines = plan_lines(plan, stale={2}, proposed={5})

    assert drawn(lines) == (
        "✓ #1 a\n  $ pytest -q 'tests dir' · passed\n  │ note\n"
        "✓ #2 b\n  $ pytest -q 'tests dir' · done, stale\n"
        "● #3 c\n  $ pytest -q 'tests dir' · failed (exit 1)\n"
        "– #4 d\n  $ pytest -q 'tests dir'\n"
        "– #5 e\n  $ pytest -q 'tests dir' · proposed"
    )
    struck = [markup(line) for line in lines if "strikethrough" in markup(line)]
    assert struck == ["<success>✓</success> <accent>#1</accent> <dim><strikethrough>a</strikethrough></dim>"]
    assert [markup(line).endswith("</warning>") for line in lines if "$" in plain(line)] == [0, 1, 1, 0, 1]


def test_a_task_that_waits_says_for_which() -> None:
    plan = flat(Task("a", COMPLETED, number=1), Task("b", number=2), Task("c", number=3, after=(1, 2)))
    closed = flat(Task("b", number=2), Task("c", COMPLETED, number=3, after=(2,)))

    assert drawn(plan_lines(plan)) == "✓ #1 a\n– #2 b\n– #3 c\n  after 2"
    assert "after" not in drawn(plan_lines(closed))


def test_the_check_of_a_plan_stands_at_its_end_and_a_long_command_is_wrapped() -> None:
    """And cannot draw."""
    plan = replace(plan_of("a"), check=PYTEST, proof=PASSED)

    assert drawn(plan_lines(plan)) == "– #1 a\n\nPlan: $ pytest -q 'tests dir' · passed"
    assert drawn(plan_lines(plan, stale={PLAN})).endswith("$ pytest -q 'tests dir' · stale")
    assert drawn(plan_lines(plan, only={1})) == "– #1 a"

    task = Task("a", number=1, check=Check(("make", "all\x1b[2J", "tests", "and", "docs")))

    assert drawn(task_lines(task, 20)) == "– #1 a\n  $ make 'all␛[2J'\n    tests and docs"
    assert drawn(task_lines(replace(task, check=PYTEST), proposed={1})).endswith(" · proposed")


ONE = Plan((Phase("Build", (Task("a\tb", COMPLETED), Task("c", IN_PROGRESS, ("first\nline", "second")))),))


def test_a_call_shows_every_op_with_its_target() -> None:
    args = {"ops": [{"op": "append", "phase": "A", "items": ["x"]}, {"op": "done", "task": "y"}, {}, 7, {"op": " "}]}

    assert plain(phase_tree.write_call(args)) == "⏳ Todo Write append A 1 item · done y · update · update"
    assert plain(phase_tree.write_call(None)) == plain(phase_tree.write_call({"ops": None})) == "⏳ Todo Write update"
    assert plain(phase_tree.write_call({"ops": []})) == "⏳ Todo Write"


def test_the_panel_shows_the_progress_if_there_are_tasks() -> None:
    """The recordings (`tests/conformance`) have the trees of results."""
    assert phase_tree.panel(ONE) == ["Todos 1/2", "  ├─ ☑ a   b", "  └─ ☐ c ⁺²"]
    assert phase_tree.panel(Plan((Phase("Empty"),))) is None


def test_a_result_names_the_ops_of_its_call_and_has_the_sign_of_a_failure_if_one_was_refused() -> None:
    args = {"ops": [{"op": "start", "task": "c"}, {"op": "rm", "phase": "B"}]}

    assert plain(phase_tree.result(ONE, None, args)).split("\n")[0] == "✔ Todo Write start c · rm B · 2 tasks"
    assert plain(phase_tree.result(ONE, None, {})).split("\n")[0] == "✔ Todo Write update · 2 tasks"
    assert plain(phase_tree.failure(ONE, "why", args)).split("\n")[0] == "✘ Todo Write start c · rm B · 2 tasks"
    assert plain(phase_tree.failure(Plan(), "why", args)) == "✘ Todo Write start c · rm B\nwhy"
    assert markup(phase_tree.result(ONE, None, refused=True)).startswith("<error>✘</error> <accent>Todo Write</accent>")


def test_a_failure_shows_the_error_before_the_plan() -> None:
    """Without a plan, the full error."""
    failed = plain(phase_tree.failure(ONE, 'Errors: Task "x" not found\nRemaining items (1):')).split("\n")

    assert failed[:3] == ["✘ Todo Write 2 tasks", 'Errors: Task "x" not found', "  ├─ ☑ a   b"]
    assert plain(phase_tree.failure(Plan(), "one\ntwo")) == "✘ Todo Write\none\ntwo"
    assert plain(phase_tree.failure(Plan(), None)) == "✘ Todo Write\n"


@given(plans)
def test_the_panel_has_a_line_for_each_visible_task(plan: Plan) -> None:
    lines = phase_tree.panel(plan) or []
    phases = [phase for phase in plan.phases if phase.tasks]
    headings = len(phases) if len(phases) > 1 else 0

    assert len(lines) == (1 + headings + len(plan.tasks) if plan.tasks else 0)


@pytest.mark.parametrize("family", hostile_plans.FAMILIES)
def test_texts_cannot_add_lines(family: str) -> None:
    """The number of lines does not depend on the texts."""
    for plan in hostile_plans.plans(hostile_plans.FAMILIES[family], family, 100):
        for line in phase_tree.panel(plan) or []:
            assert line == printable(line)
        drawn = ansi(phase_tree.result(plan, None), color=False, safe=printable)
        assert drawn.count("\n") == plain(phase_tree.result(harmless_plan(plan), None)).count("\n")


def harmless_plan(plan: Plan) -> Plan:
    """Return the plan with plain texts, and notes with the same number of lines."""

    def harmless_task(task: Task) -> Task:
        return Task("t", task.status, tuple("\n" * note.count("\n") for note in task.notes))

    return Plan(tuple(Phase("p", tuple(map(harmless_task, phase.tasks))) for phase in plan.phases))


def test_roman_numerals_are_unique_and_a_title_is_one_line() -> None:
    assert len({roman_numeral(number) for number in range(1, 4000)}) == 3999
    assert phase_title(2, "Auth\nII. Forged") == "II. Auth⏎II. Forged"


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


def test_a_result_is_rendered_as_its_list_or_else_as_its_error_or_text() -> None:
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


def test_every_task_has_a_line_with_its_icon_and_position() -> None:
    """Positions refer to the whole plan; a model never gets an empty text."""
    plan = Plan(
        (Phase("A", (Task("a"), Task("b", IN_PROGRESS))), Phase("B", (Task("c", COMPLETED), Task("d", ABANDONED))))
    )

    assert numbered_list(plan) == "– [0] a\n● [1] b\n✓ [2] c\n✗ [3] d"
    assert numbered_list(Plan()) == "No todos"
    assert numbered_list(Plan((Phase("A"),))) == "No todos"
    assert numbered_lines([(3, Task("d")), (7, Task("h"))], 99) == "– [3] d\n– [7] h"
    assert numbered_lines([], 99) == ""
    assert numbered_list(flat(Task("a\n✓ [1] b\x1b"))) == "– [0] a⏎✓ [1] b\x1b"
    assert numbered_list(plan_of("a\r\nb")) == "– [0] a⏎b"


def test_the_status_text_shows_the_progress_and_active_tasks_a_line_each() -> None:
    """Abandoned tasks count as closed. The countdown is in the words of the original."""
    assert status_text(flat(Task("a", COMPLETED), Task("b"), Task("c", ABANDONED))) == "📋 2/3"
    assert status_text(flat(Task("a", COMPLETED), Task("b", ABANDONED))) == "✓ Done (2 items)"
    assert status_text(Plan()) is None
    assert active_tasks(Plan()) is None

    plan = flat(Task("a", IN_PROGRESS), Task("b"), Task("c\nd", IN_PROGRESS))

    assert active_tasks(plan) == "[0] a\n[2] c⏎d"
    assert active_tasks(plan_of("a")) is None
    assert countdown_text(2) == "⏳ Auto-continuing in 2s... (type anything to interrupt)"


SIGNS = {PENDING: "─", IN_PROGRESS: "●", COMPLETED: "━", ABANDONED: "·", BLOCKED: "!"}
STATUS_OF_SIGN = {sign: status for status, sign in SIGNS.items()}


def plan(strip: str) -> Plan:
    """The plan that such a strip shows."""
    return Plan(
        tuple(Phase(f"{n}", tuple(Task("t", STATUS_OF_SIGN[c]) for c in part)) for n, part in enumerate(strip.split()))
    )


EXAMPLE = plan("━━ ━━━●· ─!─ ──")
PLANS = st.lists(st.lists(st.sampled_from(Status), max_size=12), max_size=6).map(
    lambda phases: Plan(tuple(Phase("", tuple(Task("t", status) for status in phase)) for phase in phases))
)
ROOM = st.integers(0, 60)


def kept_runs(cells: str) -> list[str]:
    """The signs of tasks in progress and of blocked ones, without the neighbours that share them."""
    found = ""
    last = ""
    for cell in cells:
        found += cell if cell in "●!" and cell != last else ""
        last = cell
    return list(found)


def strip_text(plan: Plan, columns: int) -> str:
    return plain(strip_spans(plan, columns))


def test_each_task_has_a_cell_and_phases_have_a_gap_between_them() -> None:
    """Gaps are left out before cells are shared; an empty phase has none."""
    assert strip_text(EXAMPLE, 80) == "━━ ━━━●· ─!─ ──"
    assert count_text(EXAMPLE) == "6/12"
    assert strip_text(Plan(), 10) == ""
    assert strip_text(Plan((Phase("empty"), Phase("too"))), 10) == ""
    assert count_text(Plan()) == ""
    assert strip_text(Plan((Phase("a", (Task("t"),)), Phase("empty"), Phase("b", (Task("t"),)))), 10) == "─ ─"
    assert strip_text(EXAMPLE, 15) == "━━ ━━━●· ─!─ ──"
    assert strip_text(EXAMPLE, 14) == "━━━━━●·─!───"
    assert strip_text(EXAMPLE, 12) == "━━━━━●·─!───"


def test_neighbours_share_cells_that_have_the_status_of_most_of_them() -> None:
    many = flat(*[Task("t", COMPLETED)] * 60, Task("t", IN_PROGRESS), *[Task("t")] * 30)

    assert strip_text(many, 10) == "━━━━━━●───"
    assert strip_text(plan("━━━━━━━●─────"), 8) == "━━━━●───"
    assert strip_text(plan("━━·━━━"), 2) == "━━"


@pytest.mark.parametrize(("columns", "expected"), [(3, "●!●"), (2, "●!"), (1, "●"), (0, ""), (-1, "")])
def test_if_there_is_room_for_little_else_the_active_and_blocked_tasks_are_shown(columns: int, expected: str) -> None:
    assert strip_text(plan("━●──!!─●"), columns) == expected


def test_the_spans_have_the_same_text_and_the_colours_of_the_statuses() -> None:
    assert strip_spans(plan("━━ ●!· ─"), 80) == (
        Span("━━", Role.SUCCESS),
        Span(" "),
        Span("●", Role.ACCENT),
        Span("!", Role.WARNING),
        Span("·", Role.DIM),
        Span(" "),
        Span("─", Role.DIM),
    )


@given(PLANS, ROOM)
def test_a_strip_is_never_wider_than_its_room_and_wastes_none(some: Plan, columns: int) -> None:
    text = strip_text(some, columns)

    assert len(text) <= columns
    assert plain(strip_spans(some, columns)) == text
    if len(some.tasks) <= columns:
        assert text.replace(" ", "") == "".join(SIGNS[task.status] for task in some.tasks)


@given(PLANS, ROOM)
def test_no_active_or_blocked_task_disappears_while_there_is_room(some: Plan, columns: int) -> None:
    """A run of them is one, as its tasks may share a cell."""
    runs = kept_runs("".join(SIGNS[task.status] for task in some.tasks))
    text = strip_text(some, columns).replace(" ", "")

    if len(runs) < columns or len(some.tasks) <= columns:
        assert all(text.count(sign) >= runs.count(sign) for sign in "●!")
    elif columns >= len(set(runs)):
        assert set(text) == set(runs)


def line(plan: Plan, course: Directive = Directive.GO) -> str:
    return status_line(State("e", plan, directive=course))


def test_the_status_line_has_the_progress_the_next_task_and_the_directive() -> None:
    """Without a plan, only the directive."""
    plan = flat(Task("a", COMPLETED), Task("b"), Task("Write parser", IN_PROGRESS, number=4))

    assert line(plan) == "✓ 1/3 · #4 Write parser"
    assert line(plan_of("a")) == "☐ 0/1 · #1 a"
    assert line(flat(Task("a", COMPLETED))) == "✓ 1/1"
    assert line(Plan()) == ""
    assert line(plan_of("a"), Directive.PAUSE) == "☐ 0/1 · #1 a · paused"
    assert line(Plan(), Directive.STOP) == "stopped"

    shown = line(plan_of(f"x\n\x1b[2J{'y' * 100}"))

    assert shown.startswith("☐ 0/1 · #1 x⏎␛[2Jyyy")
    assert shown.endswith("y…")
    assert len(shown) == len("☐ 0/1 · #1 ") + MAX_TASK_CHARS
    assert status_line(State("e", plan_of("a")), held_up="the agent set aside #1") == (
        "☐ 0/1 · #1 a · needs you: the agent set aside #1"
    )
    tripped = replace(State("e", plan_of("a")), tripped=Tripped(Bound.NUDGES, 3))
    assert status_line(tripped) == "☐ 0/1 · #1 a · let go"


@pytest.mark.parametrize(
    ("unapproved", "command"),
    [([2], "approve 2"), ([2, 3, 5], "approve 2 3 5"), ([2, 3, 5, 6], "approve"), ([2, 0], "approve")],
)
def test_the_status_line_says_how_to_approve_checks_that_wait_for_it(unapproved: Sequence[int], command: str) -> None:
    state = State("e", plan_of("a"))

    assert status_line(state, unapproved=unapproved) == f"☐ 0/1 · #1 a · needs you: tildone {command}"
    assert status_line(state, held_up="x", unapproved=unapproved).endswith(f" · needs you: x; tildone {command}")


LEAD = (Span("* 01m7ev36es", Role.WARNING), Span("  12:03", Role.MUTED))
SAID = [(Span("completed “a”"), (Span(" (12m)", Role.MUTED),)), (Span("started “b”"), ())]


def test_texts_are_beside_their_lead_or_below_it_on_a_narrow_terminal() -> None:
    assert [plain(line) for line in hanging_lines(LEAD, SAID)] == [
        "* 01m7ev36es  12:03  completed “a” (12m)",
        "                     started “b”",
    ]
    assert [plain(line) for line in hanging_lines((Span("  "), *LEAD), SAID, 40)] == [
        "  * 01m7ev36es  12:03",
        "    completed “a” (12m)",
        "    started “b”",
    ]

    texts = [(Span("日本語" * 20, bold=True), (Span(" (12m)"),)), (Span("x"), (Span("y" * 90),))]

    for columns in range(80):
        assert all(display_width(plain(line)) <= columns for line in hanging_lines(LEAD, texts, columns))


def test_a_clipped_text_keeps_its_style() -> None:
    line = (Span("ab"), Span("cdefgh", Role.DIM, strike=True), Span("ij"))

    assert clip_line(line, 5) == (Span("ab"), Span("cd…", Role.DIM, strike=True))
    assert clip_line(line, 10) == line
    assert hanging_lines((Span("a"),), [(Span("x" * 40, Role.DIM, bold=True), ())], 30)[0][-1] == Span(
        f"{'x' * 26}…", Role.DIM, bold=True
    )
