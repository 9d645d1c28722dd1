"""Simulated agents: what each does in a turn, as changes to its plan, and how it ended.

The agents are the same on every path. An agent is a generator function of its `View` and the number of the turn. It
yields what it does, one action after another; when it ends, the agent stops. An action is carried out by the calls of a
dialect: one without an operation for a change rewrites its list, if it can; otherwise the agent types a command of
tildone in its shell. So every agent can do everything.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from unittest.mock import patch

from tildone.log.session import Session
from tildone.plan.dialects.declared import WORDS
from tildone.plan.model import Phase, Plan, Rules, Status, Task
from tildone.plan.ops import Append, At, Mark, Move, Note, Remove, Rename, Write
from tildone.plan.reduce import reduce
from tildone.plan.text.amounts import describe_bound

PHASE = "Work"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool of the dialect."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of tildone that the agent types in its shell."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """A change of a file in the project."""

    text: str


Action = Call | Command | Touch


@dataclass(frozen=True, slots=True)
class Look:
    """List the tasks."""


Change = Append | Mark | Move | Note | Remove | Rename | Write | Look


def mark(status: Status, *positions: int) -> Mark:
    return Mark(At(positions), status)


def add(*texts: str) -> Append:
    return Append(tuple(map(Task, texts)))


def replace_by(*texts: str) -> Write:
    return Write((Phase("", tuple(map(Task, texts))),))


def at(position: int) -> At:
    return At((position,))


TO_END = Move(At((0,)))
"""Move the first task to the end."""

ACTIVE, DONE, DROPPED, BLOCKED = Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED, Status.BLOCKED
VERBS = {ACTIVE: "start", DONE: "done", DROPPED: "drop", Status.PENDING: "reopen", BLOCKED: "block"}
INDEXED_ACTIONS = {ACTIVE: "start", DONE: "complete", DROPPED: "abandon"}


def numbers_of(plan: Plan, change: Change) -> list[int]:
    """Return the numbers of the tasks that a change names by position."""
    match change:
        case Mark(At(positions)) | Move(At(positions)) | Note(At(positions)) | Remove(At(positions)):
            return [plan.tasks[position].number for position in positions]
        case Rename(At(positions)):
            return [plan.tasks[position].number for position in positions]
        case _:
            return []


def typed(plan: Plan, change: Change) -> Action:
    """Return the command with which a change is made in a shell."""
    numbers = tuple(map(str, numbers_of(plan, change)))
    match change:
        case Mark(At((first, *_)), status):
            was_blocked = status is Status.PENDING and plan.tasks[first].status is BLOCKED
            return Command(("todo", "unblock" if was_blocked else VERBS[status], *numbers))
        case Append(tasks):
            return Command(("todo", "add", "--", *(task.text for task in tasks)))
        case Remove():
            return Command(("todo", "rm", *numbers))
        case Rename(_, text):
            return Command(("todo", "rename", *numbers, text))
        case Note(_, text):
            return Command(("todo", "note", *numbers, text))
        case Move():
            return Command(("todo", "move", *numbers, "--last"))
        case _:
            raise ValueError(change)


def brief(plan: Plan, change: Change) -> Action:
    numbers = numbers_of(plan, change)
    match change:
        case Mark(_, status) if status in (ACTIVE, DONE, DROPPED):
            return Call("todo", {VERBS[status]: numbers})
        case Mark(_, status) if status is BLOCKED:
            return Call("todo", {"block": f"{numbers[0]} waits"})
        case Append(tasks):
            return Call("todo", {"add": [task.text for task in tasks]})
        case Note(_, text):
            return Call("todo", {"note": f"{numbers[0]} {text}"})
        case Move():
            return Call("todo", {"move": str(numbers[0])})
        case Write((phase,)):
            left = [task.number for task in plan.tasks if task.status.is_open]
            return Call("todo", {**({"drop": left} if left else {}), "add": [task.text for task in phase.tasks]})
        case Look():
            return Call("todo", {})
        case _:
            return typed(plan, change)


def indexed(plan: Plan, change: Change) -> Action:
    def write(mode: str, tasks: Sequence[Task]) -> Call:
        return Call("write_todos", {"mode": mode, "todos": [{"text": task.text} for task in tasks]})

    match change:
        case Mark(At(positions), status) if status in INDEXED_ACTIONS:
            return Call("edit_todos", {"action": INDEXED_ACTIONS[status], "indices": list(positions)})
        case Append(tasks):
            return write("append", tasks)
        case Look():
            return Call("list_todos", {})
        case Mark() | Note():
            return typed(plan, change)
        case _:
            return write("replace", rewritten(plan, change))


def phased(plan: Plan, change: Change) -> Action:
    def ops(*entries: dict[str, Any]) -> Call:
        return Call("todo_write", {"ops": list(entries)})

    match change:
        case Mark(At(positions), status) if status in (ACTIVE, DONE, DROPPED):
            return ops(*({"op": VERBS[status], "task": plan.tasks[position].text} for position in positions))
        case Append(tasks):
            phase, items = plan.phases[-1].name if plan.phases else PHASE, [task.text for task in tasks]
            return ops({"op": "append", "phase": phase, "items": items})
        case Remove(At((position,))):
            return ops({"op": "rm", "task": plan.tasks[position].text})
        case Note(At((position,)), text):
            return ops({"op": "note", "task": plan.tasks[position].text, "text": text})
        case Look():
            # A call that names no task reads the list, and is refused.
            return ops({"op": "start", "task": "?"})
        case Mark():
            return typed(plan, change)
        case _:
            items = [task.text for task in rewritten(plan, change)]
            return ops({"op": "init", "list": [{"phase": PHASE, "items": items}]})


def declared(plan: Plan, change: Change) -> Action:
    if isinstance(change, Note) or (isinstance(change, Mark) and change.status is BLOCKED):
        return typed(plan, change)
    todos = [{"content": task.text, "status": WORDS[task.status]} for task in rewritten(plan, change)]
    return Call("TodoWrite", {"summary": "Work", "todos": todos})


def rewritten(plan: Plan, change: Change) -> tuple[Task, ...]:
    """Return the tasks of a plan after a change, for dialects that send the whole list."""
    started = isinstance(change, Mark) and change.status is ACTIVE
    active = tuple(number for number, task in enumerate(plan.tasks) if started and task.status is ACTIVE)
    steps = [] if isinstance(change, Look) else [mark(Status.PENDING, *active), change]
    return reduce(plan, steps, Rules(atomic=False)).after.tasks


Translate = Callable[[Plan, Change], Action]
DIALECTS: dict[str, Translate] = {"indexed": indexed, "phased": phased, "declared": declared, "brief": brief}

ROOM = {"indexed": 99, "phased": 100, "declared": 9, "brief": 60}
"""How many tasks an honest worker plans at a time: as many as the dialect holds, with their parts."""

REWRITES = frozenset({"indexed", "declared"})
"""The dialects whose agents replace the whole list."""


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
    yield view.make(add(f"Think about part {turn}"))


def rewrites(view: View, turn: int) -> Iterator[Action]:
    yield view.make(replace_by(f"Write the parser, attempt {turn}", f"Wire it up, attempt {turn}"))


def renames(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Rename(at(0), f"Write the parser, attempt {turn}"))


def notes(view: View, turn: int) -> Iterator[Action]:
    yield view.make(Note(at(0), f"Thought about it, {turn}"))


def blocks(view: View, turn: int) -> Iterator[Action]:
    yield view.make(mark(ACTIVE if turn % 2 else BLOCKED, 0))


def splits(view: View, turn: int) -> Iterator[Action]:
    """Drop the first open task, and add two parts of it."""
    first = next(position for position, task in enumerate(view.plan.tasks) if task.status.is_open)
    yield view.make(mark(DROPPED, first))
    yield view.make(add(f"Part {turn} a", f"Part {turn} b"))


def adds_and_closes(view: View, turn: int) -> Iterator[Action]:
    """Looks like an agent that works."""
    if turn % 2 == 0:
        yield view.make(add(f"Step {turn}"))
    else:
        yield view.make(mark(DONE, len(view.plan.tasks) - 1))


def replaces(view: View, turn: int) -> Iterator[Action]:
    yield view.make(replace_by(*(("Sow", "Reap") if turn % 2 else ("Bake", "Brew"))))


def undoes(view: View, turn: int) -> Iterator[Action]:
    """Close a task, undo that, and redo it."""
    if turn % 3 == 0:
        yield view.make(mark(DONE, 0))
    else:
        yield Command(("undo",) if turn % 3 == 1 else ("redo",))


def undoes_and_does(view: View, turn: int) -> Iterator[Action]:
    yield Command(("undo",)) if turn % 2 else view.make(mark(DONE, 0))


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


TOGGLE = two(mark(DONE, 0), mark(ACTIVE, 0))

ADVERSARIES = (
    Agent("toggler", "closes a task and reopens it", TOGGLE),
    Agent("dropper", "drops a task and starts it again", two(mark(DROPPED, 0), mark(ACTIVE, 0))),
    Agent("grower", "adds a task and removes it", two(add("One more"), Remove(at(2)))),
    Agent("appender", "adds a task each time", appends),
    Agent("rewriter", "rewords its whole list each time", rewrites),
    Agent("rename", "renames a task each time", renames),
    Agent("notes", "adds a note each time", notes),
    Agent("block/unblock", "blocks a task and starts it again", blocks),
    Agent("move", "moves the first task to the end", two(TO_END, TO_END)),
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
    yield view.make(mark(DONE, todo[0]))
    known = max(int(task.text.split()[1]) for task in view.plan.tasks)
    if len(todo) == 1 and known < TASKS:
        yield view.make(replace_by(*ALL[known : known + view.room]))


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
        yield view.make(add(*(f"Task {number}" for number in range(2, view.room + 1))))
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
        yield view.make(replace_by(*parts, *texts[1:]))
    else:
        yield view.make(mark(DROPPED, todo[0]))
        yield view.make(add(*parts))


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


MAX_CONTINUATIONS = 4000
MAX_REQUESTS = 25_000
"""Beyond every bound: an agent that is continued so often is continued for ever."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent ended: `count` is how often it was continued, in `tildone run` how many requests its model got.

    `why` says what ended it; `done` means that no task is open, and `bound` that a bound was reached. `was_held` means
    that it was told to go on. `notices` are what the person was told.
    """

    count: int
    why: str
    done: bool
    notices: tuple[str, ...] = ()
    bound: bool = False
    was_held: bool = False


def end_of(session: Session, count: int, notices: tuple[str, ...] = ()) -> Ended:
    """Return how an agent ended, according to the history of its session."""
    done = not any(task.status.is_open for task in session.plan.tasks)
    reached = session.state.tripped
    why = describe_bound(reached.bound, reached.limit) if reached else "its plan is done" if done else "it stopped"
    return Ended(count, why, done, notices, reached is not None, session.state.ledger.continued > 0)


NS_PER_HOUR = 3_600_000_000_000


@contextmanager
def running_ahead(hours: Callable[[], float]) -> Iterator[None]:
    """Let every clock of tildone in this process run ahead by so many hours."""
    real = time.time_ns

    def ahead() -> int:
        return real() + int(hours() * NS_PER_HOUR)

    # The fast path of hooks has a name of its own for it.
    with patch("time.time_ns", ahead), patch("tildone.agents.hooks.fast_path.time_ns", ahead):
        yield


class PlanView:
    """The plan of an agent, and the hours that it has spent. `room` is how many tasks its dialect allows."""

    def __init__(self, dialect: str, session: Session) -> None:
        self.dialect, self.session = dialect, session
        self.room, self.rewrites = ROOM[dialect], dialect in REWRITES
        self.hours = 0.0

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def make(self, change: Change) -> Action:
        return DIALECTS[self.dialect](self.plan, change)

    def wait(self, hours: float) -> None:
        self.hours += hours
