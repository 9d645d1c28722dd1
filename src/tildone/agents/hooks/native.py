"""The plan follows a coding agent's native todo list: a three-way merge by tasks.

This makes the gate and the board work with models that never call a tool of ours. The model has changed its own list
from `base` to `theirs`, while people and other agents may have changed the plan. A task of the list *is* a task of the
plan if it was before (`NativeTask.number`), or if its text names an open task that is no other task of the list
(`find_tasks`), whoever added it first. How much of the list is applied depends on who made the plan:

- A plan that is empty, has nothing open, or whose newest call was mirrored follows the native list.
- In any other plan, which people made or the model writes with a tool of ours, tasks of the native list are ticked off,
  and nothing else changes.

What others decided about a task outlasts the model's list, which is a copy of an older state (`Decisions`): the model
is told, and what it states after that counts. But a task that others closed is not opened again by a copy: the model
may add it anew.

Each call that a plan follows is recorded in the session as `agent/tool`, with its arguments. The list is noted
(`write_list`) and merged with the next one, which preserves the changes that others made in between.

A model that copies a task into its own list often changes the text a little: upper and lower case, white space,
quotation marks, the full stop, a number in front, or it shortens the text with an ellipsis. These changes are ignored.
No other similarity counts, because a wrong match completes a task that nobody has done. Two texts that differ in a word
are two tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tildone.agents.hooks.context import (
    MAX_NATIVE_TASKS,
    TOOL_SEPARATOR,
    NativeTask,
    arguments,
    calls_with_events,
    native_tasks,
    once,
    read_list,
    status_named,
    write_list,
)
from tildone.agents.hooks.event import HookEvent
from tildone.agents.integrations import HookPoint, TaskAction
from tildone.base import replace, value
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.events import Actor, Call
from tildone.plan.model import Phase, Plan, Rules, Status, Task, numbered, open_tasks
from tildone.plan.ops import Mark, Numbered, Write
from tildone.plan.reduce import Outcome, Step
from tildone.plan.text.safe import safe_text
from tildone.stores.agents import AgentId, AgentRegistry

AnyTask = Task | NativeTask
Reported = tuple[object, object, object]
"""A task that the coding agent reports: its id, its text and its status, as far as it tells them."""


MIN_SHORTENED = 20
"""How many characters of a text have to be left before an ellipsis, so that the rest of it can be inferred."""

MAX_DIGITS = 4
"""A longer number in front of a text is a part of the text."""

_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "`": None})
_AT_END = " .,;:!…"
_ELLIPSES = ("…", "...")
_LIST_MARKS = ("- ", "* ", "• ", "[ ] ", "[x] ")


@value
class Links:
    """The indices of tasks `before` in the earlier list, their `places` in the plan, and those of tasks that it `left`.

    The latter are by their indices in the earlier list.
    """

    before: Sequence[int | None]
    places: Sequence[int | None]
    left: Mapping[int, int]

    def is_new(self, index: int) -> bool:
        """Return whether a task of the list is neither in the earlier list nor in the plan."""
        return self.before[index] is None and self.places[index] is None


def link(base: Sequence[NativeTask], plan: Plan, theirs: Sequence[NativeTask]) -> Links:
    """Find the tasks of a list in the earlier list and in the plan. One that is only in the former was removed."""
    before = _earlier(base, theirs)
    base_places = _places(base, plan)
    _add_renamed(before, base_places, plan, theirs)
    used = {place for place in base_places if place is not None}
    free = [i for i, task in enumerate(plan.tasks) if i not in used and task.status.is_open]
    new = [i for i, old in enumerate(before) if old is None]
    found = find_tasks([theirs[i].text for i in new], [plan.tasks[place] for place in free])
    places = [None if old is None else base_places[old] for old in before]
    for i, index in zip(new, found, strict=True):
        places[i] = None if index is None else free[index]
    left = {j: place for j, place in enumerate(base_places) if j not in before and place is not None}
    return Links(before, places, left)


class Decisions:
    """What others decided about tasks since the list agreed with the plan: whether they are open, and their texts.

    `seen` returns the plan that the model has seen; None if that is not known, so that what it states counts. A list
    that is no copy of an older state has no `seen`.
    """

    def __init__(self, seen: Callable[[], Plan | None] | None = None) -> None:
        self._seen = seen

    def hold(self, task: Task, was: NativeTask | None, status: Status) -> bool:
        """Return whether a task stays as it is, although the model has stated this status for it."""
        if self._seen is None or was is None:
            return False
        decided, stated = _stance(task.status), _stance(status)
        if decided in (stated, _stance(was.status)):
            return False
        # A copy opens no task that others closed.
        is_opening = status.is_open and not task.status.is_open
        return is_opening or self._is_news(task, lambda seen: _stance(seen.status))

    def hold_place(self, task: Task, was: NativeTask) -> bool:
        """Return whether a task stays in the plan, although the model has taken it out."""
        return task.status.is_open and (self.hold(task, was, Status.ABANDONED) or self.hold_text(task, was))

    def hold_text(self, task: Task, was: NativeTask) -> bool:
        """Return whether a task keeps its text, although the model has reworded it."""
        return normalized(task.text) != normalized(was.text) and self._is_news(task, lambda seen: seen.text)

    def _is_news(self, task: Task, fact: Callable[[Task], object]) -> bool:
        plan = self._seen() if self._seen is not None else None
        if plan is None:
            return False
        seen = next((each for each in plan.tasks if each.number == task.number), None)
        return seen is None or fact(seen) != fact(task)


NO_DECISIONS = Decisions()


def _stance(status: Status) -> Status:
    """Return what is decided about a task: whether work on it has begun is not."""
    return Status.PENDING if status is Status.IN_PROGRESS else status


def follow(
    base: Sequence[NativeTask],
    plan: Plan,
    theirs: Sequence[NativeTask],
    *,
    reorder: bool,
    decisions: Decisions = NO_DECISIONS,
) -> Plan:
    """Return the plan that follows the native list.

    What the model changed in its list, it changes in the plan: texts, statuses, new tasks, and tasks that it took out.
    Everything else is as others left it, and what they decided holds (`decisions`). A task that a person added is never
    removed: if the model deletes it, it counts as abandoned, and if the list merely no longer contains it, nothing
    changes.
    """
    links = link(base, plan, theirs)
    tasks: list[Task | None] = list(plan.tasks)
    for index, gone in links.left.items():
        if not plan.tasks[gone].from_user and not decisions.hold_place(plan.tasks[gone], base[index]):
            tasks[gone] = None
    for native, old, place in zip(theirs, links.before, links.places, strict=True):
        if place is None:
            continue
        was = None if old is None else base[old]
        tasks[place] = _followed(plan.tasks[place], was, native, decisions)
        for twin in _twins(plan, links, native) if _is_changed(was, native) else ():
            tasks[twin] = replace(plan.tasks[twin], status=native.status)
    keys = {place: i for i, place in enumerate(links.places) if place is not None}
    new = {i: Task(native.text, native.status) for i, native in enumerate(theirs) if links.is_new(i)}
    return _arranged(plan, tasks, new, keys if reorder else None)


def tick_off(
    base: Sequence[NativeTask], plan: Plan, theirs: Sequence[NativeTask], decisions: Decisions = NO_DECISIONS
) -> list[tuple[int, Status]]:
    """Return the numbers of open tasks that the model started or closed in its own list, and their new statuses."""
    links, marks = link(base, plan, theirs), dict[int, Status]()
    for native, old, place in zip(theirs, links.before, links.places, strict=True):
        was = None if old is None else base[old]
        status = Status.ABANDONED if native.is_deleted else native.status
        if place is None or status is Status.PENDING or not (_is_changed(was, native) or native.is_deleted):
            continue
        own = [] if decisions.hold(plan.tasks[place], was, status) else [place]
        for index in (*own, *_twins(plan, links, native)):
            task = plan.tasks[index]
            if task.status.is_open and task.status is not status:
                marks[task.number] = status
    return list(marks.items())


def without_others(plan: Plan, links: Links, left: frozenset[int]) -> Plan:
    """Return the plan without the tasks that are not in the list, but with those that others `left`."""
    listed, phases, index = set(links.places), [], 0
    for phase in plan.phases:
        kept = [task for i, task in enumerate(phase.tasks, index) if i in listed or task.number in left]
        index += len(phase.tasks)
        phases.append(Phase(phase.name, tuple(kept)))
    return Plan(tuple(phase for phase in phases if phase.tasks), plan.last_number)


def numbered_list(
    base: Sequence[NativeTask], before: Plan, after: Plan, theirs: Sequence[NativeTask]
) -> list[NativeTask]:
    """Return the list with its tasks' numbers in the plan `after` the merge with `before`, to be the next `base`."""
    links = link(base, before, theirs)
    tasks = [
        _numbered(native, None if old is None else base[old], None if place is None else before.tasks[place])
        for native, old, place in zip(theirs, links.before, links.places, strict=True)
    ]
    taken = {task.number for task in tasks}
    free = [task for task in after.tasks if task.number not in taken]
    new = [i for i in range(len(theirs)) if links.is_new(i)]
    for i, index in zip(new, find_tasks([tasks[i].text for i in new], free), strict=True):
        tasks[i] = tasks[i] if index is None else _numbered(tasks[i], None, free[index])
    return [task for task, native in zip(tasks, theirs, strict=True) if not native.is_deleted]


