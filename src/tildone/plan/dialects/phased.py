"""The `phased` dialect: `todo_write`, phases of tasks that are addressed by their text."""

from __future__ import annotations

import re

from tildone.base import TYPE_CHECKING
from tildone.base.schema import SchemaProblem, schema_problems
from tildone.plan.dialects import TEXT, Dialect, Phrasing, Reply, Tool, array, enumeration, record, safe_dialect
from tildone.plan.faults import DuplicateTask, EmptyNote, HasCheck, MissingField, NotYours, PhaseMissing, TaskMissing
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.formats.markdown import bounded_checklist
from tildone.plan.model import Focus, Phase, Plan, Rules, Status, Task, newly_completed, tasks_with_phase
from tildone.plan.ops import Append, Everything, InPhase, Mark, Named, Note, Remove, Write
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.safe import (
    MAX_FRAME,
    MAX_NUDGE,
    MAX_RESULT,
    MAX_START,
    MAX_TEXT,
    bounded_list,
    clipped,
    fitting,
    omissions,
    shown_like,
    shown_text,
    single_line,
)
from tildone.plan.text.safe import reminder as as_reminder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from tildone.plan.dialects import CompletedCall, Params, ToolCall
    from tildone.plan.faults import Fault
    from tildone.plan.ops import Selector
    from tildone.plan.reduce import Step
    from tildone.plan.text.safe import Entry

    T = TypeVar("T")


EDIT = "user_todo_edit"
"""The type of the custom entry that records a person's edit."""

SNAPSHOT = "tildone_plan"
"""The type of the custom entry that records a plan which no successful result contains."""

_STATUSES = {status.value: status for status in Status}


def phases_out(plan: Plan) -> list[dict[str, Any]]:
    return [{"name": phase.name, "tasks": [_task_out(task) for task in phase.tasks]} for phase in plan.phases]


def phases_in(data: object) -> Plan:
    """Return the plan from plain data, ignoring unknown fields; raise `ValueError` if it is not a list of phases."""
    try:
        return Plan(tuple(map(_phase_in, _checked(list, data))))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a list of phases: {error}") from error


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    for entry in reversed(entries):
        data = _plan_data(entry)
        if not isinstance(data, dict):
            continue
        try:
            return phases_in(data.get("phases"))
        except ValueError:
            continue
    return None


def resumed(plan: Plan) -> Plan:
    """Return the plan without closed tasks and empty phases, for a conversation that is resumed."""
    remaining = (Phase(phase.name, tuple(task for task in phase.tasks if task.status.is_open)) for phase in plan.phases)
    return Plan(tuple(phase for phase in remaining if phase.tasks))


def _plan_data(entry: Mapping[str, Any]) -> object:
    match entry:
        case {"type": "custom", "customType": kind, "data": data} if kind in (EDIT, SNAPSHOT):
            return data
        case {"type": "message", "message": {"role": "toolResult", "toolName": "todo_write"} as result}:
            return None if result.get("isError") else result.get("details")
        case _:
            return None


def _task_out(task: Task) -> dict[str, Any]:
    plain: dict[str, Any] = {"content": task.text, "status": task.status.value}
    return plain | {"notes": list(task.notes)} if task.notes else plain


def _phase_in(data: Any) -> Phase:
    return Phase(_checked(str, data["name"]), tuple(map(_task_in, _checked(list, data["tasks"]))))


def _task_in(data: Any) -> Task:
    text, status = _checked(str, data["content"]), data.get("status")
    # A status that is missing, or that a later version may have added, must not bring back an older plan.
    known = _STATUSES.get(status, Status.PENDING) if isinstance(status, str) else Status.PENDING
    return Task(text, known, tuple(_checked(str, note) for note in _checked(list, data.get("notes") or [])))


def _checked(kind: type[T], given: object) -> T:
    if isinstance(given, kind):
        return given
    raise TypeError(given)


