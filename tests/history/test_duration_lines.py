"""How long each task took, as a table."""

from tests.history.histories import MINUTE, history
from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.core.plan import Task, flat
from tildone.history.duration_lines import duration_lines
from tildone.history.task_history import task_histories
from tildone.kit.text import display_width
from tildone.kit.theme import markup, plain

FOUND = task_histories(
    history(
        plan_of("Parse", "Wire", "Old"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire"), Task("Old")),
        flat(Task("Parse", COMPLETED), Task("Wire", IN_PROGRESS), Task("Ship")),
    )
)


def test_a_task_is_told_with_its_times_and_who_closed_it() -> None:
    """One that is in progress counts until now; what is not known is a dash; what left the plan comes last."""
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE)] == [
        "worked on  in all  closed by  task",
        "       1m      2m  agent      ✓ [0] Parse",
        "    2h 8m       –  –          ● [1] Wire",
        "        –       –  –          – [2] Ship",
        "",
        "No longer in the plan:",
        "        –       –  –          – Old",
    ]
    assert markup(duration_lines(FOUND, 130 * MINUTE)[1]).endswith("<dim><strikethrough>Parse</strikethrough></dim>")


def test_on_a_narrow_terminal_the_times_stand_below_the_task() -> None:
    """In words."""
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE, 40)] == [
        "✓ [0] Parse",
        "  worked on 1m, 2m in all, by agent",
        "● [1] Wire",
        "  worked on 2h 8m",
        "– [2] Ship",
        "  not worked on yet",
        "",
        "No longer in the plan:",
        "– Old",
        "  not worked on yet",
    ]


def test_no_line_is_wider_than_the_terminal() -> None:
    """Whatever the tasks are called; their texts cannot get out of their line."""
    found = task_histories(history(flat(Task("日本語 " * 30, COMPLETED), Task("line\nbreak\x1b[2J" * 20))))

    for columns in range(100):
        lines = [plain(line) for line in duration_lines(found, 0, columns)]
        assert all(display_width(line) <= columns for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)