def _earlier(base: Sequence[NativeTask], theirs: Sequence[NativeTask]) -> list[int | None]:
    """The index in `base` of each task: by id, or by text, or because the model reworded it in its place."""
    ids = {task.id: j for j, task in enumerate(base) if task.id}
    if any(task.id for task in theirs):
        return [ids.get(task.id) for task in theirs]
    found = find_tasks([task.text for task in theirs], base)
    if len(base) == len(theirs) and all(j in (i, None) for i, j in enumerate(found)):
        for i, (old, new) in enumerate(zip(base, theirs, strict=True)):
            if found[i] is None and old.status is new.status and shares_most_words(old.text, new.text):
                found[i] = i
    return found


def _add_renamed(
    before: list[int | None], base_places: Sequence[int | None], plan: Plan, theirs: Sequence[NativeTask]
) -> None:
    """Add the indices of tasks that the list has under the texts that others gave them in the plan."""
    new = [i for i, old in enumerate(before) if old is None]
    left = [(j, place) for j, place in enumerate(base_places) if place is not None and j not in before]
    found = find_tasks([theirs[i].text for i in new], [plan.tasks[place] for _, place in left])
    for i, index in zip(new, found, strict=True):
        before[i] = None if index is None else left[index][0]


def _places(base: Sequence[NativeTask], plan: Plan) -> list[int | None]:
    """The place in the plan of each task of a list: by number, or because its text names an open task."""
    by_number = {task.number: i for i, task in enumerate(plan.tasks) if task.number}
    places = [by_number.get(task.number) for task in base]
    for j, place in enumerate(places):
        if place is not None and not _is_same(base[j], plan.tasks[place]):
            places[j] = None
    missing = [j for j, place in enumerate(places) if place is None]
    free = [i for i, task in enumerate(plan.tasks) if i not in places and task.status.is_open]
    found = find_tasks([base[j].text for j in missing], [plan.tasks[i] for i in free])
    for j, index in zip(missing, found, strict=True):
        places[j] = None if index is None else free[index]
    return places