RULES = Rules(focus=Focus.EXACTLY_ONE, unique_texts=True, atomic=False)
OPS = ("init", "start", "done", "rm", "drop", "append", "note")
CHANGES: dict[str, Callable[[Selector], Mark | Remove]] = {
    "done": lambda target: Mark(target, Status.COMPLETED),
    "drop": lambda target: Mark(target, Status.ABANDONED),
    "rm": Remove,
}
_TEXT = {"type": "string"}
_ITEMS = {"type": "array", "items": _TEXT, "minItems": 1}
_LIST = {
    "type": "object",
    "required": ["phase", "items"],
    "properties": {"phase": _TEXT, "items": _ITEMS},
}
PARAMETERS = {
    "type": "object",
    "required": ["ops"],
    "properties": {
        "ops": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["op"],
                "properties": {
                    "op": {"type": "string", "enum": list(OPS)},
                    "list": {"type": "array", "items": _LIST},
                    "task": _TEXT,
                    "phase": _TEXT,
                    "items": _ITEMS,
                    "text": _TEXT,
                },
            },
        },
    },
}


def steps(params: Params) -> Sequence[Step]:
    return [step for entry in params["ops"] for step in _steps(entry)]


def interpret(arguments: Any) -> tuple[Any, Sequence[SchemaProblem]]:
    """Return the arguments with the missing list of an `init` marked as null, and the problems with them."""
    problems = schema_problems(PARAMETERS, arguments)
    if problems:
        return arguments, problems
    ops = [{"list": None, **entry} if entry["op"] == "init" else entry for entry in arguments["ops"]]
    return {**arguments, "ops": ops}, demands({"ops": ops})


def demands(params: Params) -> Sequence[SchemaProblem]:
    """Return a problem for each op that would add a task or phase without a name."""
    return [
        SchemaProblem(path, "expected some text, got none")
        for index, entry in enumerate(params["ops"])
        for path, text in _new_texts(entry, f"ops[{index}]")
        if not text.strip(JS_WHITESPACE)
    ]


def _steps(entry: Params) -> Sequence[Step]:
    match entry["op"]:
        case "init" if entry.get("list") is None:
            # The original empties the plan here. `interpret` marks a list that a model forgot, so that its plan stays.
            return (*(() if "list" in entry else (Write(()),)), MissingField("list", "init"))
        case "init":
            return (Write(tuple(Phase(given["phase"], _tasks(given["items"])) for given in entry["list"])),)
        case "append" if not (entry.get("phase") and entry.get("items")):
            return (MissingField("items" if entry.get("phase") else "phase", "append"),)
        case "append":
            return (Append(_tasks(entry["items"]), entry["phase"]),)
        case "start" | "note" if not entry.get("task"):
            return (MissingField("task", entry["op"]),)
        case "start":
            return (Mark(_named(entry), Status.IN_PROGRESS),)
        case "note":
            return (Note(_named(entry), entry.get("text", "").rstrip(JS_WHITESPACE)),)
        case "done" | "drop" | "rm":
            target = _target(entry)
            return (target if isinstance(target, MissingField) else CHANGES[entry["op"]](target),)
        case other:
            raise AssertionError(other)


def _target(entry: Params) -> Selector | MissingField:
    """Select the named task, else the named phase, else everything; a fault if all names that are given are empty."""
    if entry.get("task"):
        return _named(entry)
    if entry.get("phase"):
        return InPhase(entry["phase"], shown_text)
    empty = next((field for field in ("task", "phase") if entry.get(field) is not None), None)
    return Everything() if empty is None else MissingField(empty, entry["op"])


def _named(entry: Params) -> Named:
    return Named(entry["task"], shown_like(entry["task"]))


def _tasks(texts: Sequence[str]) -> tuple[Task, ...]:
    return tuple(map(Task, texts))


def _new_texts(entry: Params, path: str) -> Iterator[tuple[str, str]]:
    """Return every name and text that the op would add to the plan, each after its path in the arguments."""
    if entry["op"] == "init":
        for index, given in enumerate(entry.get("list") or ()):
            yield f"{path}.list[{index}].phase", given["phase"]
            yield from _with_paths(given["items"], f"{path}.list[{index}].items")
    elif entry["op"] == "append":
        yield from _with_paths(entry.get("items", ()), f"{path}.items")


