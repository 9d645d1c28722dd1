"""A host's own todo list, followed in the plan: so that gate and board work where the model never calls a tool of ours.

A list is followed as a whole while the plan is nobody else's: it is empty, nothing of it is open, or the model's newest
call was such a list. A plan that people made is only ticked off, task by task, where the texts are the same. One that
the model keeps with a tool of ours is left alone.
"""

from __future__ import annotations

from tildone.core.ops import Append, Named, Remove, Write
from tildone.core.plan import Plan, Task
from tildone.core.query import open_tasks
from tildone.core.rules import Rules
from tildone.hooks.hosts import TASK
from tildone.hooks.native_lists import (
    BETWEEN,
    MOST,
    arguments,
    calls,
    followed,
    listed,
    merged,
    mirrored,
    revised,
    status,
)
from tildone.log import codec
from tildone.log.events import Actor, Call
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.core.reduce import Step
    from tildone.hooks.event import HookEvent
    from tildone.hooks.hosts import Host
    from tildone.session import Session

CREATE, UPDATE, LIST, COMPLETED, DELETED = "TaskCreate", "TaskUpdate", "TaskList", "TaskCompleted", "deleted"
AS_IT_IS = Rules(max_tasks=MOST)


def mirror(heard: HookEvent, session: Session) -> bool:
    """Bring the plan up to what the host's list says; whether the plan is now that list, and nothing else."""
    if _failed(heard.get("response")):
        return False
    tool, given = heard.text("tool"), arguments(heard.get("input"))
    if heard.moment == TASK:
        tool = UPDATE if heard.event == COMPLETED else CREATE
        told = {"taskId": heard.get("task"), "subject": heard.get("subject")}
        given = {**told, "status": "completed"} if tool == UPDATE else told
    theirs = listed(heard.host, tool, given)
    if theirs is not None:
        return _follow_list(session, heard.host, tool, given, theirs)
    if tool == CREATE:
        _follow_creation(session, heard.host, {"taskId": _made(heard.get("response")), **given})
    elif tool == UPDATE:
        _follow_update(session, heard.host, given)
    elif tool == LIST:
        for task in _listing(heard.get("response")):
            _follow_creation(session, heard.host, task)
            _follow_update(session, heard.host, task)
    return False


def _follow_list(session: Session, host: Host, tool: str, given: Mapping[str, Any], theirs: Sequence[Task]) -> bool:
    call = next(calls(session), None)
    ours = call is not None and BETWEEN in call.tool
    if call is not None and not ours and open_tasks(session.plan):
        return False
    if call is None and open_tasks(session.plan):
        session.change(lambda plan: (Write(followed(plan, theirs).phases),), Actor.AGENT, AS_IT_IS)
        return False
    base = _base(host, call) if call is not None and ours else []

    def steps(plan: Plan) -> Sequence[Step]:
        return (Write(merged(base, plan if ours else Plan(), theirs).phases),)

    made = Call(f"{host.name}{BETWEEN}{tool}", codec.dump(given))
    outcome = session.change(steps, Actor.AGENT, AS_IT_IS, made)
    return [(task.text, task.status) for task in outcome.after.tasks] == [(task.text, task.status) for task in theirs]


def _base(host: Host, call: Call) -> Sequence[Task]:
    """The list that the model wrote before."""
    return listed(host, call.tool.partition(BETWEEN)[2], arguments(call.arguments)) or []


def _follow_creation(session: Session, host: Host, given: Mapping[str, Any]) -> None:
    number, subject = given.get("taskId"), given.get("subject")
    if not isinstance(subject, str) or not subject.strip() or number is None:
        return
    text = subject.strip()

    def steps(plan: Plan) -> Sequence[Step]:
        ours = mirrored(session)
        if _subject(session, host, number) is not None or (open_tasks(plan) and not ours):
            return ()
        return (Append((Task(text),), anew=not ours),)

    kept = {"taskId": number, "subject": text}
    session.change(steps, Actor.AGENT, AS_IT_IS, Call(f"{host.name}{BETWEEN}{CREATE}", codec.dump(kept)))


def _follow_update(session: Session, host: Host, given: Mapping[str, Any]) -> None:
    subject = given.get("subject")
    text = _subject(session, host, given.get("taskId")) or (subject.strip() if isinstance(subject, str) else "")
    call = next(calls(session), None)
    if call is None and text:
        theirs = [Task(text, status(given.get("status")))]
        session.change(lambda plan: (Write(followed(plan, theirs).phases),), Actor.AGENT, AS_IT_IS)
    if call is None or not text or BETWEEN not in call.tool:
        return

    def steps(plan: Plan) -> Sequence[Step]:
        if given.get("status") == DELETED:
            return (Remove(Named(text)),)
        return (Write(revised(plan, text, subject, given.get("status")).phases),)

    made = Call(f"{host.name}{BETWEEN}{UPDATE}", codec.dump(dict(given)))
    session.change(steps, Actor.AGENT, AS_IT_IS, made)


def _subject(session: Session, host: Host, number: object) -> str | None:
    """The text of the task that the host has under this number, as its creation or its newest change said."""
    for call in calls(session):
        if call.tool in (f"{host.name}{BETWEEN}{CREATE}", f"{host.name}{BETWEEN}{UPDATE}"):
            said = arguments(call.arguments)
            subject = said.get("subject")
            if str(said.get("taskId")) == str(number) and isinstance(subject, str) and subject.strip():
                return subject.strip()
    return None


def _made(response: object) -> object:
    """The number that the host has given a new task."""
    task = response.get("task") if isinstance(response, dict) else None
    return task.get("id") if isinstance(task, dict) else None


def _listing(response: object) -> list[Mapping[str, Any]]:
    """The tasks that the host has listed, for a plan that missed how they came about."""
    tasks = response.get("tasks") if isinstance(response, dict) else None
    named = [task for task in (tasks if isinstance(tasks, list) else ())[:MOST] if isinstance(task, dict)]
    return [{"taskId": task.get("id"), "subject": task.get("subject"), "status": task.get("status")} for task in named]


def _failed(response: object) -> bool:
    """Whether the tool says that it did nothing."""
    if not isinstance(response, dict):
        return False
    return (
        response.get("success") is False
        or bool(response.get("error"))
        or response.get("resultType", "success") != "success"
    )