def _is_same(native: NativeTask, task: Task) -> bool:
    """Whether a task with the expected number is the expected one: after an undo, a number may be assigned again."""
    return native.from_user is task.from_user or normalized(native.text) == normalized(task.text)


def _followed(task: Task, was: NativeTask | None, native: NativeTask, decisions: Decisions) -> Task | None:
    """A task of the plan as the model changed it in its own list; None if it is removed."""
    if native.is_deleted:
        if was is not None and decisions.hold_place(task, was):
            return task
        if not task.from_user:
            return None
        return replace(task, status=Status.ABANDONED) if task.status.is_open else task
    if was is None:
        # With its own list, the model takes up what others left.
        return replace(task, status=task.status if native.status is Status.PENDING else native.status, owner="")
    is_same = native.text == was.text or (task.from_user and normalized(native.text) == normalized(was.text))
    text = task.text if is_same or decisions.hold_text(task, was) else native.text
    is_stated = _is_changed(was, native) and not decisions.hold(task, was, native.status)
    return replace(task, text=text, status=native.status if is_stated else task.status)


def _is_changed(was: NativeTask | None, native: NativeTask) -> bool:
    return native.is_stated or was is None or native.status is not was.status


def _twins(plan: Plan, links: Links, native: NativeTask) -> list[int]:
    """The places of open tasks with the same text that are no task of the list: somebody added the task again."""
    if native.status is Status.PENDING:
        return []
    text, used = normalized(native.text), {*links.places, *links.left.values()}
    return [
        i
        for i, task in enumerate(plan.tasks)
        if i not in used and task.status.is_open and normalized(task.text) == text
    ]


