"""Plans as values: tasks, phases, checks and their proofs, the rules that hold for a plan, and questions about them."""

from __future__ import annotations

from enum import Enum
from itertools import chain

from tildone.base import TYPE_CHECKING, attrgetter, replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from typing import Self


DEFAULT_SECONDS = 120

_TRIVIAL = frozenset({"true", ":", "echo", "printf", "exit", "sleep", "pwd", "date", "whoami", "yes"})
"""Commands that succeed whatever was done."""

_TRIVIAL_ALONE = frozenset({"cat", "env", "hostname", "id", "ls", "uname"})
"""Commands that do so without operands."""

_WRAPPERS = frozenset({"builtin", "command", "env", "exec", "nice", "nohup", "time", "timeout"})
"""Commands that run the one in their arguments."""

_FILTERS = frozenset({"cat", "head", "tail", "tee"})
"""Commands at the end of a pipe that succeed whatever comes out of it."""

_TRIVIAL_PYTHON = frozenset({"", "pass", "exit()", "exit(0)", "quit()", "0", "1", "None", "True"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_OPERATORS = ("&&", "||", ";", "|", "&", "\n", "(", ")", "{", "}")
_ENDS = frozenset({"", ";", "&", "\n"})
_KEYWORDS = frozenset(
    {"if", "for", "while", "until", "case", "select", "function", "set", "trap", "exec", "return", "kill", "exit", "!"}
)
"""Words after which the last command of a script does not alone decide how it ends."""


@value
class Check:
    """A command that succeeds if a task, or a whole plan, is done.

    `command` is the program and its arguments, which no shell interprets. `folder` is relative to the plan's working
    tree. The command fails to decide if it takes longer than `seconds`; one that fails is run `retries` more times.
    `watches` are globs of the files that the result depends on; without any, all tracked files count. `by_model` means
    that a model wrote it; checks that differ in nothing else are equal.
    """

    command: tuple[str, ...]
    folder: str = ""
    seconds: int = DEFAULT_SECONDS
    retries: int = 0
    watches: tuple[str, ...] = ()
    by_model: bool = False

    __uncompared__ = ("by_model",)


class Result(Enum):
    """How a check ended. `blocks` means that only a person can help, so that the task waits."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"

    @property
    def blocks(self) -> bool:
        return self in (Result.INCONCLUSIVE, Result.REFUSED)


@value
class Proof:
    """The result of running a check.

    `files` is a digest of the watched files that are tracked, `all_files` one of those that are not ignored. `reason`
    says in words what happened if the check did not pass. `output` is the path of the whole output; `by` is who ran it.
    `tail` is the end of the output, for whoever ran the check: it is not recorded. `program` is the path of the program
    that ran, and `program_sha256` the digest of it. `imported` means that it came from
    a file, so that it is stale until the check is run here. Two proofs are equal if they say the same of the same files
    by the same program.
    """

    result: Result
    command: tuple[str, ...]
    files: str = ""
    all_files: str = ""
    exit_code: int | None = None
    reason: str = ""
    milliseconds: int = 0
    at: int = 0
    by: str = ""
    output: str = ""
    tail: str = ""
    program: str = ""
    program_sha256: str = ""
    imported: bool = False

    __uncompared__ = ("milliseconds", "at", "by", "output", "tail")


def is_passed(check: Check, proof: Proof | None) -> bool:
    """Return whether the check has passed, whatever has changed since."""
    return proof is not None and proof.result is Result.PASSED and proof.command == check.command


def leaves_tree(folder: str) -> bool:
    """Return whether the name of a folder leads out of the working tree. Symbolic links are another matter."""
    parts = folder.replace("\\", "/").split("/")
    return parts[0].startswith("~") or parts[0][1:2] == ":" or (folder != "" and parts[0] == "") or ".." in parts


def proves_nothing(command: tuple[str, ...]) -> bool:
    """Return whether a command succeeds whatever was done: it is empty, or only prints, waits or returns.

    What cannot be known from the command alone counts as a check: `--version` may prove that a program is installed.
    """
    if not command or not command[0].strip():
        return True
    name, arguments = _base_name(command[0]), command[1:]
    operands = tuple(word for word in arguments if not word.startswith("-"))
    if name in _SHELLS and "-c" in _short_options(arguments):
        return _is_trivial_script(operands[0] if operands else "", stops="-e" in _short_options(arguments))
    if name in _WRAPPERS:
        inner = tuple(word for word in operands if "=" not in word)
        return proves_nothing(inner[1:] if name == "timeout" else inner)
    if name in ("test", "["):
        return _is_trivial_test(arguments[:-1] if arguments[-1:] == ("]",) else arguments)
    if name.startswith("python") and arguments[:1] == ("-c",):
        return all(part.strip() in _TRIVIAL_PYTHON for part in "".join(arguments[1:2]).replace(";", "\n").split("\n"))
    return name in _TRIVIAL or (name in _TRIVIAL_ALONE and operands in ((), ("/dev/null",)))


def _short_options(arguments: tuple[str, ...]) -> list[str]:
    """The single-letter options in front of the first argument: `-ec` is `-e` and `-c`."""
    options: list[str] = []
    for word in arguments:
        if not word.startswith("-"):
            break
        options += [f"-{letter}" for letter in word[1:]]
    return options


def _is_trivial_test(words: tuple[str, ...]) -> bool:
    if any("$" in word or "`" in word for word in words):
        return False
    match words:
        case (word,) | ("-n", word):
            return word != ""
        case ("-z", word):
            return word == ""
        case (one, "=" | "==" | "-eq" | "-ge" | "-le", other):
            return one == other
        case _:
            return False


def _is_trivial_script(script: str, *, stops: bool) -> bool:
    """Return whether a script succeeds whatever its commands do. With `stops`, it ends at the first that fails."""
    parts = _parts(script)
    if all(proves_nothing(words) for words, _ in parts if words):
        return True
    if any(_base_name(word) in _KEYWORDS for words, _ in parts[:-1] for word in words[:1]):
        return False
    if any(operator in ("(", ")", "{", "}") for _, operator in parts):
        return False
    results, trivial, before, piped = list[bool](), True, "", False
    for words, operator in parts:
        if not words or operator == "|":
            # Without `pipefail`, only the last command of a pipe counts.
            piped = piped or operator == "|"
            continue
        passes = words[1:] == ("0",) if words[0] == "exit" else proves_nothing(words)
        own = passes or (piped and _base_name(words[0]) in _FILTERS)
        trivial = (own or trivial) if before == "||" else (own and trivial) if before == "&&" else own
        before, piped = operator, False
        if operator in _ENDS:
            results.append(trivial)
    return bool(results) and (all(results) if stops else results[-1])


def _parts(script: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the commands of a script, each with the operator after it. Words are without their quotation marks."""
    parts: list[tuple[tuple[str, ...], str]] = []
    words, word, quote, at = list[str](), list[str](), "", 0
    while at < len(script):
        letter = script[at]
        operator = "" if quote else next((each for each in _OPERATORS if script.startswith(each, at)), "")
        at += 1
        if letter == quote or (letter in "'\"" and not quote):
            # An empty quotation is a word, too.
            quote = "" if quote else letter
            word.append("")
        elif letter == "\\" and quote != "'":
            word.append(script[at : at + 1])
            at += 1
        elif letter == "#" and not word and not quote:
            at = len(script) if script.find("\n", at) < 0 else script.find("\n", at)
        elif not quote and (operator or letter.isspace()) and not _is_redirection(script, at - 1):
            words += ["".join(word)] if word else []
            word = []
            if operator:
                parts.append((tuple(words), operator))
                words, at = [], at + len(operator) - 1
        else:
            word.append(letter)
    words += ["".join(word)] if word else []
    return [*parts, (tuple(words), "")]


def _is_redirection(script: str, at: int) -> bool:
    """Return whether there is the `&` of `2>&1` or `&>file`."""
    return script[at] == "&" and (script[at - 1 : at] == ">" or script[at + 1 : at + 2] == ">")


def _base_name(program: str) -> str:
    return program.strip().replace("\\", "/").rpartition("/")[2].removesuffix(".exe").lower()


class Status(Enum):
    """The status of a task. Its attributes hold for every dialect; dialects add their own vocabulary.

    `value` is the name of the status in stored events. `icon` precedes the task in lists; `checkbox` is the character
    between the brackets in a Markdown checklist. `verb` is the command that sets the status; it is empty if there is
    none. An open task is not finished. An actionable task can be worked on now; a blocked one waits for someone else.

    To add a status, add a member, with the word `closed` or `waiting` if it is not actionable. Help and schemas list
    statuses in the order of the members.
    """

    PENDING = "pending", "–", " "
    IN_PROGRESS = "in_progress", "●", "/", "start"
    COMPLETED = "completed", "✓", "x", "done", "closed"
    ABANDONED = "abandoned", "✗", "-", "drop", "closed"
    BLOCKED = "blocked", "!", "!", "", "waiting"

    _value_: str
    icon: str
    checkbox: str
    verb: str
    is_open: bool
    is_actionable: bool

    def __new__(cls, name: str, icon: str = "", checkbox: str = "", verb: str = "", kind: str = "") -> Self:
        """Create a member whose value is `name`, so that `Status("pending")` finds it."""
        member = object.__new__(cls)
        member._value_, member.icon, member.checkbox, member.verb = name, icon, checkbox, verb
        member.is_open, member.is_actionable = kind != "closed", not kind
        return member

    @property
    def basic(self) -> Status:
        """The closest of the four statuses that other programs support."""
        return Status.PENDING if self is Status.BLOCKED else self

    # Members are singletons, so hashing by identity is correct, and faster; views use statuses as keys everywhere.
    __hash__ = object.__hash__


BY_VERB = {status.verb: status for status in Status if status.verb}


@value
class Task:
    """One thing to do. `number` never changes once it is assigned; 0 means none.

    The newest note of a blocked task says what it waits for. `from_user` means that a person added the task. `source`
    says where its text came from, such as "the file PLAN.md", unless it was written here. `owner` is the agent that
    added the task or last changed its text or status, if an agent did. Tasks that differ in nothing else are equal,
    because files and tools that lists come from record none of the three.

    A task with a `check` is completed only if its `proof` says that the check has passed. It is worked on `after` the
    tasks with these numbers, or these positions, counted from 1, if it has no number yet. `touches` are globs of the
    files that it will change.
    """

    text: str
    status: Status = Status.PENDING
    notes: tuple[str, ...] = ()
    number: int = 0
    from_user: bool = False
    source: str = ""
    check: Check | None = None
    proof: Proof | None = None
    after: tuple[int, ...] = ()
    touches: tuple[str, ...] = ()
    owner: str = ""

    __uncompared__ = ("from_user", "source", "owner")

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The fields of `WORD_FIELDS` that are not empty, by name."""
        return {name: words for name in WORD_FIELDS if (words := getattr(self, name))}


@value
class WordField:
    """What a field of a task that is words without a rule is called; `Task` and JSON, Markdown and tools have its name.

    `thing` is what is set ("the files"), `words` what is given ("globs"). `shown` stands before the words where a task
    is shown, and `none` says that there are none. `op`, `key` and the last three are those of the board.
    """

    thing: str
    words: str
    shown: str
    none: str
    op: str
    key: str
    question: str
    hint: str
    example: str = ""


WORD_FIELDS = {
    "touches": WordField(
        thing="files",
        words="globs",
        shown="changes",
        none="Names no files",
        op="touch",
        key="f",
        question="Which files does it change?",
        hint="Globs, separated by spaces. Agents do not work on tasks that change the same files at the same time.",
        example="src/parser/** tests/parser/**",
    ),
}
"""The fields of `Task` that are stored, shown and set in one way. A new one is a field above and a row here."""

ATTRIBUTES = ("check", "after", *WORD_FIELDS)
"""What a task may have that lists of models do not name."""


_attributes_of = attrgetter(*ATTRIBUTES)
_NO_ATTRIBUTES = _attributes_of(Task(""))


def has_attributes(task: Task) -> bool:
    # Every task of a plan is asked at each change.
    return _attributes_of(task) != _NO_ATTRIBUTES


@value
class Phase:
    """A named group of tasks. A flat list is a single phase with an empty name."""

    name: str
    tasks: tuple[Task, ...] = ()


@value
class Plan:
    """Phases in order. `last_number` is the highest task number that was ever assigned.

    A plan with a `check` of its own is finished when all tasks are closed and its `proof` says that the check passed.
    """

    phases: tuple[Phase, ...] = ()
    last_number: int = 0
    check: Check | None = None
    proof: Proof | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        if len(self.phases) == 1:
            return self.phases[0].tasks
        return tuple(chain.from_iterable([phase.tasks for phase in self.phases]))


def with_tasks(plan: Plan, change: Callable[[Task], Task]) -> Plan:
    phases = tuple(Phase(phase.name, tuple(map(change, phase.tasks))) for phase in plan.phases)
    return replace(plan, phases=phases)


def flat(*tasks: Task) -> Plan:
    """Return a plan that is a flat list. Without tasks, the plan has no phase."""
    return Plan((Phase("", tasks),)) if tasks else Plan()


def assign_numbers(before: Plan, after: Plan) -> Plan:
    """Return the plan `after` a change with a number for each of its tasks.

    A task without a number inherits the number of a removed task with the same text: a manual edit of the whole plan
    loses the numbers. If there is none, the task gets the next unused number. The tasks that a task without a number
    comes after are positions in the plan, counted from 1: they become numbers, too.
    """
    numbers = [task.number for task in after.tasks]
    last_number = max(before.last_number, max(numbers, default=0))
    if 0 not in numbers:
        return after if after.last_number == last_number else replace(after, last_number=last_number)
    numbers_in_use = set(numbers)
    removed: dict[str, list[int]] = {}
    for task in before.tasks:
        if task.number and task.number not in numbers_in_use:
            removed.setdefault(task.text, []).append(task.number)

    def with_number(task: Task) -> Task:
        nonlocal last_number
        if task.number:
            return task
        if removed.get(task.text):
            return replace(task, number=removed[task.text].pop(0))
        last_number += 1
        return replace(task, number=last_number)

    plan = replace(with_tasks(after, with_number), last_number=last_number)
    return _with_orders(after, plan) if any(task.after for task in after.tasks) else plan


def numbered(plan: Plan) -> Plan:
    """Return the plan with a number for each of its tasks: plans of older versions and of other programs have none."""
    return assign_numbers(plan, plan)


def number_ranges(numbers: Iterable[int], mark: str = "", separator: str = ",") -> str:
    """Return task numbers as text, with consecutive ones as a range: `1-3,7`. The `mark` precedes each number."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return separator.join(f"{mark}{run[0]}-{mark}{run[-1]}" if len(run) > 1 else f"{mark}{run[0]}" for run in runs)


def numbers_in(ranges: str, highest: int) -> Iterator[int]:
    """Yield the numbers up to `highest` in a text that `number_ranges` made. Raises ValueError if it is another one."""
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        yield from range(int(first), min(int(last or first), highest) + 1)


def with_status(plan: Plan, numbers: Container[int], status: Status) -> Plan:
    plan = numbered(plan)
    return with_tasks(plan, lambda task: replace(task, status=status) if task.number in numbers else task)


def same_content(one: Plan, other: Plan) -> bool:
    """Return whether two plans are equal but for the numbers of their tasks, which other programs do not keep."""
    return without_numbers(one) == without_numbers(other)


def without_numbers(plan: Plan) -> Plan:
    """Return the plan without numbers, so that its tasks get those of the tasks that they replace."""
    positions = {task.number: position for position, task in enumerate(plan.tasks, 1) if task.number}

    def without_number(task: Task) -> Task:
        after = task.after if not task.number else tuple(positions[other] for other in task.after if other in positions)
        return replace(task, number=0, after=after)

    return Plan(with_tasks(plan, without_number).phases)


def _with_orders(before: Plan, plan: Plan) -> Plan:
    """Return the plan with the numbers of the tasks that those without a number in `before` come after."""
    numbers = {position: task.number for position, task in enumerate(plan.tasks, 1)}
    new = {task.number for old, task in zip(before.tasks, plan.tasks, strict=True) if not old.number}

    def with_order(task: Task) -> Task:
        if task.number not in new or not task.after:
            return task
        return replace(task, after=tuple(numbers[at] for at in task.after if at in numbers))

    return with_tasks(plan, with_order)


@value
class PlanProgress:
    """The number of closed tasks and of all tasks. Abandoned tasks count as closed."""

    closed: int
    total: int

    @property
    def finished(self) -> bool:
        return 0 < self.total == self.closed


@value
class TaskInPhase:
    phase: str
    task: Task


def progress(plan: Plan) -> PlanProgress:
    tasks = plan.tasks
    return PlanProgress(sum(not task.status.is_open for task in tasks), len(tasks))


def open_tasks(plan: Plan) -> list[tuple[int, Task]]:
    """Return the open tasks, each with its position in the plan."""
    return [(position, task) for position, task in enumerate(plan.tasks) if task.status.is_open]


def completed_in(plan: Plan) -> frozenset[int]:
    """Return the numbers of the tasks that are done; dropped ones are not."""
    return frozenset(task.number for task in plan.tasks if task.status is Status.COMPLETED)


def waits_for(plan: Plan, task: Task) -> tuple[int, ...]:
    """Return the numbers of the open tasks that a task comes after. A task that was removed holds nobody up."""
    if not task.after:
        return ()
    still_open = {each.number for each in plan.tasks if each.status.is_open}
    return tuple(number for number in task.after if number in still_open)


def is_ready(plan: Plan, task: Task) -> bool:
    """Return whether a task can be worked on now: it is actionable, and nothing it comes after is open."""
    return task.status.is_actionable and not waits_for(plan, task)


def held_back(plan: Plan, waiting: Container[int] = ()) -> frozenset[int]:
    """Return the numbers of the open tasks behind one of their phase that is blocked, or among those `waiting`.

    A task that says what it comes after waits for nothing else.
    """
    held = set[int]()
    for phase in plan.phases:
        is_held = False
        for task in phase.tasks:
            waits = task.status is Status.BLOCKED or task.number in waiting
            if is_held and task.status.is_open and not task.after:
                held.add(task.number)
            is_held = is_held or waits
    return frozenset(held)


def has_checks(plan: Plan) -> bool:
    return plan.check is not None or any(task.check is not None for task in plan.tasks)


def next_task(plan: Plan) -> tuple[int, Task] | None:
    """Return the task to work on now: the first in progress, else the first that is ready."""
    actionable = None
    for position, task in enumerate(plan.tasks):
        if task.status is Status.IN_PROGRESS:
            return position, task
        if actionable is None and is_ready(plan, task):
            actionable = position, task
    return actionable


def tasks_with_phase(plan: Plan) -> list[TaskInPhase]:
    return [TaskInPhase(phase.name, task) for phase in plan.phases for task in phase.tasks]


def newly_completed(before: Plan, after: Plan) -> list[TaskInPhase]:
    """Return the tasks that are completed in `after` and were not in `before`; tasks that are new do not count.

    A task is identified by its phase and its text. If several tasks of `before` share both, the status of the last one
    counts for all of them, as in the original.
    """
    earlier = {(item.phase, item.task.text): item.task.status for item in tasks_with_phase(before)}
    return [
        item
        for item in tasks_with_phase(after)
        if item.task.status is Status.COMPLETED
        and earlier.get((item.phase, item.task.text), Status.COMPLETED) is not Status.COMPLETED
    ]


def waiting_tasks(plan: Plan) -> list[tuple[Task, tuple[int, ...]]]:
    """Return the open tasks that wait for others, each with the numbers of those."""
    waiting = ((task, waits_for(plan, task)) for task in plan.tasks if task.after and task.status.is_open)
    return [(task, others) for task, others in waiting if others]


def held_up(plan: Plan) -> list[tuple[Task, frozenset[int]]]:
    """Return the tasks with checks that nobody works on, because they or tasks that they wait for are blocked.

    Each has the numbers of the tasks that decide about it: its own, and those that it waits for. A task whose check has
    blocked it is left out: its proof says what it waits for.
    """
    found = []
    for task in plan.tasks:
        if task.check is None or task.status not in (Status.PENDING, Status.BLOCKED):
            continue
        chain = _chain(plan, task)
        waits = any(each.status is Status.BLOCKED for each in chain[1:])
        by_check = task.proof is not None and task.proof.result.blocks
        if waits or (task.status is Status.BLOCKED and not by_check):
            found.append((task, frozenset(each.number for each in chain)))
    return found


def _chain(plan: Plan, task: Task) -> list[Task]:
    """The task, and those that it waits for, directly or not."""
    by_number = {each.number: each for each in plan.tasks}
    chain = {task.number: task}
    pending = [task]
    while pending:
        for number in waits_for(plan, pending.pop()):
            if number not in chain:
                chain[number] = by_number[number]
                pending.append(by_number[number])
    return list(chain.values())


def cycle_from(plan: Plan, number: int, after: Sequence[int]) -> tuple[int, ...]:
    """Return the tasks that would wait for each other if a task came after these; empty if none would."""
    before = {task.number: task.after for task in plan.tasks} | {number: tuple(after)}
    path: list[int] = []
    finished: set[int] = set()

    def visit(current: int) -> bool:
        if current in path:
            del path[: path.index(current)]
            return True
        if current in finished:
            return False
        path.append(current)
        if any(visit(other) for other in before.get(current, ())):
            return True
        path.pop()
        finished.add(current)
        return False

    return tuple(path) if visit(number) else ()


class Focus(Enum):
    """How many tasks may be in progress at once."""

    ANY = "any number"
    AT_MOST_ONE = "none or one"
    EXACTLY_ONE = "one, and the first pending task is promoted when there is none"


class Unit(Enum):
    CODE_POINT = "code point"
    UTF16 = "UTF-16 code unit"


@value
class Rules:
    """The limits and invariants of a plan. `atomic` means that one fault discards the whole batch."""

    focus: Focus = Focus.ANY
    max_tasks: int | None = None
    max_text: int | None = None
    text_unit: Unit = Unit.CODE_POINT
    unique_texts: bool = False
    atomic: bool = True


def length(text: str, unit: Unit) -> int:
    if unit is Unit.CODE_POINT:
        return len(text)
    return len(text) + sum(char > "\uffff" for char in text)


def first_too_long(texts: Iterable[str], rules: Rules) -> int | None:
    """Return the index of the first text that exceeds the limit; None if none does."""
    limit = rules.max_text
    if limit is None:
        return None
    for index, text in enumerate(texts):
        if len(text) * 2 > limit and length(text, rules.text_unit) > limit:
            return index
    return None


def conflicting(plan: Plan, task: Task, active: Iterable[int]) -> tuple[int, ...]:
    """Return which of the tasks with these numbers are in progress and may change the same files as a task."""
    if not task.touches:
        return ()
    wanted = set(active) - {task.number}
    return tuple(
        other.number
        for other in plan.tasks
        if other.number in wanted and other.status is Status.IN_PROGRESS and may_conflict(task.touches, other.touches)
    )


def in_the_way(plan: Plan, task: Task) -> tuple[int, ...]:
    """Return the numbers of the tasks in progress because of whose files an open task is not started."""
    if not task.status.is_open or task.status is Status.IN_PROGRESS:
        return ()
    return conflicting(plan, task, [each.number for each in plan.tasks])


def may_conflict(one: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether a path could match a glob of both. A folder stands for everything in it."""
    ones, others = ([each for glob in globs for each in (glob, f"{glob.rstrip('/')}/*")] for globs in (one, other))
    return any(globs_meet(first, second) for first in ones for second in others)


def globs_meet(one: str, other: str) -> bool:
    """Return whether a text matches both globs: `*` is any text, `?` and a set in brackets any one character."""
    first, second = _glob_parts(one), _glob_parts(other)
    # reachable[j]: what precedes position i of `first` and position j of `second` can be the same text.
    reachable = [all(part == "*" for part in second[:j]) for j in range(len(second) + 1)]
    for part in first:
        following = [reachable[0] and part == "*"]
        for j, against in enumerate(second, 1):
            if part == "*" or against == "*":
                # A star ends before the other's part, or takes it.
                follows = reachable[j] or following[j - 1]
            else:
                follows = reachable[j - 1] and ("?" in (part, against) or part == against)
            following.append(follows)
        reachable = following
    return reachable[-1]


def _glob_parts(glob: str) -> list[str]:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        parts.append("?" if end > 0 else glob[at])
        at = end + 1 if end > 0 else at + 1
    return parts


def with_source(plan: Plan, source: str) -> Plan:
    return with_tasks(plan, lambda task: task if task.source else replace(task, source=source))


def with_imported_proofs(plan: Plan) -> Plan:
    """Return the plan with its proofs as those of a file: whoever wrote the file may have made them up."""
    plan = with_tasks(
        plan, lambda task: replace(task, proof=replace(task.proof, imported=True)) if task.proof else task
    )
    return replace(plan, proof=replace(plan.proof, imported=True)) if plan.proof else plan
