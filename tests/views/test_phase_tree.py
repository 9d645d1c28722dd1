"""Rendering of the phased dialect: calls, results and the panel."""

import pytest
from hypothesis import given

from tests.formats import hostile_plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plans
from tildone.plan.model import Phase, Plan, Task
from tildone.plan.text import phases as phase_tree
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import ansi, markup, plain

ONE = Plan((Phase("Build", (Task("a\tb", COMPLETED), Task("c", IN_PROGRESS, ("first\nline", "second")))),))
TWO = Plan((*ONE.phases, Phase("Empty"), Phase("Ship", (Task("d", ABANDONED, tuple("n" * 12)), Task("e")))))
LONG = Plan((Phase("A", tuple(Task(str(number)) for number in range(10))),))


def test_a_call_shows_every_op_with_its_target() -> None:
    args = {"ops": [{"op": "append", "phase": "A", "items": ["x"]}, {"op": "done", "task": "y"}, {}, 7, {"op": " "}]}

    assert plain(phase_tree.write_call(args)) == "⏳ Todo Write append A 1 item · done y · update · update"


def test_an_empty_call_is_shown_as_update() -> None:
    assert plain(phase_tree.write_call(None)) == plain(phase_tree.write_call({"ops": None})) == "⏳ Todo Write update"
    assert plain(phase_tree.write_call({"ops": []})) == "⏳ Todo Write"


def test_a_result_is_a_tree_with_the_notes_of_tasks_in_progress() -> None:
    assert plain(phase_tree.result(ONE, "unused")).split("\n") == [
        "✔ Todo Write 2 tasks",
        "  ├─ ☑ a   b",
        "  └─ ☐ c ⁺²",
        "",
        "  § notes — c",
        "  │ first",
        "  │ line",
        "  │",
        "  │ second",
    ]


def test_a_result_names_the_ops_of_its_call() -> None:
    args = {"ops": [{"op": "start", "task": "c"}, {"op": "rm", "phase": "B"}]}

    assert plain(phase_tree.result(ONE, None, args)).split("\n")[0] == "✔ Todo Write start c · rm B · 2 tasks"
    assert plain(phase_tree.result(ONE, None, {})).split("\n")[0] == "✔ Todo Write update · 2 tasks"
    assert plain(phase_tree.failure(ONE, "why", args)).split("\n")[0] == "✘ Todo Write start c · rm B · 2 tasks"
    assert plain(phase_tree.failure(Plan(), "why", args)) == "✘ Todo Write start c · rm B\nwhy"


def test_a_result_that_was_refused_in_part_has_the_sign_of_a_failure() -> None:
    assert markup(phase_tree.result(ONE, None, refused=True)).startswith("<error>✘</error> <accent>Todo Write</accent>")


def test_several_phases_are_numbered_and_empty_ones_omitted() -> None:
    lines = plain(phase_tree.result(TWO, None)).split("\n")

    assert [line for line in lines if ". " in line] == ["  I. Build", "  II. Ship"]
    assert "  ├─ ☐ d ⁺¹²" in lines


def test_a_closed_task_is_struck_through() -> None:
    drawn = markup(phase_tree.result(TWO, None))

    assert "<success>☑ <strikethrough>a   b</strikethrough></success>" in drawn
    assert "<error>☐ <strikethrough>d</strikethrough></error>" in drawn
    assert "<accent>☐ c</accent>" in drawn
    assert "<dim>☐ e</dim>" in drawn


def test_a_collapsed_phase_shows_eight_tasks_and_the_number_of_others() -> None:
    collapsed = plain(phase_tree.result(LONG, None)).split("\n")
    expanded = plain(phase_tree.result(LONG, None, expanded=True)).split("\n")

    assert collapsed[8:] == ["  ├─ ☐ 7", "  └─ … 2 more todos"]
    assert expanded[8:] == ["  ├─ ☐ 7", "  ├─ ☐ 8", "  └─ ☐ 9"]


def test_a_result_without_tasks_shows_its_text() -> None:
    assert plain(phase_tree.result(Plan(), "Todo list cleared.")) == "✔ Todo Write 0 tasks\nTodo list cleared."
    assert plain(phase_tree.result(Plan(), None)) == "✔ Todo Write 0 tasks\nNo todos"


def test_a_failure_shows_the_error_before_the_plan() -> None:
    failed = plain(phase_tree.failure(ONE, 'Errors: Task "x" not found\nRemaining items (1):')).split("\n")

    assert failed[:3] == ["✘ Todo Write 2 tasks", 'Errors: Task "x" not found', "  ├─ ☑ a   b"]


def test_a_failure_without_a_plan_shows_the_full_error() -> None:
    assert plain(phase_tree.failure(Plan(), "one\ntwo")) == "✘ Todo Write\none\ntwo"
    assert plain(phase_tree.failure(Plan(), None)) == "✘ Todo Write\n"


def test_the_panel_shows_the_progress() -> None:
    assert phase_tree.panel(ONE) == ["Todos 1/2", "  ├─ ☑ a   b", "  └─ ☐ c ⁺²"]
    assert phase_tree.panel(Plan((Phase("Empty"),))) is None


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
