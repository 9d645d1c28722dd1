"""The `toy` dialect, which a test adds: the whole list in one tool, one line for each task."""

from __future__ import annotations

from collections.abc import Sequence

from tildone.base import TYPE_CHECKING
from tildone.plan.dialects import CompletedCall, Dialect, Hints, Phrasing, Reply, Tool
from tildone.plan.model import Plan, Rules, Status, Task, flat
from tildone.plan.ops import Op, Write

if TYPE_CHECKING:
    from tildone.plan.dialects import Params, ToolCall


PREFIXES = {Status.IN_PROGRESS: "> ", Status.COMPLETED: "x "}


def _steps(params: Params) -> Sequence[Op]:
    return [Write(flat(*map(_task, params["lines"])).phases)]


def _task(line: str) -> Task:
    for status, prefix in PREFIXES.items():
        if line.startswith(prefix):
            return Task(line.removeprefix(prefix), status)
    return Task(line)


def _line(task: Task) -> str:
    return f"{PREFIXES.get(task.status, '')}{task.text}"


def _call(tasks: Sequence[Task]) -> ToolCall:
    return "toy_plan", {"lines": [_line(task) for task in tasks]}


def _reply(done: CompletedCall) -> Reply:
    return Reply(f"{len(done.outcome.after.tasks)} lines", {"lines": len(done.outcome.after.tasks)})


def _mark(plan: Plan, position: int, status: Status) -> ToolCall:
    return _call([Task(task.text, status if at == position else task.status) for at, task in enumerate(plan.tasks)])


DIALECT = Dialect(
    name="toy",
    rules=Rules(),
    tools=(
        Tool(
            name="toy_plan",
            label="Toy plan",
            description="Write the whole plan, one line for each task; '> ' begins one in progress, 'x ' a done one.",
            parameters={
                "type": "object",
                "properties": {"lines": {"type": "array", "items": {"type": "string"}}},
                "required": ["lines"],
            },
            steps=_steps,
            reply=_reply,
            output_schema={"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]},
            hints=Hints(idempotent=True),
        ),
    ),
    refuse=lambda _tool, problems, _given: Reply("; ".join(map(str, problems)), {}, is_error=True),
    context=lambda _plan: None,
    carry_on=lambda plan: f"Lines left: {sum(task.status.is_open for task in plan.tasks)}",
    phrasing=Phrasing(_mark),
)
