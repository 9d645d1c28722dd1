"""The `declared` dialect: `TodoWrite`, which is sent the whole list each time and answers in an envelope."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.base.schema import SchemaProblem, schema_problems
from tildone.plan.codec import pretty
from tildone.plan.dialects import (
    ANYTHING,
    INTEGER,
    TEXT,
    Dialect,
    Hints,
    Phrasing,
    Reply,
    Tool,
    array,
    enumeration,
    record,
    safe_dialect,
)
from tildone.plan.faults import HasCheck, MissingField, TextTooLong, TooManyActive, TooManyTasks, UnknownValue
from tildone.plan.model import Focus, Plan, Rules, Status, Task, flat, has_checks, open_tasks, progress, without_numbers
from tildone.plan.ops import Write
from tildone.plan.rare_steps import arrange
from tildone.plan.reduce import reduce
from tildone.plan.text import safe
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.proofs import results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tildone.plan.dialects import CompletedCall, Details, Params, ToolCall
    from tildone.plan.faults import Fault
    from tildone.plan.reduce import Step
    from tildone.plan.text.safe import Part


NAME = "TodoWrite"
MAX_ITEMS = 10
MAX_CONTENT_CHARACTERS = 60
RULES = Rules(focus=Focus.AT_MOST_ONE, max_tasks=MAX_ITEMS, max_text=MAX_CONTENT_CHARACTERS)

STATUSES = {
    "pending": Status.PENDING,
    "in_progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
}
# The dialect has no status for a blocked task, so such a task is reported by its basic status.
_OWN_WORDS = {status: word for word, status in STATUSES.items()}
WORDS = {status: _OWN_WORDS[status.basic] for status in Status}

PARAMETERS = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "description": "Overall task summary (required by the model)."},
        "todos": {
            "type": "array",
            "description": "The full todo list (overwrites existing list).",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "Todo text."},
                    "status": {"type": "string", "enum": list(STATUSES), "description": "Todo status."},
                    "id": {"type": "string", "description": "Optional todo id (framework may assign/reuse)."},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["summary", "todos"],
}


IGNORED_FIELD = "].activeForm"
"""The end of the path of a field that items may have beyond the schema.

Models that know the `TodoWrite` of Claude Code add it to every item: the content once more, as "Writing the parser".
It is not in the schema, so that other models do not spend tokens on it.
"""


def interpret(arguments: Any) -> tuple[Any, Sequence[SchemaProblem]]:
    """Return the arguments as they are, and how they violate the schema."""
    problems = schema_problems(PARAMETERS, arguments)
    return arguments, [problem for problem in problems if not problem.path.endswith(IGNORED_FIELD)]


def write_steps(params: Params, plan: Plan = Plan()) -> Sequence[Step]:  # noqa: B008  frozen
    """Return the change that replaces the list, or the first fault of the new one.

    Tasks that are in the plan already keep their phases and notes, and the limits do not apply to them. Ids and unknown
    keys are ignored. `RULES` rejects a list with two items in progress.
    """
    fault = _first_fault(params, plan)
    if fault is not None:
        return (fault,)
    shown = _shown_texts(plan)
    blocked = {task.text for task in plan.tasks if task.status is Status.BLOCKED}
    tasks = []
    for item in params["todos"]:
        text, status = item["content"].strip(), STATUSES[item["status"]]
        text = shown.get(text, text)
        # A blocked task stays so if the model sent the status that it was shown.
        stays = text in blocked and status is Status.BLOCKED.basic
        tasks.append(Task(text, Status.BLOCKED if stays else status))
    return (Write(arrange(plan, tasks).phases if tasks else ()),)


def _shown_texts(plan: Plan) -> dict[str, str]:
    """Return the texts that a model reads in another form, by that form: it may send either back."""
    texts = {task.text for task in plan.tasks}
    return {shown: text for text in texts if (shown := safe.shown_text(text).strip()) not in texts}


def _first_fault(params: Params, plan: Plan) -> Fault | None:
    """Return the first fault. The order of the checks is part of the contract."""
    summary, todos = params.get("summary"), params.get("todos")
    if not isinstance(summary, str) or not summary.strip():
        return MissingField("summary", NAME)
    if not isinstance(todos, list | tuple):
        return MissingField("todos", NAME)
    if len(todos) > max(MAX_ITEMS, len(plan.tasks)):
        return TooManyTasks(len(todos), MAX_ITEMS, 0)
    known = {task.text for task in plan.tasks} | _shown_texts(plan).keys()
    for index, item in enumerate(todos):
        path = f"todos[{index}]"
        if not isinstance(item, dict):
            return MissingField(path, NAME)
        content, status = item.get("content"), item.get("status")
        if not isinstance(content, str) or not content.strip():
            return MissingField(f"{path}.content", NAME)
        if len(content.strip()) > MAX_CONTENT_CHARACTERS and content.strip() not in known:
            return TextTooLong(index, MAX_CONTENT_CHARACTERS)
        if not isinstance(status, str):
            return MissingField(f"{path}.status", NAME)
        if status not in STATUSES:
            return UnknownValue(f"{path}.status", status)
    return None


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the list in the newest successful result, or None. A list that the tool would refuse is skipped."""
    for entry in reversed(entries):
        outcome = reduce(Plan(), write_steps(_data(entry)), RULES)
        if not outcome.faults:
            return without_numbers(outcome.after)
    return None


