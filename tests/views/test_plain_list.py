"""Plain-text lists for models."""

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.model import Phase, Plan, Task, flat
from tildone.plan.text.safe import numbered_lines, numbered_list


def test_every_task_has_a_line_with_its_icon_and_position() -> None:
    """Positions continue from phase to phase."""
    plan = Plan(
        (Phase("A", (Task("a"), Task("b", IN_PROGRESS))), Phase("B", (Task("c", COMPLETED), Task("d", ABANDONED))))
    )

    assert numbered_list(plan) == "– [0] a\n● [1] b\n✓ [2] c\n✗ [3] d"


def test_an_empty_list_says_so() -> None:
    """A model never gets an empty text."""
    assert numbered_list(Plan()) == "No todos"
    assert numbered_list(Plan((Phase("A"),))) == "No todos"


def test_a_part_of_a_list_keeps_its_positions() -> None:
    """They refer to the whole plan."""
    assert numbered_lines([(3, Task("d")), (7, Task("h"))], 99) == "– [3] d\n– [7] h"
    assert numbered_lines([], 99) == ""


def test_a_text_cannot_forge_a_line_of_the_list() -> None:
    """Nothing else in it is changed."""
    assert numbered_list(flat(Task("a\n✓ [1] b\x1b"))) == "– [0] a⏎✓ [1] b\x1b"
    assert numbered_list(plan_of("a\r\nb")) == "– [0] a⏎b"
