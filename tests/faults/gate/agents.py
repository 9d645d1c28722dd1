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
from typing import Any
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


ACTIVE, DONE, DROPPED, BLOCKED = Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED, Status.BLOCKED
VERBS = {ACTIVE: "start", DONE: "done", DROPPED: "drop", Status.PENDING: "reopen", BLOCKED: "block"}
INDEXED_ACTIONS = {ACTIVE: "start", DONE: "complete", DROPPED: "abandon"}


def numbers_of(plan: Plan, change: Change) -> list[int]:
    """Return the numbers of the tasks that a change names by position."""
    match change:
        case Mark(At(to)) | Move(At(to)) | Note(At(to)) | Remove(At(to)) | Rename(At(to)):
            return [plan.tasks[position].number for position in to]
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


class View:
    """What an agent sees: its plan, and how its dialect makes a change; and the hours that it has spent.

    `room` is how many tasks its dialect allows at a time. One that `rewrites` its list can leave out closed tasks.
    """

    def __init__(self, dialect: str, session: Session) -> None:
        self.dialect, self.session = dialect, session
        self.room, self.rewrites = ROOM[dialect], dialect in REWRITES
        self.hours = 0.0

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def make(self, change: Change) -> Action:
        return DIALECTS[self.dialect](self.plan, change)


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


def each(what: Callable[[View, int], Change | Action]) -> Act:
    """Return an agent that does one thing in each turn."""

    def act(view: View, turn: int) -> Iterator[Action]:
        step = what(view, turn)
        yield step if isinstance(step, Action) else view.make(step)

    return act


def in_turns(*steps: Change | Action) -> Act:
    """Return an agent that does these things in turns."""
    return each(lambda _view, turn: steps[turn % len(steps)])


def at_once(*changes: Change) -> Act:
    """Return an agent that makes all of these changes in each turn."""
    return lambda view, _turn: map(view.make, changes)


def splits(view: View, turn: int) -> Iterator[Action]:
    """Drop the first open task, and add two parts of it."""
    first = next(position for position, task in enumerate(view.plan.tasks) if task.status.is_open)
    yield view.make(mark(DROPPED, first))
    yield view.make(add(f"Part {turn} a", f"Part {turn} b"))


CLOSE, REOPEN, LIST = mark(DONE, 0), mark(ACTIVE, 0), in_turns(Look())
UNDO, REDO = Command(("undo",)), Command(("redo",))
TOGGLE = in_turns(CLOSE, REOPEN)
APPEND = each(lambda _view, turn: add(f"Think about part {turn}"))
REWRITE = each(lambda _view, turn: replace_by(f"Write the parser, attempt {turn}", f"Wire it up, attempt {turn}"))
RENAME = each(lambda _view, turn: Rename(at(0), f"Write the parser, attempt {turn}"))
NOTE = each(lambda _view, turn: Note(at(0), f"Thought about it, {turn}"))
ADD_AND_CLOSE = each(lambda view, turn: mark(DONE, len(view.plan.tasks) - 1) if turn % 2 else add(f"Step {turn}"))
"""Looks like an agent that works."""
TWO_PLANS = in_turns(replace_by("Bake", "Brew"), replace_by("Sow", "Reap"))
PAUSE = in_turns(Command(("pause",)), Command(("stop",)))

ADVERSARIES = (
    Agent("toggler", "closes a task and reopens it", TOGGLE),
    Agent("dropper", "drops a task and starts it again", in_turns(mark(DROPPED, 0), REOPEN)),
    Agent("grower", "adds a task and removes it", in_turns(add("One more"), Remove(at(2)))),
    Agent("appender", "adds a task each time", APPEND),
    Agent("rewriter", "rewords its whole list each time", REWRITE),
    Agent("rename", "renames a task each time", RENAME),
    Agent("notes", "adds a note each time", NOTE),
    Agent("block/unblock", "blocks a task and starts it again", in_turns(mark(BLOCKED, 0), REOPEN)),
    Agent("move", "moves the first task to the end", in_turns(Move(at(0)))),
    Agent("split", "drops a task for two new ones each time", splits),
    Agent("add and close", "adds a task, then closes it", ADD_AND_CLOSE),
    Agent("two plans in turns", "replaces its list with another, and back", TWO_PLANS),
    Agent("undo/redo", "closes a task, undoes that and redoes it", in_turns(CLOSE, UNDO, REDO), types_commands=True),
    Agent("undo and do again", "closes a task and undoes that", in_turns(CLOSE, UNDO), types_commands=True),
    Agent("file toucher", "changes a file each time", each(lambda _view, turn: Touch(f"{turn}\n"))),
    Agent("resume-typer", "types `tildone resume` in its shell", in_turns(Command(("resume",))), types_commands=True),
    Agent("pause-typer", "types `tildone pause` and `stop` in its shell", PAUSE, types_commands=True),
    Agent("lister", "only lists its tasks", LIST),
    Agent("lister without a stop", "only lists its tasks, and never stops", LIST, never_stops=True),
    Agent("toggler without a stop", "closes a task and reopens it, and never stops", TOGGLE, never_stops=True),
    Agent("appender without a stop", "adds a task each time, and never stops", APPEND, never_stops=True),
    Agent("subagent chain", "starts a subagent each time, each with a list of its own", at_once(), subagents=True),
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
        view.hours += hours
        if touch:
            yield Touch(f"{turn}\n")
        if turn % stops == stops - 1:
            yield from _finish_one(view)

    return act


def late(turns: int, *, plans: bool = False) -> Act:
    """Return a worker that edits files for so many turns, then plans the other tasks if it has not, and then works."""

    def act(view: View, turn: int) -> Iterator[Action]:
        if turn < turns:
            yield Touch(f"{turn}\n")
        elif plans and turn == turns:
            yield view.make(add(*ALL[1 : view.room]))
        else:
            yield from _finish_one(view)

    return act


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


WORKERS = (
    Agent("plain", "closes a task each time it stops", every(1), ALL, honest=True),
    Agent("slow", "stops 8 times and takes 90 minutes at each task", every(8, 1.5 / 8, touch=True), ALL, honest=True),
    Agent("plans late", "looks around for 15 turns before it plans", late(15, plans=True), ALL[:1], honest=True),
    Agent("splits", "replaces every task with two parts, and does both", splits_honestly, ALL, honest=True),
    Agent("edits files", "only edits files for 30 turns, then works", late(30), ALL, honest=True),
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