def _data(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a successful result, which has the form of a call, or {} for any other entry."""
    match entry:
        case {
            "type": "message",
            "message": {
                "role": "toolResult",
                "toolName": "TodoWrite",
                "details": {"status": "success", "data": dict() as data},
            },
        }:
            return data
        case _:
            return {}


SUMMARY = "Work through the plan"


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    todos = [
        {"content": task.text, "status": WORDS[status if index == position else task.status]}
        for index, task in enumerate(plan.tasks)
    ]
    return NAME, {"summary": SUMMARY, "todos": todos}


_ITEM = record("id", "content", "status", id=TEXT, content=TEXT, status=enumeration(*STATUSES))
RESULT = record(
    "status",
    "data",
    "text",
    "stats",
    "context",
    status=enumeration("success", "error"),
    data={
        "type": "object",
        "properties": {"todos": array(_ITEM), "recap": TEXT, "summary": TEXT, "persisted_to": TEXT},
    },
    text=TEXT,
    stats={"type": "object", "additionalProperties": INTEGER},
    context=record("cwd", "params_input", cwd=TEXT, params_input=ANYTHING),
    error=record("code", "message", code=TEXT, message=TEXT),
)


MARKS = {status: f"[{status.icon}]" for status in Status} | {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[▶]",
    Status.ABANDONED: "[~]",
}
RECAP_SECTIONS = (("Pending", Status.PENDING, 3), ("Cancelled", Status.ABANDONED, 2))
MAX_RECAP = 299
"""How long the recap at the end of a request may be: the original advises fewer than 300 characters."""

MAX_SHOWN = safe.MAX_NUDGE - 2 * safe.MAX_FRAME
"""How many characters of a list a model is told, in a nudge and in a reply alike."""

EXPECTED = {
    "summary": "some text",
    "todos": "an array",
    "content": "some text",
    "status": f"one of {', '.join(STATUSES)}",
}
EXPECTED_ITEM = "an object with content and status"


def recap(plan: Plan) -> str:
    """Summarize the plan in one line: progress, the task in progress, the next tasks, the cancelled ones."""
    so_far = progress(plan)
    active = next(_texts(plan, Status.IN_PROGRESS), "None")
    parts = [f"[{so_far.closed}/{so_far.total}] In progress: {active}."]
    for title, status, max_texts in RECAP_SECTIONS:
        texts = list(_texts(plan, status))[:max_texts]
        if texts:
            parts.append(f"{title}: {'; '.join(texts)}.")
    return " ".join(parts)


def short_recap(plan: Plan) -> str:
    """Return the recap in at most `MAX_RECAP` characters; the texts are cut to the same length."""
    whole = recap(plan)
    if len(whole) <= MAX_RECAP:
        return whole
    longest = next(size for size in range(MAX_RECAP, 0, -1) if len(recap(_cut(plan, size))) <= MAX_RECAP)
    return recap(_cut(plan, longest))


def _cut(plan: Plan, size: int) -> Plan:
    return flat(*(replace(task, text=safe.clipped(task.text, size)) for task in plan.tasks))


def lines(plan: Plan) -> list[str]:
    return [f"{MARKS[task.status]} {_shown(task.text)}" for task in plan.tasks]


def part(plan: Plan) -> Part:
    """Return the part of the plan that a model is told: all of it, unless it is far longer than the tool allows.

    The model sends back what it was told, so texts are not cut; the other tasks count as unknown to it, and are kept.
    """
    return safe.bounded_plan(plan, MAX_SHOWN, safe.MAX_TEXT)


def sentence(fault: Fault) -> str:
    """Describe why a list was refused: the field, and the value that was expected there."""
    match fault:
        case TooManyTasks(adding, limit):
            return f"todos: expected at most {limit} items, got {adding}"
        case TextTooLong(index, limit):
            return f"todos[{index}].content: expected at most {limit} characters"
        case TooManyActive(count):
            return f"todos: expected at most one item in_progress, got {count}"
        case MissingField(field) | UnknownValue(field):
            return f"{field}: expected {EXPECTED.get(field.rpartition('.')[2], EXPECTED_ITEM)}"
        case HasCheck():
            return describe_fault(fault)
        case other:
            raise AssertionError(other)


def context(plan: Plan) -> str | None:
    return short_recap(plan) if open_tasks(plan) else None


def carry_on(plan: Plan) -> str:
    """Return the nudge, with closed tasks, because the next call has to send the whole list; texts only in the list."""
    active = any(task.status is Status.IN_PROGRESS for task in plan.tasks)
    instruction = "Finish the [▶] item" if active else "Set the first [ ] item to in_progress and do it"
    told = part(plan)
    listed = "\n".join([*lines(told.plan), *told.omissions])
    return (
        f"Todos ({len(open_tasks(plan))} of {len(plan.tasks)} open):\n{listed}\n\n"
        f"{instruction}; send the whole list with {NAME} whenever a status changes."
    )


def completes(call: CompletedCall) -> bool:
    return not call.outcome.faults and progress(call.outcome.after).finished


def completion(call: CompletedCall, number: int, timestamp: str) -> str:
    plan = call.outcome.after
    total = len(plan.tasks)
    finished = [f"- {text}" for text in _texts(plan, Status.COMPLETED)]
    dropped = [f"- ~~{text}~~" for text in _texts(plan, Status.ABANDONED)]
    block = [f"# task{number}-{timestamp}", "", f"总任务概述：{safe.single_line(call.params['summary'].strip())}"]
    if finished:
        block += ["", f"[{len(finished)}/{total}] Completed: 完成的任务.", *finished]
    if dropped:
        block += ["", f"[{len(dropped)}/{total}] Cancelled: 取消的任务.", *dropped]
    return "\n".join([*block, ""])


def _shown(text: str) -> str:
    return safe.clipped(safe.single_line(text))


def _texts(plan: Plan, status: Status) -> Iterator[str]:
    return (_shown(task.text) for task in plan.tasks if task.status is status)


MAX_PROBLEMS = 5
"""The number of problems that are listed; the others are counted."""

MAX_ECHO_DEPTH = 16
"""Arguments with deeper nesting are not echoed. A valid call has four levels, and each adds indentation."""

MAX_ECHO_CHARACTERS = 10_000
"""Longer arguments are not echoed."""


def write_reply(call: CompletedCall) -> Reply:
    """Report the new list, as data for the model and as text for people."""
    if call.outcome.faults:
        return _refusal(sentence(call.outcome.faults[0]), call.params, call.elapsed_ms)
    plan = call.outcome.after
    told = part(plan)
    todos = [
        {"id": f"t{number}", "content": task.text, "status": WORDS[task.status]}
        for number, task in enumerate(told.plan.tasks, 1)
    ]
    data: Details = {
        "todos": todos,
        "recap": short_recap(plan),
        "summary": safe.clipped(call.params["summary"].strip(), MAX_ECHO_CHARACTERS),
    }
    block = ["--- TODO UPDATE ---", *lines(told.plan), *told.omissions, "-------------------"]
    if call.saved_to is not None:
        data["persisted_to"] = call.saved_to
        block.append(f"(Saved to {call.saved_to})")
    block += results(call.outcome, numbered=False) if has_checks(plan) else []
    return _reply(
        {
            "status": "success",
            "data": data,
            "text": "\n".join(block),
            "stats": {"time_ms": max(1, call.elapsed_ms), **_counts(plan)},
            "context": _context(call.params),
        }
    )


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], given: object) -> Reply:
    """Reply to arguments that do not match the schema, in the same form as to a list that the tool refuses."""
    messages = [str(problem) for problem in problems[:MAX_PROBLEMS]]
    if len(problems) > MAX_PROBLEMS:
        messages.append(f"and {len(problems) - MAX_PROBLEMS} more")
    return _refusal("; ".join(messages), given, elapsed_ms=0)


def internal_error(why: str, given: object) -> Reply:
    return _refusal(f"nothing was changed: {why}", given, elapsed_ms=0, code="INTERNAL_ERROR")


def _refusal(message: str, given: object, elapsed_ms: int, code: str = "INVALID_PARAM") -> Reply:
    return _reply(
        {
            "status": "error",
            "data": {},
            "text": safe.clipped(message),
            "stats": {"time_ms": elapsed_ms},
            "context": _context(given),
            "error": {"code": code, "message": safe.clipped(message)},
        }
    )


def _reply(envelope: Details) -> Reply:
    return Reply(safe.escape_json(pretty(envelope)), envelope, is_error=envelope["status"] == "error")


def _context(given: object) -> Details:
    is_short = not _is_deeper(given, MAX_ECHO_DEPTH) and len(pretty(given)) <= MAX_ECHO_CHARACTERS
    return {"cwd": ".", "params_input": given if is_short else {}}


def _is_deeper(given: object, levels: int) -> bool:
    if not isinstance(given, dict | list | tuple):
        return False
    inner = given.values() if isinstance(given, dict) else given
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _counts(plan: Plan) -> dict[str, int]:
    by_word = {word: sum(task.status is status for task in plan.tasks) for word, status in STATUSES.items()}
    return {"total": len(plan.tasks), **by_word}


SNIPPET = "Keep the plan of a longer task: send the whole todo list, get it back with a recap"
GUIDELINES = (
    "Use TodoWrite for work of three or more steps, or if asked to track progress, not for simple requests.",
    f"Send the complete list every time, never a part: at most {MAX_ITEMS} items, and a summary of it all.",
    f"Keep each content short and actionable, at most {MAX_CONTENT_CHARACTERS} characters.",
    "Set an item to in_progress before you begin it, never two at once, and to completed once it is done.",
    "Set what is no longer needed to cancelled. Call TodoWrite again whenever the plan changes.",
)

DIALECT = safe_dialect(
    Dialect(
        name="declared",
        rules=RULES,
        tools=(
            Tool(
                name=NAME,
                label="Write todos",
                description=(
                    "Overwrite the todo list with the current complete list. "
                    "Framework persists and returns the updated list and recap."
                ),
                parameters=PARAMETERS,
                steps=lambda params: lambda plan: write_steps(params, plan),
                whole_list=True,
                reply=write_reply,
                snippet=SNIPPET,
                guidelines=GUIDELINES,
                interpret=interpret,
                output_schema=RESULT,
                hints=Hints(idempotent=True),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=Phrasing(mark),
        recover=recover,
        completes=completes,
        completion=completion,
        shown_part=lambda plan: part(plan).plan,
        tells_results=True,
    )
)
