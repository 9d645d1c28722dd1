"""What to do next, found out from the conversation alone: whoever opens it again goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tildone.core.plan import Plan, Status
from tildone.core.query import open_tasks
from tildone.host.messages import Message, text_of, tool_calls
from tildone.host.model import ModelFailure
from tildone.host.shell_model.script import Job, Script
from tildone.host.shell_model.tongues import Call, Tongue
from tildone.value import value
from tildone.views.sanitize import single_line

SHELL = "bash"
REMINDER = "<system-reminder>"


@value
class Said:
    """Nothing is left to do, and this is said."""

    text: str


Move = Call | Said


def next_move(script: Script, tongue: Tongue, told: Sequence[Message]) -> Move:
    """The next call, or the last words.

    Raises:
        ModelFailure: a call failed, and nobody has said anything since; or there is no way to go on.
    """
    told = [message for message in told if not _is_reminder(message)]
    plans = [plan for message in told if (plan := _plan(tongue, message)) is not None]
    plan = plans[-1] if plans else Plan()
    if told and told[-1]["role"] == "toolResult" and told[-1]["isError"]:
        raise _stopped(script, plan, told)
    move = _move(script, tongue, plans, told)
    if isinstance(move, Said) or move[0] == SHELL or move != _last_call(told):
        return move
    raise ModelFailure(f"{move[0]} did not do what it was told: {text_of(told[-1])}", transient=False)


def _move(script: Script, tongue: Tongue, plans: Sequence[Plan], told: Sequence[Message]) -> Move:
    plan = plans[-1] if plans else Plan()
    closed = _closed(script, plans)
    if any(job.text not in closed and job.text not in _texts(plan) for job in script.jobs):
        return tongue.write(script)
    for _, task in open_tasks(plan):
        if task.text in closed:
            return tongue.mark(script, plan, task.text, closed[task.text])
    return _work(script, tongue, plan, told)


def _work(script: Script, tongue: Tongue, plan: Plan, told: Sequence[Message]) -> Move:
    """The next call for the task in progress, else for the first that is open."""
    todo = [(task, job) for _, task in open_tasks(plan) if (job := script.job(task.text)) is not None]
    if not todo:
        return _last_words(script, plan)
    task, job = next((each for each in todo if each[0].status is Status.IN_PROGRESS), todo[0])
    if task.status is Status.PENDING:
        return tongue.mark(script, plan, job.text, Status.IN_PROGRESS)
    count = _succeeded(tongue, job, told)
    if count < len(job.commands):
        return SHELL, {"command": job.commands[count]}
    return tongue.mark(script, plan, job.text, Status.COMPLETED)


def _last_words(script: Script, plan: Plan) -> Said:
    left = [task.text for _, task in open_tasks(plan)]
    if left:
        listed = "".join(f"\n- {single_line(text)}" for text in left)
        raise ModelFailure(f"{script.name} does not say how to do these tasks:{listed}", transient=False)
    count = len(script.jobs)
    return Said("The task is done." if count == 1 else f"All {count} tasks are done.")


def _closed(script: Script, plans: Sequence[Plan]) -> dict[str, Status]:
    """Tasks that need no doing, by text: the file ticks them off, or they were done in this conversation.

    A plan that is written anew, or from which finished tasks are taken, does not say so any more.
    """
    done = {task.text: task.status for plan in plans for task in plan.tasks if not task.status.is_open}
    return done | {job.text: job.status for job in script.jobs if not job.status.is_open}


def _succeeded(tongue: Tongue, job: Job, told: Sequence[Message]) -> int:
    """How many of the job's commands have succeeded since it was started."""
    count, before = 0, Status.PENDING
    lines: dict[str, Any] = {}
    for message in told:
        lines |= {call["id"]: call["arguments"].get("command") for call in tool_calls(message)}
        plan = _plan(tongue, message)
        now = next((task.status for task in plan.tasks if task.text == job.text), before) if plan else before
        if now is Status.IN_PROGRESS and before is not Status.IN_PROGRESS:
            count = 0
        before = now
        ran = message["role"] == "toolResult" and message["toolName"] == SHELL and not message["isError"]
        if ran and count < len(job.commands) and lines.get(message["toolCallId"]) == job.commands[count]:
            count += 1
    return count


def _stopped(script: Script, plan: Plan, told: Sequence[Message]) -> ModelFailure:
    """Why there is no going on, and at which task."""
    result = told[-1]
    details = result.get("details") or {}
    why = details.get("summary") or text_of(result)
    if result["toolName"] != SHELL:
        return ModelFailure(f"{result['toolName']} refused the plan of {script.name}: {why}", transient=False)
    call = _last_call(told)
    command = call[1]["command"] if call else ""
    task = next(task for task in plan.tasks if task.status is Status.IN_PROGRESS)
    return ModelFailure(f"“{single_line(task.text)}” failed: {why}\n$ {command}", transient=False)


def _last_call(told: Sequence[Message]) -> Call | None:
    """The call whose result has just come."""
    if not told or told[-1]["role"] != "toolResult":
        return None
    calls = [call for message in told for call in tool_calls(message) if call["id"] == told[-1]["toolCallId"]]
    return calls[-1]["name"], calls[-1]["arguments"]


def _is_reminder(message: Message) -> bool:
    """Whether nobody said this: hosts put reminders of the plan between what is said."""
    return message["role"] == "user" and text_of(message).startswith(REMINDER)


def _plan(tongue: Tongue, message: Message) -> Plan | None:
    """The plan that a result tells of."""
    if message["role"] != "toolResult" or message["isError"]:
        return None
    return tongue.dialect.recover([{"type": "message", "message": message}])


def _texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]