def _arranged(plan: Plan, tasks: Sequence[Task | None], new: dict[int, Task], order: dict[int, int] | None) -> Plan:
    """The plan with its tasks changed or removed (None), and with new tasks, each under its index in the list.

    A plan of one phase is sorted by `order`, which maps places to indices in the list; other tasks come last.
    """
    phases, index, keys = list[list[tuple[int, Task]]](), 0, order or {}
    for phase in plan.phases or (Phase(""),):
        places = range(index, index + len(phase.tasks))
        index += len(phase.tasks)
        phases.append([(keys.get(i, MAX_NATIVE_TASKS), task) for i in places if (task := tasks[i]) is not None])
    phases[-1] += new.items()
    if order is not None and len(phases) == 1:
        phases[0].sort(key=lambda pair: pair[0])
    names = [phase.name for phase in plan.phases] or [""]
    arranged = [Phase(name, tuple(task for _, task in kept)) for name, kept in zip(names, phases, strict=True)]
    return Plan(tuple(phase for phase in arranged if phase.tasks or phase.name), plan.last_number)


def _numbered(native: NativeTask, was: NativeTask | None, task: Task | None) -> NativeTask:
    """A task of a list with the number of its task in the plan, or of the task that it was, if that was removed."""
    known = task or was
    number, from_user = (0, False) if known is None else (known.number, known.from_user)
    return replace(native, number=number, from_user=from_user, is_stated=False)


DELETED = "deleted"
"""The status by which a native tool deletes a task."""

NATIVE_RULES = Rules(max_tasks=MAX_NATIVE_TASKS, atomic=False)


@value
class Mirrored:
    """What came of the call of a native tool.

    The model has stated otherwise of the tasks that were `kept` as others decided, and of those that are `gone`.
    """

    outcome: Outcome
    kept: tuple[Task, ...] = ()
    gone: tuple[Task, ...] = ()


def mirror(event: HookEvent, session: Session, agents: AgentRegistry, agent_id: AgentId) -> Mirrored | None:
    """Apply the effect of a native tool to the plan, and return what came of it; None if it has none."""
    if _failed(event.get("tool_response")):
        return None
    tool, given = event.text("tool"), arguments(event.get("tool_input"))
    base = read_list(agents, agent_id, session.name)
    theirs = native_tasks(event.integration, tool, given)
    is_whole = theirs is not None
    if theirs is None:
        base = [task for task in base or () if task.id]
        theirs = _updated(base, event, given, session.plan)
        if theirs == base:
            return None
    # What another conversation has left is no older state of this one's list.
    seen = once(lambda: session.plan_at(session.seen_head)) if base is not None else None
    base, decisions = _recorded_list(event, session, agents) if base is None else base, Decisions(seen)
    call = Call(f"{event.integration.name}{TOOL_SEPARATOR}{tool or event.name}", codec.dump(dict(given)))
    outcome = _apply(session, base, theirs, call, decisions, reorder=is_whole)
    kept, gone, again = list[Task](), list[Task](), dict[int, Status]()
    links = link(base, outcome.before, theirs)
    for native, old, place in zip(theirs, links.before, links.places, strict=True):
        was = None if old is None else base[old]
        if was is None or native.is_deleted or not _is_changed(was, native):
            continue
        task = Task(native.text, number=was.number) if place is None else outcome.before.tasks[place]
        if place is None and was.number and native.status.is_open:
            gone.append(task)
        elif place is not None and decisions.hold(task, was, native.status):
            kept.append(task)
            if not native.status.is_open:
                # Stated again, it counts.
                again[task.number] = was.status
    noted = [_undone(task, outcome) for task in numbered_list(base, outcome.before, outcome.after, theirs)]
    noted = [replace(task, status=again.get(task.number, task.status)) for task in noted]
    write_list(agents, agent_id, session.name, noted)
    return Mirrored(outcome, tuple(kept), tuple(gone))


def _undone(task: NativeTask, outcome: Outcome) -> NativeTask:
    """Return a task of the list as it is noted: one whose check has not passed is tried again with the next list."""
    is_undone = task.number in outcome.unproved and task.status is Status.COMPLETED
    return replace(task, status=Status.IN_PROGRESS) if is_undone else task


