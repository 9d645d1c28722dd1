"""Texts of status bars and widgets."""

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.model import Plan, Task, flat
from tildone.plan.text.safe import active_tasks, countdown_text, status_text


def test_the_status_text_shows_the_progress() -> None:
    """Abandoned tasks count as closed."""
    assert status_text(flat(Task("a", COMPLETED), Task("b"), Task("c", ABANDONED))) == "📋 2/3"
    assert status_text(flat(Task("a", COMPLETED), Task("b", ABANDONED))) == "✓ Done (2 items)"


def test_there_is_no_status_text_without_a_plan() -> None:
    assert status_text(Plan()) is None
    assert active_tasks(Plan()) is None


def test_every_task_in_progress_has_one_line() -> None:
    plan = flat(Task("a", IN_PROGRESS), Task("b"), Task("c\nd", IN_PROGRESS))

    assert active_tasks(plan) == "[0] a\n[2] c⏎d"
    assert active_tasks(plan_of("a")) is None


def test_a_countdown_says_how_to_interrupt_it() -> None:
    """In the words of the original."""
    assert countdown_text(2) == "⏳ Auto-continuing in 2s... (type anything to interrupt)"
