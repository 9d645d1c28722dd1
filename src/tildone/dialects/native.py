"""Words for models that keep their list with a coding agent's own todo tool, and for models of every dialect.

None of them names a tool. The news of a plan that others have changed is the same in every dialect.
"""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import open_tasks, progress
from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Reply
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan, Task

STOPPED = "Stopped by the person (tildone stop). Do nothing more and end your turn. To go on, they say: tildone resume"

MAX_TASKS = 10
MAX_CHANGES = 8
MAX_CHARACTERS = 200


def context(plan: Plan) -> str | None:
    """The open tasks, for a model at the start of its context; None if nothing is open."""
    if not open_tasks(plan):
        return None
    far = progress(plan)
    return f"Your plan ({far.closed} of {far.total} done); open:\n{_listed(plan)}"


def carry_on(plan: Plan) -> str:
    """Tells an agent that stopped with work left to continue. Task text appears in the list only."""
    return (
        f"Your todo list is not done:\n{_listed(plan)}\n"
        "Go on. Keep the list up to date: complete what is done, take out what is not needed."
    )


def news(told: Sequence[str]) -> str:
    """How a plan was changed since its model last saw it."""
    said = [_clipped(sentence) for sentence in told[:MAX_CHANGES]]
    if len(told) > MAX_CHANGES:
        said.append(f"and {len(told) - MAX_CHANGES} more changes")
    return f"Your plan was changed since you last saw it: {'; '.join(said)}."


def _listed(plan: Plan) -> str:
    tasks = [task for _, task in open_tasks(plan)]
    lines = [f"- {_clipped(single_line(task.text))}{_state(task)}" for task in tasks[:MAX_TASKS]]
    if len(tasks) > MAX_TASKS:
        lines.append(f"- and {len(tasks) - MAX_TASKS} more")
    return "\n".join(lines)


def _state(task: Task) -> str:
    match task.status:
        case Status.IN_PROGRESS:
            return " (in progress)"
        case Status.BLOCKED if task.notes:
            return f" (waits: {_clipped(single_line(task.notes[-1]))})"
        case Status.BLOCKED:
            return " (waits for somebody else)"
        case status:
            return "" if status is Status.PENDING else f" ({status.value})"


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


NATIVE = Dialect(
    name="native",
    rules=Rules(),
    tools=(),
    refuse=lambda *_: Reply("", {}, is_error=True),
    context=context,
    carry_on=carry_on,
)
