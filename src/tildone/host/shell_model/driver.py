"""Decides the next tool call of a script from the conversation alone.

The driver has no state, so an interrupted conversation is resumed by reading it: the results of the todo tools contain
the plan, and the results of commands show which of them have succeeded.
"""

from __future__ import annotations

from collections.abc import Sequence

from tildone.core.plan import Plan, Status
from tildone.core.query import open_tasks
from tildone.dialects.base import Dialect, Phrasing
from tildone.host.message_codec import encode_message
from tildone.host.messages import ModelMessage, ToolResultMessage, UserMessage, text_of, tool_calls
from tildone.host.model import ModelFailure
from tildone.host.shell_model.script import Job, Script
from tildone.host.wire import JsonValue
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from tildone.dialects.base import ToolCall

SHELL = "bash"
REMINDER = "<system-reminder>"


@value
class FinalAnswer:
    """The text that ends the run, once nothing is left to do."""

    text: str


class Driver:
    """Carries out one script in one dialect.

    Raises:
        ModelFailure: the dialect has no phrasing for programs.
    """

    def __init__(self, script: Script, dialect: Dialect) -> None:
        if dialect.phrasing is None:
            raise ModelFailure(f"the shell model does not speak the {dialect.name} dialect", transient=False)
        self._script = script
        self._dialect = dialect
        self._phrasing: Phrasing = dialect.phrasing

    def next_step(self, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        """Return the next call, or the answer that ends the run.

        Raises:
            ModelFailure: the last call failed and no user message followed, or a task has no command.
        """
        conversation = [message for message in conversation if not _is_reminder(message)]
        plans = [plan for message in conversation if (plan := self._plan_in(message)) is not None]
        result = _last_result(conversation)
        if result is not None and result.is_error:
            raise self._failure(plans[-1] if plans else Plan(), result, _last_call(conversation))
        step = self._step(plans, conversation)
        if isinstance(step, FinalAnswer) or step[0] == SHELL or step != _last_call(conversation):
            return step
        raise ModelFailure(f"{step[0]} did not do what it was told: {text_of(conversation[-1])}", transient=False)

    def _step(self, plans: Sequence[Plan], conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        plan = plans[-1] if plans else Plan()
        closed = self._closed(plans)
        known = {*closed, *(task.text for task in plan.tasks)}
        if any(job.text not in known for job in self._script.jobs):
            return self._phrasing.write(plan, self._script.plan, self._script.name)
        for _, task in open_tasks(plan):
            if task.text in closed:
                return self._mark(plan, task.text, closed[task.text])
        return self._work(plan, conversation)

    def _work(self, plan: Plan, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        """Return the next call for the task in progress, else for the first open task."""
        todo = [(task, job) for _, task in open_tasks(plan) if (job := self._script.job(task.text)) is not None]
        if not todo:
            return self._final_answer(plan)
        task, job = next((pair for pair in todo if pair[0].status is Status.IN_PROGRESS), todo[0])
        if task.status is Status.PENDING:
            return self._mark(plan, job.text, Status.IN_PROGRESS)
        count = self._succeeded(job, conversation)
        if count < len(job.commands):
            return SHELL, {"command": job.commands[count]}
        return self._mark(plan, job.text, Status.COMPLETED)

    def _mark(self, plan: Plan, text: str, status: Status) -> ToolCall:
        return self._phrasing.mark(plan, text, status, self._script.name)

    def _final_answer(self, plan: Plan) -> FinalAnswer:
        left = [task.text for _, task in open_tasks(plan)]
        if left:
            listed = "".join(f"\n- {single_line(text)}" for text in left)
            raise ModelFailure(f"{self._script.name} does not say how to do these tasks:{listed}", transient=False)
        count = len(self._script.jobs)
        return FinalAnswer("The task is done." if count == 1 else f"All {count} tasks are done.")

    def _closed(self, plans: Sequence[Plan]) -> dict[str, Status]:
        """Return the status, by text, of each task that the file marks closed or that was closed in this conversation.

        Earlier plans count, because a closed task may have been cleared from the current one since.
        """
        done = {task.text: task.status for plan in plans for task in plan.tasks if not task.status.is_open}
        return done | {job.text: job.status for job in self._script.jobs if not job.status.is_open}

    def _succeeded(self, job: Job, conversation: Sequence[ModelMessage]) -> int:
        """Return how many of the job's commands have succeeded since it was last started."""
        count, before = 0, Status.PENDING
        commands: dict[str, JsonValue] = {}
        for message in conversation:
            commands |= {call.id: call.arguments.get("command") for call in tool_calls(message)}
            plan = self._plan_in(message)
            now = next((task.status for task in plan.tasks if task.text == job.text), before) if plan else before
            if now is Status.IN_PROGRESS and before is not Status.IN_PROGRESS:
                count = 0
            before = now
            if not isinstance(message, ToolResultMessage) or message.tool_name != SHELL or message.is_error:
                continue
            if count < len(job.commands) and commands.get(message.tool_call_id) == job.commands[count]:
                count += 1
        return count

    def _failure(self, plan: Plan, result: ToolResultMessage, call: ToolCall | None) -> ModelFailure:
        """Return the failure that ends the run, with the task and the command."""
        details = result.details or {}
        why = details.get("summary") or text_of(result)
        if result.tool_name != SHELL:
            return ModelFailure(f"{result.tool_name} refused the plan of {self._script.name}: {why}", transient=False)
        command = call[1]["command"] if call else ""
        task = next(task for task in plan.tasks if task.status is Status.IN_PROGRESS)
        return ModelFailure(f"“{single_line(task.text)}” failed: {why}\n$ {command}", transient=False)

    def _plan_in(self, message: ModelMessage) -> Plan | None:
        """Return the plan in a tool result, if any."""
        if not isinstance(message, ToolResultMessage) or message.is_error:
            return None
        return self._dialect.recover([{"type": "message", "message": encode_message(message)}])


def _last_call(conversation: Sequence[ModelMessage]) -> ToolCall | None:
    """Return the call whose result is the newest message."""
    result = _last_result(conversation)
    if result is None:
        return None
    calls = [call for message in conversation for call in tool_calls(message) if call.id == result.tool_call_id]
    return calls[-1].name, calls[-1].arguments


def _last_result(conversation: Sequence[ModelMessage]) -> ToolResultMessage | None:
    """Return the newest message, if it is a result."""
    last = conversation[-1] if conversation else None
    return last if isinstance(last, ToolResultMessage) else None


def _is_reminder(message: ModelMessage) -> bool:
    """Return whether an extension wrote this message in the user's role."""
    return isinstance(message, UserMessage) and text_of(message).startswith(REMINDER)
