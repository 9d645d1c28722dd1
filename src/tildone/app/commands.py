"""A person's changes to a plan, one function for each verb, from its arguments to an `Answer`; and a search in it.

Tasks are selected by number, so that a change hits the tasks that were meant even if the plan changes meanwhile. Text
is kept as it was typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.model import WORD_FIELDS, Focus, Phase, Plan, Rules, Status, Task, number_ranges, open_tasks
from tildone.plan.ops import Append, Mark, Move, Note, Numbered, Order, Remove, Rename, SetCheck, Touch, Write
from tildone.plan.rare_steps import check_fault
from tildone.plan.reduce import Step, reduce
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.plan.model import Check


MARKED_MESSAGES = {status: status.value.capitalize() for status in Status}
MARKED_MESSAGES |= {Status.COMPLETED: "Done", Status.ABANDONED: "Dropped"}
"""How messages begin about tasks that were given a status."""


class Level(Enum):
    """How a message is shown."""

    STATUS = "status"
    WARNING = "warning"
    ERROR = "error"


class FailureReason(Enum):
    """Why a command failed. The command line maps each reason to an exit code."""

    USAGE = "the verb or its arguments are invalid"
    UNMATCHED = "no task or phase matches, or several do"
    REFUSED = "the task is not in a status that allows it"
    NO_PLAN = "there is no plan"
    UNREADABLE = "the text is not a plan"
    REQUEST_FAILED = "the request could not be carried out"


@value
class Message:
    """A message to the person."""

    level: Level
    text: str


@value
class CopyText:
    """A request to copy this text to the clipboard."""

    text: str


@value
class WriteFile:
    """A request to write this text to a file; a relative path starts at the person's working directory."""

    path: str
    text: str


@value
class ReadFile:
    """A request to read a file as UTF-8."""

    path: str


@value
class OpenEditor:
    """A request to open this text in the person's editor."""

    text: str


Request = CopyText | WriteFile | ReadFile | OpenEditor


@value
class Answer:
    """The answer to a command.

    `messages` are shown once `steps` have been applied without a fault. A `request` has to be carried out first; its
    result leads to another answer. `enforces_rules` says whether the session's rules on tasks in progress and unique
    texts apply to the steps, as they do to a model's call. `failure` is None if the command succeeded.
    """

    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] | None = None
    enforces_rules: bool = True
    request: Request | None = None
    failure: FailureReason | None = None

    def rules(self, own: Rules) -> Rules:
        """Return the rules for these steps, given the session's own rules. Its limits always apply."""
        return own if self.enforces_rules else replace(own, focus=Focus.ANY, unique_texts=False)


def status(text: str) -> tuple[Message, ...]:
    return (Message(Level.STATUS, text),)


def warning(reason: FailureReason, text: str) -> Answer:
    return Answer((Message(Level.WARNING, text),), failure=reason)


def refusal(reason: FailureReason, text: str) -> Answer:
    return Answer((Message(Level.ERROR, text),), failure=reason)


LAST_BMP_CHARACTER = "\uffff"


def verb_and_rest(text: str) -> tuple[str, str]:
    text = text.strip(JS_WHITESPACE)
    for place, char in enumerate(text):
        if char in JS_WHITESPACE:
            return text[:place].lower(), text[place:].strip(JS_WHITESPACE)
    return text.lower(), ""


def words(text: str) -> list[str]:
    """Split a line into words. Double quotes group words; a backslash escapes the next character."""
    complete: list[str] = []
    word, quoted = "", False
    chars = iter(text)
    for char in chars:
        if char == "\\":
            word += next(chars, char)
        elif char == '"':
            quoted = not quoted
        elif quoted or char not in JS_WHITESPACE:
            word += char
        else:
            complete.append(word)
            word = ""
    return [word for word in [*complete, word] if word]


def capitalized(text: str) -> str:
    text = text.strip(JS_WHITESPACE)
    if not text or text[0] > LAST_BMP_CHARACTER:
        return text
    return text[0].upper() + text[1:]


def title(text: str) -> str:
    """Return a phase name: every word capitalized, separated by single spaces."""
    spaced = "".join(" " if char in JS_WHITESPACE else char for char in text)
    return " ".join(capitalized(word) for word in spaced.split(" ") if word)


