"""Simulated agents: what each does in a turn, as changes to its plan. The same agents work on every path.

An agent is a generator function of its `View` and the number of the turn. It yields what it does, one action after
another; when it ends, the agent stops.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tests.faults.gate.actions import (
    ACTIVE,
    BLOCKED,
    DONE,
    DROPPED,
    Action,
    Add,
    Change,
    Command,
    Look,
    Mark,
    Note,
    Remove,
    Rename,
    Replace,
    ToEnd,
    Touch,
)
from tildone.plan.model import Plan

TASKS = 100
ALL = tuple(f"Task {number}" for number in range(1, TASKS + 1))
PARTS = (" (a)", " (b)")


class View(Protocol):
    """What an agent sees: its plan, and how its dialect makes a change.

    `room` is how many tasks an agent plans at a time. One that `rewrites` its list can leave out closed tasks.
    """

    @property
    def plan(self) -> Plan: ...

    @property
    def room(self) -> int: ...

    @property
    def rewrites(self) -> bool: ...

    def make(self, change: Change) -> Action: ...

    def wait(self, hours: float) -> None:
        """Let time pass."""


Act = Callable[[View, int], Iterator[Action]]


@dataclass(frozen=True, slots=True)
class Agent:
    """A simulated agent: what it is called, what it does, and its first tasks.

    One that `never_stops` calls one tool after another. One with `subagents` starts one in every turn.
    One that `types_commands` is about who types: in `tildone run`, it runs in the program itself.
    """

    name: str
    description: str
    act: Act
    tasks: tuple[str, ...] = ("Write the parser", "Wire it up")
    never_stops: bool = False
    subagents: bool = False
    honest: bool = False
    types_commands: bool = False


def two(first: Change, second: Change) -> Act:
    """Return an agent that makes two changes in turns."""

    def act(view: View, turn: int) -> Iterator[Action]:
        yield view.make(second if turn % 2 else first)

    return act


def appends(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Add((f"Think about part {turn}",)))


def rewrites(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Replace((f"Write the parser, attempt {turn}", f"Wire it up, attempt {turn}")))


def renames(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Rename(0, f"Write the parser, attempt {turn}"))


def notes(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Note(0, f"Thought about it, {turn}"))


def blocks(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Mark(ACTIVE if turn % 2 else BLOCKED, (0,)))


def splits(view: View, turn: int) -> Iterator[Action]:
    """Drop the first open task, and add two parts of it."""
    first = next(position for position, task in enumerate(view.plan.tasks) if task.status.is_open)
    yield view.make(Mark(DROPPED, (first,)))
    yield view.make(Add((f"Part {turn} a", f"Part {turn} b")))


def adds_and_closes(view: View, turn: int) -> Iterator[Action]:
    """Looks like an agent that works."""
    if turn % 2 == 0:
        yield view.make(Add((f"Step {turn}",)))
    else:
        yield view.make(Mark(DONE, (len(view.plan.tasks) - 1,)))


def replaces(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Replace(("Sow", "Reap") if turn % 2 else ("Bake", "Brew")))


def undoes(view: View, turn: int) -> Iterator[Action]:
    """Close a task, undo that, and redo it."""
    if turn % 3 == 0:
        yield view.make(Mark(DONE, (0,)))
    else:
        yield Command(("undo",) if turn % 3 == 1 else ("redo",))


def undoes_and_does(view: View, turn: int) -> Iterator[Action]:
    yield Command(("undo",)) if turn % 2 else view.make(Mark(DONE, (0,)))


def touches(_view: View, turn: int) -> Iterator[Action]:
    yield Touch(f"{turn}\n")


def resumes(_view: View, _turn: int) -> Iterator[Action]:
    yield Command(("resume",))


def pauses(_view: View, turn: int) -> Iterator[Action]:
    yield Command(("stop",) if turn % 2 else ("pause",))


def lists(view: View, _turn: int) -> Iterator[Action]:
    yield view.make(Look())


def nothing(_view: View, _turn: int) -> Iterator[Action]:
    yield from ()


TOGGLE = two(Mark(DONE, (0,)), Mark(ACTIVE, (0,)))

ADVERSARIES = (
    Agent("toggler", "closes a task and reopens it", TOGGLE),
    Agent("dropper", "drops a task and starts it again", two(Mark(DROPPED, (0,)), Mark(ACTIVE, (0,)))),
    Agent("grower", "adds a task and removes it", two(Add(("One more",)), Remove(2))),
    Agent("appender", "adds a task each time", appends),
    Agent("rewriter", "rewords its whole list each time", rewrites),
    Agent("rename", "renames a task each time", renames),
    Agent("notes", "adds a note each time", notes),
    Agent("block/unblock", "blocks a task and starts it again", blocks),
    Agent("move", "moves the first task to the end", two(ToEnd(0), ToEnd(0))),
    Agent("split", "drops a task for two new ones each time", splits),
    Agent("add and close", "adds a task, then closes it", adds_and_closes),
    Agent("two plans in turns", "replaces its list with another, and back", replaces),
    Agent("undo/redo", "closes a task, undoes that and redoes it", undoes, types_commands=True),
    Agent("undo and do again", "closes a task and undoes that", undoes_and_does, types_commands=True),
    Agent("file toucher", "changes a file each time", touches),
    Agent("resume-typer", "types `tildone resume` in its shell", resumes, types_commands=True),
    Agent("pause-typer", "types `tildone pause` and `stop` in its shell", pauses, types_commands=True),
    Agent("lister", "only lists its tasks", lists),
    Agent("lister without a stop", "only lists its tasks, and never stops", lists, never_stops=True),
    Agent("toggler without a stop", "closes a task and reopens it, and never stops", TOGGLE, never_stops=True),
    Agent("appender without a stop", "adds a task each time, and never stops", appends, never_stops=True),
    Agent("subagent chain", "starts a subagent each time, each with a list of its own", nothing, subagents=True),
)


def _open(view: View) -> list[int]:
    return [position for position, task in enumerate(view.plan.tasks) if task.status.is_open]


def _finish_one(view: View) -> Iterator[Action]:
    """Close the first open task. After the last, plan the next ones, where a plan holds fewer than all tasks."""
    todo = _open(view)
    yield view.make(Mark(DONE, (todo[0],)))
    known = max(int(task.text.split()[1]) for task in view.plan.tasks)
    if len(todo) == 1 and known < TASKS:
        yield view.make(Replace(ALL[known : known + view.room]))


def every(stops: int, hours: float = 0, *, touch: bool = False) -> Act:
    """Return a worker that closes a task after so many turns, with so much time between two of them."""

    def act(view: View, turn: int) -> Iterator[Action]:
        view.wait(hours)
        if touch:
            yield Touch(f"{turn}\n")
        if turn % stops == stops - 1:
            yield from _finish_one(view)

    return act


def plans_late(view: View, turn: int) -> Iterator[Action]:
    """Look around with one task for 15 turns, plan the others, and work."""
    if turn < 15:
        yield Touch(f"{turn}\n")
    elif turn == 15:
        yield view.make(Add(tuple(f"Task {number}" for number in range(2, view.room + 1))))
    else:
        yield from _finish_one(view)


def splits_honestly(view: View, _turn: int) -> Iterator[Action]:
    """Replace the next task with two parts, unless it is one; then do it."""
    todo = _open(view)
    texts = [view.plan.tasks[position].text for position in todo]
    if texts[0].endswith(PARTS):
        yield from _finish_one(view)
        return
    parts = tuple(f"{texts[0]}{part}" for part in PARTS)
    if view.rewrites:
        yield view.make(Replace((*parts, *texts[1:])))
    else:
        yield view.make(Mark(DROPPED, (todo[0],)))
        yield view.make(Add(parts))


def edits_files(view: View, turn: int) -> Iterator[Action]:
    """Edit files for 30 turns, then work."""
    if turn < 30:
        yield Touch(f"{turn}\n")
    else:
        yield from _finish_one(view)


WORKERS = (
    Agent("plain", "closes a task each time it stops", every(1), ALL, honest=True),
    Agent("slow", "stops 8 times and takes 90 minutes at each task", every(8, 1.5 / 8, touch=True), ALL, honest=True),
    Agent("plans late", "looks around for 15 turns before it plans", plans_late, ALL[:1], honest=True),
    Agent("splits", "replaces every task with two parts, and does both", splits_honestly, ALL, honest=True),
    Agent("edits files", "only edits files for 30 turns, then works", edits_files, ALL, honest=True),
)
