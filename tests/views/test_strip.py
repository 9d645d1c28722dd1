"""The strip: a plan in one row of cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.model import Phase, Plan, Status, Task, flat
from tildone.plan.text.state import count_text, strip_spans
from tildone.plan.text.styles import Role, Span, plain

SIGNS = {PENDING: "─", IN_PROGRESS: "●", COMPLETED: "━", ABANDONED: "·", BLOCKED: "!"}
STATUSES = {sign: status for status, sign in SIGNS.items()}


def plan(strip: str) -> Plan:
    """The plan that such a strip shows."""
    return Plan(
        tuple(Phase(f"{n}", tuple(Task("t", STATUSES[c]) for c in part)) for n, part in enumerate(strip.split()))
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
    assert strip_text(EXAMPLE, 80) == "━━ ━━━●· ─!─ ──"
    assert count_text(EXAMPLE) == "6/12"


def test_a_plan_without_tasks_has_neither_cells_nor_a_count() -> None:
    assert strip_text(Plan(), 10) == ""
    assert strip_text(Plan((Phase("empty"), Phase("too"))), 10) == ""
    assert count_text(Plan()) == ""


def test_an_empty_phase_has_no_gap() -> None:
    assert strip_text(Plan((Phase("a", (Task("t"),)), Phase("empty"), Phase("b", (Task("t"),)))), 10) == "─ ─"


def test_gaps_are_left_out_before_cells_are_shared() -> None:
    assert strip_text(EXAMPLE, 15) == "━━ ━━━●· ─!─ ──"
    assert strip_text(EXAMPLE, 14) == "━━━━━●·─!───"
    assert strip_text(EXAMPLE, 12) == "━━━━━●·─!───"


def test_neighbours_of_one_status_share_cells() -> None:
    many = flat(*[Task("t", COMPLETED)] * 60, Task("t", IN_PROGRESS), *[Task("t")] * 30)

    assert strip_text(many, 10) == "━━━━━━●───"
    assert strip_text(plan("━━━━━━━●─────"), 8) == "━━━━●───"


@pytest.mark.parametrize(("columns", "expected"), [(3, "●!●"), (2, "●!"), (1, "●"), (0, ""), (-1, "")])
def test_if_there_is_room_for_little_else_the_active_and_blocked_tasks_are_shown(columns: int, expected: str) -> None:
    assert strip_text(plan("━●──!!─●"), columns) == expected


def test_a_cell_that_tasks_share_has_the_status_of_most_of_them() -> None:
    assert strip_text(plan("━━·━━━"), 2) == "━━"


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