def tasks_like(plan: Plan, query: str) -> list[Task]:
    """Return the tasks that `query` matches; it is unambiguous if there is exactly one.

    Matching ignores case. A task whose whole text matches takes precedence over substring matches. If several tasks
    contain the query and only one of them is open, that one matches.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    exact = [task for task in plan.tasks if task.text.lower() == wanted]
    if exact:
        return exact[:1]
    matching = [task for task in plan.tasks if wanted in task.text.lower()]
    still_open = [task for task in matching if task.status.is_open]
    return still_open if len(still_open) == 1 else matching


def phases_like(plan: Plan, query: str) -> list[Phase]:
    """Return the phases that `query` matches; it is unambiguous if there is exactly one.

    Matching ignores case. The whole name takes precedence over a prefix, and a prefix over any other substring.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    exact = [phase for phase in plan.phases if phase.name.lower() == wanted]
    if exact:
        return exact[:1]
    by_prefix = [phase for phase in plan.phases if phase.name.lower().startswith(wanted)]
    return by_prefix if len(by_prefix) == 1 else [phase for phase in plan.phases if wanted in phase.name.lower()]


MAX_LISTED = 5
MAX_DIGITS = 9


@value
class Targets:
    """The tasks that a person named. `phase` is the phase if they named a whole one."""

    tasks: tuple[Task, ...]
    phase: str | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(task.number for task in self.tasks)

    def __str__(self) -> str:
        if self.phase is not None:
            return f"all of {single_line(self.phase)}"
        return listed(self.tasks)


def task_number(word: str) -> int | None:
    """Return the number that a word means (`3`, `#3` or `[3]`), or None."""
    inner = word[1:-1] if word.startswith("[") and word.endswith("]") else word.removeprefix("#")
    return int(inner) if inner.isascii() and inner.isdecimal() and len(inner) <= MAX_DIGITS else None


