"""The parameters of `TodoWrite`, and their translation into changes to a plan."""

from __future__ import annotations

from tildone.core.arrange import arrange
from tildone.core.faults import MissingField, TextTooLong, TooManyTasks, UnknownValue
from tildone.core.ops import Write
from tildone.core.plan import Plan, Status, Task
from tildone.core.rules import Focus, Rules
from tildone.kit.schema import SchemaProblem, schema_problems
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any

    from tildone.core.faults import Fault
    from tildone.core.reduce import Step
    from tildone.dialects.base import Params

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


def steps(params: Params) -> Callable[[Plan], Sequence[Step]]:
    """Return the changes of a call, as a function of the plan."""
    return lambda plan: write_steps(params, plan)


def write_steps(params: Params, plan: Plan = Plan()) -> Sequence[Step]:  # noqa: B008  frozen
    """Return the change that replaces the list, or the first fault of the new one.

    Tasks that are in the plan already keep their phases and notes, and the limits do not apply to them. Ids and unknown
    keys are ignored. `RULES` rejects a list with two items in progress.
    """
    fault = _first_fault(params, plan)
    if fault is not None:
        return (fault,)
    shown = _shown_texts(plan)
    contents = [item["content"].strip() for item in params["todos"]]
    statuses = [STATUSES[item["status"]] for item in params["todos"]]
    tasks = [Task(shown.get(text, text), status) for text, status in zip(contents, statuses, strict=True)]
    blocked = {task.text for task in plan.tasks if task.status is Status.BLOCKED}
    tasks = [_still_blocked(task) if task.text in blocked else task for task in tasks]
    return (Write(arrange(plan, tasks).phases if tasks else ()),)


def _shown_texts(plan: Plan) -> dict[str, str]:
    """Return the texts that a model reads in another form, by that form: it may send either back."""
    texts = {task.text for task in plan.tasks}
    return {shown: text for text in texts if (shown := shown_text(text).strip()) not in texts}


def _still_blocked(task: Task) -> Task:
    """Return a blocked task as it was, if the model sent the status that it was shown."""
    return Task(task.text, Status.BLOCKED) if task.status is Status.BLOCKED.basic else task


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
        fault = _item_fault(index, item, known)
        if fault is not None:
            return fault
    return None


def _item_fault(index: int, item: object, known: AbstractSet[str]) -> Fault | None:
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
    return None if status in STATUSES else UnknownValue(f"{path}.status", status)