def _apply(
    session: Session,
    base: Sequence[NativeTask],
    theirs: Sequence[NativeTask],
    call: Call,
    decisions: Decisions,
    *,
    reorder: bool,
) -> Outcome:
    """Apply the change of a native list from `base` to `theirs` to the plan."""
    _, newest = next(calls_with_events(session), (None, None))
    is_mirrored = newest is not None and TOOL_SEPARATOR in newest.tool
    follows = is_mirrored or not _open_besides(session.plan, session.left_in(session.plan))

    def steps(unnumbered: Plan) -> Sequence[Step]:
        plan = numbered(unnumbered)
        if is_mirrored:
            return (Write(follow(base, plan, theirs, reorder=reorder, decisions=decisions).phases),)
        links, left = link(base, plan, theirs), session.left_in(plan)
        if _open_besides(plan, left) or not any(map(links.is_new, range(len(theirs)))):
            return [Mark(Numbered((number,)), status) for number, status in tick_off(base, plan, theirs, decisions)]
        own = without_others(plan, links, left)
        return (Write(follow(base, own, theirs, reorder=reorder, decisions=decisions).phases),)

    # A plan that the model writes with a tool of ours stays as that tool's rules require.
    rules = NATIVE_RULES if follows or newest is None else replace(session.dialect.rules, atomic=False)
    return session.change(steps, Actor.AGENT, rules, call if follows else None)


def _open_besides(plan: Plan, left: frozenset[int]) -> bool:
    return any(task.number not in left for _, task in open_tasks(plan))


def _recorded_list(event: HookEvent, session: Session, agents: AgentRegistry) -> list[NativeTask]:
    """Return the list that a plan follows, unless it is that of another conversation or of another agent at work."""
    recorded, call = next(calls_with_events(session), (None, None))
    if recorded is None or call is None or TOOL_SEPARATOR not in call.tool:
        return []
    own, names = session.author_of(Actor.AGENT).agent, session.parts.own()
    if names is not None and recorded.author.agent not in ("", *names):
        return []
    if recorded.author.agent != own and recorded.author.agent in {str(each.id) for each in agents.active(now())}:
        return []
    tool = call.tool.partition(TOOL_SEPARATOR)[2]
    tasks = native_tasks(event.integration, tool, arguments(call.arguments)) or []
    plan = numbered(session.plan)
    found = find_tasks([task.text for task in tasks], plan.tasks)
    return [
        task if i is None else replace(task, number=plan.tasks[i].number, from_user=plan.tasks[i].from_user)
        for task, i in zip(tasks, found, strict=True)
    ]


def _updated(base: Sequence[NativeTask], event: HookEvent, given: Any, plan: Plan) -> list[NativeTask]:
    """Return the list after a call or an event about single tasks; an update of an unknown task is ignored."""
    tasks, tool = {task.id: task for task in base}, event.text("tool")
    is_listing = tool == event.integration.task_tools.get(TaskAction.LIST)
    is_update = event.point is HookPoint.TASK_COMPLETED or tool == event.integration.task_tools.get(TaskAction.UPDATE)
    for name, subject, word in _reported(event, given):
        text = subject.strip() if isinstance(subject, str) else ""
        known = tasks.get(str(name)) if name is not None else None
        is_unknown = known is None and (not text or (is_update and find_tasks([text], plan.tasks) == [None]))
        if name is None or is_unknown:
            continue
        task = known or NativeTask(text, id=str(name))
        if text:
            task = replace(task, text=text)
        if word == DELETED:
            task = replace(task, is_deleted=True)
        elif word is not None:
            task = replace(task, status=status_named(word), is_stated=not is_listing)
        tasks[task.id] = task
    return list(tasks.values())[:MAX_NATIVE_TASKS]


def _reported(event: HookEvent, given: Any) -> list[Reported]:
    tools, response = event.integration.task_tools, event.get("tool_response")
    if event.point is HookPoint.TASK_CREATED:
        return [(event.get("task_id"), event.get("task_subject"), None)]
    if event.point is HookPoint.TASK_COMPLETED:
        return [(event.get("task_id"), event.get("task_subject"), "completed")]
    tool = event.text("tool")
    if tool == tools.get(TaskAction.CREATE):
        task = response.get("task") if isinstance(response, dict) else None
        return [(task.get("id") if isinstance(task, dict) else None, given.get("subject"), None)]
    if tool == tools.get(TaskAction.UPDATE):
        return [(given.get("taskId"), given.get("subject"), given.get("status"))]
    return _listed(response) if tool == tools.get(TaskAction.LIST) else []