def find_targets(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Targets | Answer:
    """Return the tasks that the words name, else all tasks of the phase that they name, else a refusal.

    If each word is a number, the words are numbers; otherwise they are one part of a text. With `positions`, a number
    in brackets is a position, as in lists of sessions whose agent uses positions.
    """
    found = find_tasks(plan, words, positions=positions)
    if not isinstance(found, Answer) or _all_numbers(words):
        return found
    query = " ".join(words)
    phases = phases_like(plan, query)
    if len(phases) == 1:
        return Targets(phases[0].tasks, phases[0].name)
    names = [f"the phase {single_line(phase.name)}" for phase in phases]
    return _unmatched("task or phase", query, [*map(label, tasks_like(plan, query)), *names])


def find_tasks(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Targets | Answer:
    if _all_numbers(words):
        tasks = plan.tasks
        by_number = {task.number: task for task in tasks}
        found: dict[int, Task] = {}
        for word in words:
            number = task_number(word) or 0
            if positions and word.startswith("["):
                if number >= len(tasks):
                    known = f"positions are [0] to [{len(tasks) - 1}]" if tasks else "the plan has no tasks"
                    return refusal(FailureReason.UNMATCHED, f"There is no task at position [{number}]: {known}")
                task = tasks[number]
            elif number not in by_number:
                was = "it was removed; " if 0 < number <= plan.last_number else ""
                known = f"{was}the plan has {_ranges(by_number) or 'no tasks'}"
                return refusal(FailureReason.UNMATCHED, f"There is no task #{number}: {known}")
            else:
                task = by_number[number]
            found[task.number] = task
        return Targets(tuple(found.values()))
    query = " ".join(words)
    matching = tasks_like(plan, query)
    if len(matching) == 1:
        return Targets((matching[0],))
    return _unmatched("task", query, [*map(label, matching)])


def find_task(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Task | Answer:
    found = find_tasks(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    if len(found.tasks) > 1:
        return refusal(FailureReason.USAGE, f"Name one task, not {len(found.tasks)}")
    return found.tasks[0]


def label(task: Task) -> str:
    return f"#{task.number} {single_line(task.text)}"


def listed(tasks: Sequence[Task]) -> str:
    """Return tasks as a message names them; of many, only the numbers."""
    if len(tasks) > MAX_LISTED:
        return f"{len(tasks)} tasks ({_ranges(task.number for task in tasks)})"
    return "; ".join(map(label, tasks))


def _ranges(numbers: Iterable[int]) -> str:
    return number_ranges(numbers, "#", ", ")


def _all_numbers(words: Sequence[str]) -> bool:
    return bool(words) and all(task_number(word) is not None for word in words)


def _unmatched(kind: str, query: str, candidates: list[str]) -> Answer:
    wanted = single_line(query)
    if not candidates:
        return refusal(FailureReason.UNMATCHED, f'No {kind} has "{wanted}" in it')
    some = "; ".join(candidates[:MAX_LISTED])
    more = "; …" if len(candidates) > MAX_LISTED else ""
    return refusal(FailureReason.UNMATCHED, f'"{wanted}" fits {len(candidates)}; name one by its number: {some}{more}')


class Place(Enum):
    """Where a task is moved to: before or after another one, to the end of a phase, to the start or end of the plan."""

    BEFORE = "before"
    AFTER = "after"
    PHASE = "phase"
    FIRST = "first"
    LAST = "last"


def add(plan: Plan, texts: Sequence[str], phase: str | None = None) -> Answer:
    """Add tasks at the end of a phase, which is created if it is missing; without a phase, at the end of the plan.

    The message has no numbers: `added` returns them once the change is made.
    """
    if not texts or not all(text.strip() for text in texts):
        return refusal(FailureReason.USAGE, "A task needs a text")
    name = None if phase is None else existing_phase(plan, phase) or phase
    step = Append(tuple(map(Task, texts)), "" if name is None and not plan.phases else name)
    return Answer(steps=(step,), enforces_rules=False)


def added(before: Plan, after: Plan) -> str:
    old = {task.number for task in before.tasks}
    new = [task for task in after.tasks if task.number not in old]
    phase = next((phase.name for phase in after.phases for task in phase.tasks if task in new), "")
    is_new = phase not in {each.name for each in before.phases}
    where = f" to {'the new phase ' if is_new else ''}{single_line(phase)}" if phase else ""
    return f"Added{where}: {listed(new)}"


def start(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    task = find_task(plan, words, positions=positions)
    return task if isinstance(task, Answer) else _marked(task, Status.IN_PROGRESS, f"Started: {label(task)}")


def close(plan: Plan, words: Sequence[str], to: Status, *, positions: bool = False) -> Answer:
    """Mark tasks as completed or abandoned. Of a phase, or of the plan if there are no words, only the open tasks."""
    if not words:
        found: Targets | Answer = Targets(plan.tasks)
    else:
        found = find_targets(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    numbers, what = found.numbers, str(found)
    if not words or found.phase is not None:
        tasks = [task for task in found.tasks if task.status.is_open]
        numbers = tuple(task.number for task in tasks)
        what = what if words else _all(tasks, "open ")
    if not numbers:
        return unchanged("no task is open" if not words else f"no task is open in {single_line(found.phase or '')}")
    return Answer(status(f"{MARKED_MESSAGES[to]}: {what}"), (Mark(Numbered(numbers), to),))


def remove(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    if not words:
        tasks = plan.tasks
        return Answer(status(f"Removed: {_all(tasks)}"), (Write(()),)) if tasks else unchanged("there are no tasks")
    found = find_targets(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    return Answer(status(f"Removed: {found}"), (Remove(Numbered(found.numbers)),))


def block(plan: Plan, words: Sequence[str], reason: str, *, positions: bool = False) -> Answer:
    """Mark an open task as waiting for someone else; the reason becomes its newest note."""
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    if not task.status.is_open:
        return refusal(FailureReason.REFUSED, f"{label(task)} is {task.status.value}; only an open task can be blocked")
    why = f" ({single_line(reason)})" if reason else ""
    steps: tuple[Step, ...] = (Mark(Numbered((task.number,)), Status.BLOCKED),)
    if reason and (not task.notes or task.notes[-1] != reason):
        steps = (*steps, Note(Numbered((task.number,)), reason))
    return Answer(status(f"Blocked: {label(task)}{why}"), steps)


def unblock(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    if task.status is not Status.BLOCKED:
        return unchanged(f"{label(task)} is not blocked")
    return _marked(task, Status.PENDING, f"Unblocked: {label(task)}")


def reopen(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    if task.status.is_open:
        return unchanged(f"{label(task)} is open")
    return _marked(task, Status.PENDING, f"Reopened: {label(task)}")


def rename(plan: Plan, words: Sequence[str], text: str, *, positions: bool = False) -> Answer:
    if not text.strip():
        return refusal(FailureReason.USAGE, "A task needs a text")
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    message = f"Renamed: #{task.number} {single_line(text)} (was: {single_line(task.text)})"
    return Answer(status(message), (Rename(Numbered((task.number,)), text),))


def note(plan: Plan, words: Sequence[str], text: str, *, positions: bool = False) -> Answer:
    if not text.strip():
        return refusal(FailureReason.USAGE, "A note needs a text")
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    return Answer(status(f"Noted on: {label(task)}"), (Note(Numbered((task.number,)), text),))


def move(plan: Plan, words: Sequence[str], place: Place, name: str = "", *, positions: bool = False) -> Answer:
    """Move a task. `name` names the other task, or the phase, which is created if it is missing."""
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    if place is Place.PHASE:
        phase = existing_phase(plan, name) or name
        return _moved(task, f"to {single_line(phase)}", Move(Numbered((task.number,)), phase=phase))
    if place is Place.LAST:
        return _moved(task, "to the end", Move(Numbered((task.number,))))
    if place is Place.FIRST:
        return _moved(task, "to the start", Move(Numbered((task.number,)), Numbered((plan.tasks[0].number,))))
    other = find_task(plan, [name], positions=positions)
    if isinstance(other, Answer):
        return other
    where = f"{place.value} {label(other)}"
    if other == task:
        return unchanged(f"{label(task)} is that task")
    target = Numbered((task.number,))
    if place is Place.BEFORE:
        return _moved(task, where, Move(target, Numbered((other.number,))))
    # In front of the task that follows the other one, else to the end of its phase.
    phase_of_other = next(phase for phase in plan.phases if other in phase.tasks)
    below = phase_of_other.tasks[phase_of_other.tasks.index(other) + 1 :]
    following = next((Numbered((each.number,)) for each in below if each != task), None)
    return _moved(task, where, Move(target, following) if following else Move(target, phase=phase_of_other.name))


def set_check(target: Task | None, check: Check) -> Answer:
    """Set the check of a task, or of the plan if there is none. A done task is open again."""
    fault = check_fault(check)
    if fault is not None:
        text = describe_fault(fault)
        return refusal(FailureReason.REFUSED, text[0].upper() + text[1:])
    reopens = target is not None and target.status is Status.COMPLETED and target.check != check
    again = "; it is open again" if reopens else ""
    message = f"Check of {_owner(target)}: $ {single_line(check_text(check))}{again}"
    return Answer(status(message), (SetCheck(_selector(target), check),))


def remove_check(plan: Plan, target: Task | None) -> Answer:
    if (plan if target is None else target).check is None:
        return unchanged(f"{_owner(target)} has no check")
    return Answer(status(f"Removed the check of {_owner(target)}"), (SetCheck(_selector(target), None),))


def order(plan: Plan, task_word: str, after_words: Sequence[str], *, positions: bool = False) -> Answer:
    """Say after which other tasks a task is worked on, in place of those before; without others, it waits for none."""
    task = find_task(plan, [task_word], positions=positions)
    if isinstance(task, Answer):
        return task
    if not after_words:
        return Answer(status(f"Waits for no other task: {label(task)}"), (Order(Numbered((task.number,)), ()),))
    others = find_tasks(plan, after_words, positions=positions)
    if isinstance(others, Answer):
        return others
    message = f"{label(task)} comes after {', '.join(f'#{number}' for number in others.numbers)}"
    return Answer(status(message), (Order(Numbered((task.number,)), others.numbers),))


def set_words(plan: Plan, field: str, task_word: str, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Set a field of `WORD_FIELDS` of a task, in place of the words before."""
    task = find_task(plan, [task_word], positions=positions)
    if isinstance(task, Answer):
        return task
    facts = WORD_FIELDS[field]
    what = f"{facts.shown.capitalize()} {single_line(', '.join(words))}" if words else facts.none
    return Answer(status(f"{what}: {label(task)}"), (Touch(Numbered((task.number,)), tuple(words), field),))


def renamed_in_place(before: Plan, after: Plan) -> tuple[Rename, ...]:
    """Return the renames that an edited list contains: tasks with a new text in the place of an old one.

    They are recognized if no task was added or removed, so that the tasks keep their numbers.
    """
    old, new = before.tasks, after.tasks
    if len(old) != len(new):
        return ()
    old_texts, new_texts = {task.text for task in old}, [task.text for task in new]
    return tuple(
        Rename(Numbered((was.number,)), now.text)
        for was, now in zip(old, new, strict=True)
        if was.text not in new_texts and now.text not in old_texts and new_texts.count(now.text) == 1
    )


def edited(before: Plan, after: Plan) -> tuple[Step, ...]:
    """Return the steps that make a plan what its edited text says.

    Tasks whose text was edited in place are renamed first, so that they keep their numbers. A check, an order or files
    that the text no longer has are removed; a list that names none would keep them.
    """
    renames = renamed_in_place(before, after)
    bare = (Phase(phase.name, tuple(Task(task.text) for task in phase.tasks)) for phase in after.phases)
    numbered_after = reduce(before, [*renames, Write(tuple(bare))], Rules()).after
    known = {task.number: task for task in before.tasks}
    removed: list[Step] = []
    for number, now in zip((task.number for task in numbered_after.tasks), after.tasks, strict=True):
        was, target = known.get(number), Numbered((number,))
        if was is None:
            continue
        removed += [SetCheck(target, None)] if was.check is not None and now.check is None else []
        removed += [Order(target, ())] if was.after and not now.after else []
        removed += [Touch(target, (), name) for name in was.words if name not in now.words]
    plan_check = [SetCheck(None, after.check)] if after.check != before.check else []
    return (*removed, *renames, Write(after.phases), *plan_check)


def written_plan(answer: Answer) -> Plan | None:
    """Return the plan that an answer writes; None if it writes none."""
    match answer.steps:
        case (Write(phases), *rest):
            return Plan(phases, check=next((step.check for step in rest if isinstance(step, SetCheck)), None))
        case _:
            return None


def as_edited(before: Plan, answer: Answer) -> Answer:
    """Return an answer that writes an edited text, with the steps that also remove what the text no longer has."""
    after = written_plan(answer)
    return answer if after is None else replace(answer, steps=edited(before, after))


def took_away(before: Plan, after: Plan) -> bool:
    """Return whether a change closed, renamed or removed a task."""
    now = {task.number: task for task in after.tasks}
    return any(
        task.number not in now
        or now[task.number].text != task.text
        or (task.status.is_open and not now[task.number].status.is_open)
        for task in before.tasks
    )


def closing_question(plan: Plan, to: Status | None) -> str:
    """Return the question that precedes closing all tasks or, with None, removing them; empty if there are none."""
    if to is None:
        return f"Remove {_all(plan.tasks)}?" if plan.tasks else ""
    tasks = [task for _, task in open_tasks(plan)]
    return f"Mark {_all(tasks, 'open ')} as {to.value}?" if tasks else ""


def existing_phase(plan: Plan, name: str) -> str | None:
    wanted = name.strip().lower()
    names = [phase.name for phase in plan.phases]
    return name if name in names else next((each for each in names if each.lower() == wanted), None)


def unchanged(why: str) -> Answer:
    """Return an answer that changes nothing and is no failure."""
    return Answer(status(f"Nothing changed: {why}."))


def _all(tasks: Sequence[Task], adjective: str = "") -> str:
    return label(tasks[0]) if len(tasks) == 1 else f"all {len(tasks)} {adjective}tasks"


def _marked(task: Task, to: Status, message: str) -> Answer:
    return Answer(status(message), (Mark(Numbered((task.number,)), to),))


def _moved(task: Task, where: str, step: Move) -> Answer:
    return Answer(status(f"Moved: {label(task)} {where}"), (step,))


def _selector(target: Task | None) -> Numbered | None:
    return None if target is None else Numbered((target.number,))


def _owner(target: Task | None) -> str:
    return "the plan" if target is None else label(target)


STATUS_WORDS = {status.value: status for status in Status}
STATUS_WORDS |= {"done": Status.COMPLETED, "dropped": Status.ABANDONED, "started": Status.IN_PROGRESS}


@value
class Search:
    """What the tasks have to match: words in the text or in the notes, a part of the phase's name, a status."""

    words: tuple[str, ...] = ()
    phase: str | None = None
    status: str | None = None
    only_open: bool = False


def find(plan: Plan, search: Search) -> tuple[Task, ...] | Answer:
    """Return the tasks that match, or a refusal if no phase has that name or the status is unknown."""
    phases = plan.phases
    if search.phase is not None:
        phases = tuple(phases_like(plan, search.phase))
        if not phases:
            return refusal(FailureReason.UNMATCHED, _no_phase(plan, search.phase))
    status = None
    if search.status is not None:
        status = STATUS_WORDS.get(search.status.strip().lower().replace("-", "_").replace(" ", "_"))
        if status is None:
            return refusal(
                FailureReason.USAGE,
                f'There is no status "{single_line(search.status)}"; a status is {_choices([*STATUS_WORDS])}',
            )
    return tuple(
        task
        for phase in phases
        for task in phase.tasks
        if status in (None, task.status)
        and (task.status.is_open or not search.only_open)
        and all(_has(task, word) for word in search.words)
    )


def _has(task: Task, word: str) -> bool:
    wanted = word.casefold()
    return task_number(word) == task.number or any(wanted in text.casefold() for text in (task.text, *task.notes))


def _no_phase(plan: Plan, name: str) -> str:
    names = [single_line(phase.name) for phase in plan.phases if phase.name]
    known = f"; phases are {_choices(names, 'and')}" if names else "; the plan has no phases"
    return f'No phase has "{single_line(name)}" in its name{known}'


def _choices(words: Sequence[str], conjunction: str = "or") -> str:
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last
