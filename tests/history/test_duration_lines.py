"""The table of task durations."""

from tests.history.histories import MINUTE, history
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.history.blame import task_histories
from tildone.plan.history.stats_lines import duration_lines
from tildone.plan.model import Task, flat
from tildone.plan.text.styles import display_width, markup, plain

FOUND = task_histories(
    history(
        plan_of("Parse", "Wire", "Old"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire"), Task("Old")),
        flat(Task("Parse", COMPLETED), Task("Wire", IN_PROGRESS), Task("Ship")),
    )
)


def test_each_task_is_listed_with_its_durations_and_who_closed_it() -> None:
    """A task in progress counts until now; unknown values are dashes; removed tasks come last."""
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE)] == [
        "worked on  in all  closed by  task",
        "       1m      2m  agent      ✓ #1 Parse",
        "    2h 8m       –  –          ● #2 Wire",
        "        –       –  –          – #3 Ship",
        "",
        "No longer in the plan:",
        "        –       –  –          – Old",
    ]
    assert markup(duration_lines(FOUND, 130 * MINUTE)[1]).endswith("<dim><strikethrough>Parse</strikethrough></dim>")


def test_on_a_narrow_terminal_the_durations_are_below_the_task() -> None:
    assert [plain(line) for line in duration_lines(FOUND, 130 * MINUTE, 40)] == [
        "✓ #1 Parse",
        "  worked on 1m, 2m in all, by agent",
        "● #2 Wire",
        "  worked on 2h 8m",
        "– #3 Ship",
        "  not worked on yet",
        "",
        "No longer in the plan:",
        "– Old",
        "  not worked on yet",
    ]


def test_no_line_is_wider_than_the_terminal() -> None:
    found = task_histories(history(flat(Task("日本語 " * 30, COMPLETED), Task("line\nbreak\x1b[2J" * 20))))

    for columns in range(100):
        lines = [plain(line) for line in duration_lines(found, 0, columns)]
        assert all(display_width(line) <= columns for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)
