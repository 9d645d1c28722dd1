"""Two sides edit a plan at the same time: the answer is the change as meant, or a clash; nothing is overwritten."""

from collections import Counter
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tildone.app.moves import plan_without
from tildone.app.rebase import (
    ORDER,
    STATUS,
    TEXT,
    MoveTasks,
    NewTasks,
    NoteOnTask,
    PlanOp,
    Rebase,
    RemoveTasks,
    SetPart,
)
from tildone.base import replace
from tildone.plan.history.changes import match_plans, task_at, task_locations
from tildone.plan.model import Phase, Plan, Rules, Status, Task, numbered
from tildone.plan.ops import Append, At, Mark, Move, Note, Op, Order, Remove, Rename, Touch
from tildone.plan.reduce import reduce

RULES = Rules(atomic=True)
NAMES = {STATUS: "status", TEXT: "text", ORDER: "after", "files": "touches"}
TEXTS = st.sampled_from(["one", "two", "three", "four", "five"])
STATUSES = st.sampled_from(list(Status))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    # Few tasks, so that both sides often mean the same one.
    phases = draw(st.lists(st.lists(st.tuples(TEXTS, STATUSES), max_size=2), min_size=1, max_size=2))
    names = ["Read", "Build"]
    listed = [Phase(names[i], tuple(Task(text, status) for text, status in tasks)) for i, tasks in enumerate(phases)]
    return numbered(Plan(tuple(listed)))


def changes(total: int) -> st.SearchStrategy[list[Op]]:
    """What others do, by positions that are valid as long as nothing is removed before."""
    places = st.integers(0, max(0, total - 1)).map(lambda at: At((at,)))
    kinds: list[st.SearchStrategy[Op]] = [st.builds(Append, st.tuples(st.builds(Task, TEXTS)))]
    if total:
        kinds += [
            st.builds(Mark, places, STATUSES),
            st.builds(Rename, places, TEXTS),
            st.builds(Touch, places, st.just(("theirs",))),
            st.builds(Order, places, st.just(())),
            st.builds(Note, places, st.just("theirs")),
            st.builds(Move, places, places),
            st.builds(Remove, places),
        ]
    return st.lists(st.one_of(kinds), max_size=4)


def plan_ops(total: int) -> st.SearchStrategy[list[PlanOp]]:
    places = st.integers(0, max(0, total - 1))
    several = st.lists(places, min_size=1, max_size=3, unique=True).map(tuple)
    new = st.tuples(st.sampled_from(["new", "newer"]))
    kinds: list[st.SearchStrategy[PlanOp]] = [
        st.builds(NewTasks, new),
        st.builds(NewTasks, new, st.integers(0, total)),
    ]
    if total:
        kinds += [
            st.builds(SetPart, several, st.just(STATUS), STATUSES),
            st.builds(SetPart, st.tuples(places), st.just(TEXT), st.just("mine")),
            st.builds(SetPart, several, st.just("files"), st.sampled_from([("mine",), ("theirs",)])),
            st.builds(SetPart, several, st.just(ORDER), st.just(())),
            st.builds(NoteOnTask, places, st.just("mine")),
            st.builds(MoveTasks, several, places),
            st.builds(RemoveTasks, several),
        ]
    return st.lists(st.one_of(kinds), min_size=1, max_size=3)


def meant(base: Plan, now: Plan, ops: list[PlanOp]) -> tuple[dict[int, Task | None], Counter[str], bool]:
    """The tasks by number as they should become, the texts of new ones, and whether the two sides clash."""
    origins = {origin: location for location, origin in match_plans(base, now).origins.items()}
    places = [(task_at(base, at), origins.get(at)) for at in task_locations(base)]
    tasks: dict[int, Task | None] = {task.number: task for task in now.tasks}
    new: Counter[str] = Counter()
    clash = False

    def each(
        positions: tuple[int, ...], fits: Callable[[Task, Task], bool], change: Callable[[Task], Task | None]
    ) -> None:
        nonlocal clash
        for at in positions:
            seen, place = places[at]
            today = None if place is None else task_at(now, place)
            if today is None or not fits(seen, today):
                clash = True
            elif (current := tasks[today.number]) is not None:
                tasks[today.number] = change(current)

    for op in ops:
        match op:
            case SetPart(positions, part, wanted):
                each(positions, _fits(NAMES[part], wanted), _with(**{NAMES[part]: wanted}))
            case NoteOnTask(at, text):
                each((at,), lambda _seen, _today: True, _noted(text))
            case MoveTasks(positions):
                each(positions, lambda _seen, _today: True, lambda task: task)
            case RemoveTasks(positions):
                present = tuple(at for at in positions if places[at][1] is not None)
                each(present, lambda seen, today: _plain(seen) == _plain(today), lambda _task: None)
            case NewTasks(texts):
                new.update(texts)
    return tasks, new, clash


def _plain(task: Task) -> Task:
    """What a removal takes away: a task whose order or files others changed is removed all the same."""
    return Task(task.text, task.status, task.notes)


def _fits(part: str, wanted: object) -> Callable[[Task, Task], bool]:
    return lambda seen, today: getattr(today, part) in (getattr(seen, part), wanted)


def _with(**fields: object) -> Callable[[Task], Task]:
    return lambda task: replace(task, **fields)


def _noted(note: str) -> Callable[[Task], Task]:
    return lambda task: replace(task, notes=(*task.notes, note))


@settings(max_examples=3 * settings().max_examples)
@given(st.data())
def test_no_update_is_lost(data: st.DataObject) -> None:
    base = data.draw(plans())
    now = base
    for op in data.draw(changes(len(base.tasks))):
        now = reduce(now, [op], Rules()).after
    ops = data.draw(plan_ops(len(base.tasks)))
    tasks, new, clash = meant(base, now, ops)
    rebase = Rebase(base, now)
    steps = [step for op in ops for step in rebase.steps(op)]

    assert bool(rebase.clashes) is clash
    if clash:
        return
    outcome = reduce(now, steps, RULES)
    removed_first = any(isinstance(op, RemoveTasks) for op in ops)
    if outcome.faults:
        # Two ops of one request contradict each other: a task was removed, and then changed.
        assert removed_first
        return
    after = {task.number: task for task in outcome.after.tasks}
    assert {number: task for number, task in after.items() if number in tasks} == {
        number: task for number, task in tasks.items() if task is not None
    }
    assert Counter(task.text for number, task in after.items() if number not in tasks) == new


@given(st.data())
def test_taking_back_a_change_leaves_what_others_did(data: st.DataObject) -> None:
    before = data.draw(plans())
    after = before
    for op in data.draw(changes(len(before.tasks))):
        after = reduce(after, [op], Rules()).after
    now = reduce(after, [Append((Task("theirs"),))], Rules()).after
    found = plan_without((before, after), now)

    assert isinstance(found, Plan)
    expected = Counter((task.text, task.status, task.notes) for task in before.tasks)
    expected["theirs", Status.PENDING, ()] += 1
    assert Counter((task.text, task.status, task.notes) for task in found.tasks) == expected
