"""The plan as one line for status bars."""

from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.events import Directive, State
from tildone.plan.model import Plan, Task, flat
from tildone.plan.text.safe import MAX_TASK_CHARS, status_line


def line(plan: Plan, course: Directive = Directive.GO) -> str:
    return status_line(State("e", plan, directive=course))


def test_the_status_line_has_the_progress_and_the_next_task() -> None:
    plan = flat(Task("a", COMPLETED), Task("b"), Task("Write parser", IN_PROGRESS, number=4))

    assert line(plan) == "✓ 1/3 · #4 Write parser"
    assert line(plan_of("a")) == "✓ 0/1 · #1 a"


def test_a_finished_plan_has_only_its_progress_and_no_plan_no_text() -> None:
    assert line(flat(Task("a", COMPLETED))) == "✓ 1/1"
    assert line(Plan()) == ""


def test_the_directive_is_shown_even_without_a_plan() -> None:
    assert line(plan_of("a"), Directive.PAUSE) == "✓ 0/1 · #1 a · paused"
    assert line(Plan(), Directive.STOP) == "stopped"


def test_the_task_is_sanitized_and_clipped() -> None:
    shown = line(plan_of(f"x\n\x1b[2J{'y' * 100}"))

    assert shown.startswith("✓ 0/1 · #1 x⏎␛[2Jyyy")
    assert shown.endswith("y…")
    assert len(shown) == len("✓ 0/1 · #1 ") + MAX_TASK_CHARS


def test_a_task_that_an_agent_set_aside_is_named() -> None:
    assert status_line(State("e", plan_of("a")), held_up="the agent set aside #1") == (
        "✓ 0/1 · #1 a · needs you: the agent set aside #1"
    )