def _listed(response: object) -> list[Reported]:
    """Return the tasks that the agent listed; they include changes that no hook reported."""
    tasks = response.get("tasks") if isinstance(response, dict) else None
    objects = [task for task in (tasks if isinstance(tasks, list) else ())[:MAX_NATIVE_TASKS] if isinstance(task, dict)]
    return [(task.get("id"), task.get("subject"), task.get("status")) for task in objects]


def _failed(response: object) -> bool:
    if not isinstance(response, dict):
        return False
    return (
        response.get("success") is False
        or bool(response.get("error"))
        or response.get("resultType", "success") != "success"
    )


def find_tasks(texts: Sequence[str], tasks: Sequence[AnyTask]) -> list[int | None]:
    """Return, for each text, the index of the task that it names; None if there is none. No task is named twice.

    Equal texts come first, then texts that `normalized` makes equal, each in order. A number in front or an ellipsis
    at the end is considered last, and only if exactly one task is left that the text can name.
    """
    found: list[int | None] = [None] * len(texts)
    free = dict(enumerate(tasks))
    _pair_equal(texts, found, free, str)
    _pair_equal(texts, found, free, normalized)
    for names in (_names_numbered, _names_shortened):
        left = [i for i, index in enumerate(found) if index is None]
        claims = {i: [j for j, task in free.items() if names(texts[i], task)] for i in left}
        for i, indices in claims.items():
            if len(indices) == 1 and sum(indices == other for other in claims.values()) == 1:
                found[i] = indices[0]
                del free[indices[0]]
    return found


def normalized(text: str) -> str:
    """Return the harmless form of a text without differences of case, space, quotation marks and final punctuation."""
    plain = " ".join(safe_text(text).translate(_SAME).casefold().split())
    return plain.rstrip(_AT_END) or plain


def shares_most_words(one: str, other: str) -> bool:
    """Return whether one text can be a new wording of the other: more than half of the words of each are the same."""
    words, others = set(normalized(one).split()), set(normalized(other).split())
    return 2 * len(words & others) > max(len(words), len(others))


def _pair_equal(
    texts: Sequence[str], found: list[int | None], free: dict[int, AnyTask], form: Callable[[str], str]
) -> None:
    """Pair the texts and tasks that are equal in a form: the first with the first, the second with the second."""
    waiting: dict[str, list[int]] = {}
    for j in reversed(free):
        waiting.setdefault(form(free[j].text), []).append(j)
    for i, text in enumerate(texts):
        same = waiting.get(form(text)) if found[i] is None else None
        if same:
            found[i] = j = same.pop()
            del free[j]


def _names_numbered(text: str, task: AnyTask) -> bool:
    """Return whether texts are equal without list marks in front. A bare number is left out if it is the task's own."""
    number, rest = _split_item(text)
    _, wanted = _split_item(task.text)
    is_own = number != 0 and number == task.number
    return rest == wanted or (is_own and normalized(rest.partition(" ")[2]) == wanted)


def _names_shortened(text: str, task: AnyTask) -> bool:
    """Return whether one of the texts is the beginning of the other, with an ellipsis."""
    forms = (text, task.text), (task.text, text)
    return any(
        short.rstrip().endswith(_ELLIPSES)
        and len(normalized(short)) >= MIN_SHORTENED
        and normalized(long).startswith(normalized(short))
        for short, long in forms
    )


def _split_item(text: str) -> tuple[int, str]:
    """Return the number in front of a text, or 0, and the normalized text without the mark and number of an item.

    `3.`, `3)`, `(3)`, `[3]` and `3:` are numbers of items. `#3` and `3` stay, because they may belong to the text.
    """
    rest = text.strip()
    for mark in _LIST_MARKS:
        rest = rest.removeprefix(mark).lstrip()
    word, _, words = rest.partition(" ")
    digits = word.strip("#().:[]")
    if not words or not (digits.isascii() and digits.isdigit()) or len(digits) > MAX_DIGITS:
        return 0, normalized(rest)
    is_of_item = not word.startswith("#") and word != digits
    return int(digits), normalized(words) if is_of_item else normalized(rest)