def _with_paths(texts: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    return ((f"{path}[{index}]", text) for index, text in enumerate(texts))


_OP = {Status.IN_PROGRESS: "start", Status.COMPLETED: "done", Status.ABANDONED: "drop"}


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    return "todo_write", {"ops": [{"op": _OP[status], "task": plan.tasks[position].text}]}


_TASK = record(
    "content",
    "status",
    content=TEXT,
    status=enumeration(*(status.value for status in Status)),
    notes=array(TEXT),
)
RESULT = record(
    "phases",
    "storage",
    phases=array(record("name", "tasks", name=TEXT, tasks=array(_TASK))),
    storage=enumeration("session", "memory"),
    completedTasks=array(record("phase", "content", phase=TEXT, content=TEXT)),
)


CLEARED = "Todo list cleared."
SIGNS = {status: status.icon for status in Status} | {Status.PENDING: "○", Status.IN_PROGRESS: "→"}
MISSING = {
    "list": "Missing list for init operation",
    "task": "Missing task content",
    "phase": "Missing phase name",
    "items": "Missing items for append operation",
}
EMPTY_HINT = " (the list is empty: init it first)"
NAME_HINT = " (name a task by its text)"
MAX_LIST = (MAX_RESULT - 4 * MAX_FRAME) // 2
"""How many characters each of the two lists in a summary may have."""

INVENTED_ID = re.compile("task-[0-9]+")
"""The names that models invent for tasks which they believe to have ids."""


def reply(call: CompletedCall) -> Reply:
    """Report the errors and the whole plan, which is always included because the valid ops of a batch are applied."""
    before, plan = call.outcome.before, call.outcome.after
    failures = errors(call.outcome.faults)
    text = "\n".join(part for part in (failures, summary(plan)) if part)
    details: dict[str, Any] = {"phases": phases_out(plan), "storage": "session" if call.durable else "memory"}
    completed = [{"phase": entry.phase, "content": entry.task.text} for entry in newly_completed(before, plan)]
    if completed:
        details["completedTasks"] = completed
    return Reply(text or CLEARED, details, is_error=bool(failures))


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    return Reply(f"Errors: {'; '.join(map(str, problems))}. Nothing changed.", {}, is_error=True)


def carry_on(plan: Plan) -> str:
    """Return the nudge. Task text appears in the list only."""
    remaining = "\n".join(bounded_list(_open_items(plan), MAX_NUDGE - MAX_FRAME))
    return f"You stopped, and these todos are open:\n{remaining}\nGo on. Mark each done or dropped with todo_write."


def reminder(plan: Plan, attempt: int, limit: int) -> str:
    return as_reminder(f"{carry_on(plan)}\nReminder {attempt}/{limit}.")


def edit_reminder(plan: Plan) -> str:
    """Return the message that reports a person's edit to the model, with the plan after it."""
    if not plan.phases:
        return as_reminder("The user cleared the todo list by hand. Leave it empty unless asked for a new one.")
    return as_reminder(
        "The user changed the todo list by hand. It is now:\n\n"
        f"{bounded_checklist(plan, MAX_START - MAX_FRAME)}\nWork from it; do not bring back what is gone."
    )


def errors(faults: Sequence[Fault]) -> str:
    messages: list[str] = []
    given_hints = {""}
    for fault in faults:
        hint = _hint(fault)
        messages.append(sentence(fault) + ("" if hint in given_hints else hint))
        given_hints.add(hint)
    return clipped(f"Errors: {'; '.join(messages)}") if messages else ""


def sentence(fault: Fault) -> str:
    match fault:
        case MissingField("phase", "append"):
            return f"{MISSING['phase']} for append operation"
        case MissingField(field):
            return MISSING[field]
        case EmptyNote():
            return "Missing text for note operation"
        case TaskMissing(text):
            return f'Task "{_shown(text)}" not found'
        case PhaseMissing(name):
            return f'Phase "{_shown(name)}" not found'
        case DuplicateTask(text):
            return f'Task "{_shown(text)}" already exists'
        case HasCheck() | NotYours():
            return describe_fault(fault)
        case other:
            raise AssertionError(other)


def summary(plan: Plan) -> str:
    if not plan.tasks:
        return ""
    remaining = _open_items(plan)
    opening = f"Remaining items ({len(remaining)}):" if remaining else "Remaining items: none."
    return "\n".join([opening, *bounded_list(remaining, MAX_LIST), _progress(plan), *_tree(plan)])


def _open_items(plan: Plan) -> list[Entry]:
    return [
        (item.task, _open_line(item.task, item.phase)) for item in tasks_with_phase(plan) if item.task.status.is_open
    ]


def _open_line(task: Task, phase: str) -> Callable[[int], str]:
    return lambda size: f"  - {_shown(task.text, size)} [{task.status.value}] ({_shown(phase)})"


def _progress(plan: Plan) -> str:
    """Describe the progress of the first phase with open tasks, or of the last phase if there is none."""
    total = len(plan.phases)
    unfinished = (i for i, phase in enumerate(plan.phases) if _closed_count(phase) < len(phase.tasks))
    current = next(unfinished, total - 1)
    phase = plan.phases[current]
    count = f"{_closed_count(phase)}/{len(phase.tasks)} tasks complete"
    return f'Phase {current + 1}/{total} "{_shown(phase.name)}" — {count}'


def _closed_count(phase: Phase) -> int:
    return sum(not task.status.is_open for task in phase.tasks)


def _tree(plan: Plan) -> Iterator[str]:
    """Return the lines of all phases; of those without a task that fits, only if everything fits."""
    entries = [(task, _branch(task, phase.name)) for phase in plan.phases for task in phase.tasks]
    sizes = fitting(entries, MAX_LIST)
    size_of = iter(sizes)
    for phase in plan.phases:
        inside = [(task, size) for task in phase.tasks if (size := next(size_of))]
        if inside or all(sizes):
            yield f"  {_shown(phase.name)}:"
        yield from (line for task, size in inside for line in _task_lines(task, size))
    yield from omissions(plan.tasks, sizes)


def _branch(task: Task, phase: str) -> Callable[[int], str]:
    return lambda size: "\n".join([f"  {_shown(phase)}:", *_task_lines(task, size)])


def _task_lines(task: Task, size: int) -> Iterator[str]:
    count = len(task.notes)
    notes = f" (+{count} note{'s' if count > 1 else ''})" if count else ""
    yield f"    {SIGNS[task.status]} {_shown(task.text, size)}{notes}"
    if task.status is Status.IN_PROGRESS and task.notes:
        for line in clipped("\n---\n".join(task.notes)).split("\n"):
            # A carriage return at the end is preserved; other line breaks are replaced.
            body = line.removesuffix("\r")
            yield f"        {single_line(body)}{line[len(body) :]}"


def _shown(text: str, size: int = MAX_TEXT) -> str:
    return clipped(single_line(text), size)


def _hint(fault: Fault) -> str:
    match fault:
        case TaskMissing(_, empty=True):
            return EMPTY_HINT
        case TaskMissing(text) if INVENTED_ID.fullmatch(text):
            return NAME_HINT
        case _:
            return ""


DESCRIPTION = """\
Todo list: phases of tasks, both named by their exact text. \
Ops run in order; bad ones are reported, the rest count.
init: list replaces everything. append: items to phase (made if new). start: task. \
done, drop (give up), rm: task, else phase, else all. note: text to task.
Keep task texts unique. When the task in progress closes, the next one starts by itself."""

DIALECT = safe_dialect(
    Dialect(
        name="phased",
        rules=RULES,
        tools=(
            Tool(
                name="todo_write",
                label="Write todos",
                description=DESCRIPTION,
                parameters=PARAMETERS,
                steps=steps,
                reply=reply,
                interpret=interpret,
                output_schema=RESULT,
                snippet="Plan work in phases and tick it off",
                guidelines=(
                    "Plan work of several steps with todo_write first; mark each task done as soon as it is.",
                    "Append what turns up on the way; drop what is no longer needed.",
                ),
            ),
        ),
        refuse=refuse,
        # Every reply includes the whole plan.
        context=lambda _plan: None,
        carry_on=carry_on,
        phrasing=Phrasing(mark),
        recover=recover,
    )
)
