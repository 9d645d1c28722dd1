"""Blame: who added each task and who set its status."""

from tests.history.histories import history
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.events import Actor, Call, Event, PlanChanged
from tildone.plan.history.blame import MAX_ARGUMENT_CHARS, TaskHistory, blame_lines, task_histories
from tildone.plan.model import Check, Phase, Plan, Task, flat
from tildone.plan.text.styles import display_width, plain


def shown(found: list[TaskHistory], columns: int | None = None, *, whole: bool = False) -> list[str]:
    short = {step.event.id: step.event.id for entry in found for step in entry.steps}
    return [plain(line) for line in blame_lines(found, "t{}".format, short, columns, whole=whole)]


EVENTS = history(
    Plan((Phase("Build", (Task("Parse"), Task("Wire"))), Phase("Ship"))),
    Plan((Phase("Build", (Task("Parse", IN_PROGRESS), Task("Wire"))), Phase("Ship"))),
    Plan((Phase("Build", (Task("Wire"),)), Phase("Ship", (Task("Parse", IN_PROGRESS, ("why\nnot",)),)))),
    Plan((Phase("Build", (Task("Wire"),)), Phase("Ship", (Task("Parse", COMPLETED),)))),
    tool="todo_write",
)


def test_blame_shows_who_added_each_task_and_who_set_its_status() -> None:
    """With the event, the time and the tool."""
    assert shown(task_histories(EVENTS)) == [
        "– #1 Wire  Build",
        "  a  t0  agent  added  todo_write",
        "✓ #2 Parse  Ship",
        "  a  t0  agent  added  todo_write",
        "  d  t180000  agent  completed (2m)  todo_write",
    ]


def test_the_full_history_lists_every_change_with_its_call() -> None:
    """Moves and notes are included; a blank line separates tasks."""
    assert shown(task_histories(EVENTS), whole=True) == [
        "– #1 Wire  Build",
        "  a  t0  agent  added",
        '                todo_write {"n":0}',
        "",
        "✓ #2 Parse  Ship",
        "  a  t0  agent  added",
        '                todo_write {"n":0}',
        "  b  t60000  agent  started",
        '                    todo_write {"n":1}',
        "  c  t120000  agent  moved to Ship",
        "                     noted: why⏎not",
        '                     todo_write {"n":2}',
        "  d  t180000  agent  completed (2m)",
        "                     took off the note: why⏎not",
        '                     todo_write {"n":3}',
    ]


def test_a_removed_task_shows_its_removal() -> None:
    """An edit by a person has no tool call."""
    events = history(flat(Task("a", IN_PROGRESS), Task("b", COMPLETED)), plan_of(), actor=Actor.USER)

    assert shown(task_histories(events)) == [
        "✓ b",
        "  a  t0  user  added, completed",
        "  b  t60000  user  removed",
        "● a",
        "  a  t0  user  added, started",
        "  b  t60000  user  removed (1m)",
    ]
    assert shown(task_histories(events)[1:], whole=True)[-1] == "  b  t60000  user  removed (1m)"


def test_a_move_within_a_phase_names_no_target() -> None:
    events = history(plan_of("a", "b", "c"), plan_of("c", "a", "b"))

    assert shown(task_histories(events)[:1], whole=True)[2] == "  b  t60000  agent  moved"


def test_arguments_are_clipped_and_sanitized() -> None:
    """A model wrote them; they may be long."""
    fact = PlanChanged(plan_of("a"), Call("x\x1b[2J", "\n" * 900))

    [_, _, line] = shown(task_histories([Event("a", None, 0, Actor.AGENT, fact)]), whole=True)

    assert line.endswith(f"x␛[2J {'⏎' * MAX_ARGUMENT_CHARS}…")


def test_no_line_is_wider_than_the_terminal() -> None:
    for columns in range(100):
        assert all(display_width(line) <= columns for line in shown(task_histories(EVENTS), columns, whole=True))
    assert shown(task_histories(EVENTS)[1:], 36) == [
        "✓ #2 Parse  Ship",
        "  a  t0  agent",
        "    added  todo_write",
        "  d  t180000  agent",
        "    completed (2m)  todo_write",
    ]


def test_blame_shows_who_set_the_check() -> None:
    """Of several, the last; in the order of events."""
    first, second = Check(("make",)), Check(("tox",))
    plans = [flat(Task("a", number=1)), *(flat(Task("a", number=1, check=check)) for check in (first, second))]
    lines = shown(task_histories(history(*plans, flat(Task("a", COMPLETED, number=1, check=second)))))

    assert [line.split("agent")[1].strip() for line in lines[1:]] == [
        "added",
        "changed the check: $ tox (was $ make)",
        "completed",
    ]
