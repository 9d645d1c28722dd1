"""Fast path: decide that a hook has nothing to say without loading the store.

A hook runs at every stop and every tool call of every agent. Most have nothing to say, and most of a hook's time is
spent on imports. So the agent's record and a summary of its session, which are cheap to read, are consulted first.
The fast path errs in one direction only: in doubt it returns False, and `answers.py` loads the store and decides from
the whole state.

It also notices that a plan is gone: that its store was deleted, or replaced by an empty one. A missing store, or an
empty session, is normal at the beginning. It is a loss if there was a plan before, which is remembered outside of the
data folder, because whoever deletes the store often deletes that folder as a whole: for a conversation by its hooks
(`Remembered`), and for a project, also after a restart of the machine, by a mark (`tildone.app.held_marks`). The
person and the model are told once in each conversation.
"""

from __future__ import annotations

import os
from time import time_ns

from tildone.agents.hooks.event import HookEvent, Remembered, begin_row
from tildone.agents.integrations import HookPoint, ReplyKind
from tildone.base import TYPE_CHECKING, StoreError, replace
from tildone.stores.agents import (
    CLAIM_NOTE,
    MODEL_NOTE,
    USAGE_NOTE,
    Agent,
    AgentId,
    AgentRegistry,
    digest,
    is_due,
    new_reader,
)
from tildone.stores.summary import GO, STOP, SessionSummary, read_summary

if TYPE_CHECKING:
    from tildone.app.settings import Settings


PRESENCE_NOTE, PRESENT, RESTING = "presence", "present", "resting"
"""The note about an agent that holds whether the store was told of its presence, and its values."""

LOSS_POINTS = (HookPoint.STOP, HookPoint.PROMPT, HookPoint.SESSION_START)
"""Where the person and the model are told that their plan is gone."""

CONTINUING = frozenset({"clear"})
"""The reasons given when a conversation ends and continues under another id in the same process."""


def try_fast_path(event: HookEvent, settings: Settings, pid: int) -> bool:
    """Handle the event if that needs no store, and return whether it was handled. In doubt it was not."""
    agents = AgentRegistry(settings.agents_dir, settings.project)
    agent_id = event.agent_id(pid)
    if agent_id.is_unknown:
        return True
    if event.text("subagent"):
        # Imported late, because most agents have no subagents.
        from tildone.agents.hooks.without_session import settle

        settled = settle(event, agents, agent_id, settings, pid)
        if settled is not None:
            return settled
    if event.point is HookPoint.STOP and (event.in_plan_mode or not settings.gate):
        return True
    if event.point is HookPoint.SESSION_END:
        _leave(agents, agent_id, settings)
        _end(event, agents, agent_id, pid)
        return True
    if event.point is HookPoint.COMPACTION:
        _compact(event, agents, agent_id)
        return True
    path = settings.store.path
    is_missing = path is not None and not os.path.exists(path)
    if event.point in LOSS_POINTS:
        if is_missing and os.path.exists(settings.held_mark):
            from tildone.app.held_marks import note_lost

            note_lost(settings)
        if os.path.exists(settings.lost_mark):
            check_told(event, agent_id, settings)
    if event.point is HookPoint.SESSION_START:
        if path is not None:
            check_space(path)
        if not is_missing:
            note_model(event, agents, agent_id)
    if not event.text("subagent"):
        begin_row(event, agents, agent_id)
    if pid and not agent_id.is_anonymous and _precedes_change(event, is_missing=is_missing):
        agents.note_caller(agent_id, pid)
    if not is_missing:
        _note_usage(event, agents, agent_id)
    agent = _agent(event, agents, agent_id, pid, settings)
    if agent is None:
        return False
    if event.point is HookPoint.STATUS_LINE or (settings.store.scheme and not is_missing):
        return is_missing
    summary = SessionSummary() if is_missing else _summary(settings, agent)
    is_empty = summary is not None and summary.head is None
    # A session without events that had a plan in this conversation has lost it.
    if event.point is HookPoint.STOP and is_empty and Remembered(event.environ, agent.id).knows(_fact(agent, settings)):
        check_told(event, agent.id, settings)
    is_silent = summary is not None and _is_silent(event, summary) and not _restarts_budget(event, summary, settings)
    if not is_silent or (event.point is HookPoint.PROMPT and agents.note(agent_id, PRESENCE_NOTE) == RESTING):
        return False
    # Otherwise the store has to be told that claims go on, as above that a rest has ended.
    return not is_due(agents.note(agent_id, CLAIM_NOTE), _now())


def _precedes_change(event: HookEvent, *, is_missing: bool) -> bool:
    """Return whether the model may change the plan next, by a process that sees only the agent's process.

    If that runs several conversations, only the event right before the call tells which one calls.
    """
    client = event.integration.mcp
    if client is None or client.knows_conversation or event.text("subagent"):
        return False
    if event.point is HookPoint.BEFORE_TOOL:
        return event.is_of_our_tool
    return event.point is HookPoint.PROMPT and not event.hooks.shares_process and not is_missing


def _restarts_budget(event: HookEvent, summary: SessionSummary, settings: Settings) -> bool:
    """Return whether this is a person's prompt with which the budget of the task in progress begins again."""
    budgets = (settings.max_task_cost, settings.max_task_tokens, settings.max_task_minutes)
    return event.point is HookPoint.PROMPT and budgets != (None,) * 3 and summary.workable and event.from_person


def note_model(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    if event.model:
        agents.set_note(agent_id, MODEL_NOTE, event.model)


def _note_usage(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Note what the agent's conversation has used so far, if the event tells it, for the events of its plan."""
    told = event.get("usage")
    if told is None:
        cost = event.get("cost")
        told = None if cost is None else {"cost": cost}
    if told is None or event.text("subagent"):
        return
    from tildone.plan.events import usage_in, usage_text

    usage = usage_in(told)
    if usage is not None:
        agents.set_note(agent_id, USAGE_NOTE, usage_text(usage))


def _agent(event: HookEvent, agents: AgentRegistry, agent_id: AgentId, pid: int, settings: Settings) -> Agent | None:
    """Return the agent, with the session that it works on; None if one has to be assigned to it first."""
    agent = agents.get(agent_id)
    if agent is not None:
        fresh = agent.is_fresh(pid, _now())
        return agent if fresh and settings.named_session in (None, agent.session) else None
    return Agent(agent_id, settings.session) if agents.is_empty() and not event.is_fork else None


def _summary(settings: Settings, agent: Agent) -> SessionSummary | None:
    """Return the summary of the agent's session; None if the store has to be loaded."""
    summary = read_summary(settings.store.location, agent.session, agent.reader)
    if summary is None or summary.head is not None or agent.session == settings.session:
        return summary
    # The agent's own session is still empty, so the project's directive applies to it.
    project = read_summary(settings.store.location, settings.session)
    return None if project is None or project.directive != GO else summary


def _is_silent(event: HookEvent, summary: SessionSummary) -> bool:
    match event.point:
        case HookPoint.STOP:
            return not (summary.workable or summary.checked) or summary.directive != GO
        case HookPoint.SESSION_START:
            return not (summary.workable or summary.blocked)
        case HookPoint.PROMPT:
            repeats = repeats_plan(event) and (summary.workable or summary.blocked)
            resets = summary.continued and event.from_person
            return not _has_news(summary) and not resets and not repeats
        case HookPoint.BEFORE_TOOL:
            return summary.directive != STOP
        case HookPoint.AFTER_TOOL | HookPoint.TOOL_FAILED:
            news = _has_news(summary) and accepts_news(event)
            return summary.directive != STOP and not news and not writes_native_list(event)
        case _:
            return False


def _has_news(summary: SessionSummary) -> bool:
    """Return whether something has happened since the model saw the plan, or there are tasks that it never saw."""
    return summary.seen != summary.head if summary.seen else summary.workable or summary.blocked


def repeats_plan(event: HookEvent) -> bool:
    """Return whether a prompt comes with a plan already seen: the agent may have compacted before it without a sign."""
    return event.hooks.compaction_trigger != "" and event.from_person


def accepts_news(event: HookEvent) -> bool:
    """Return whether the model can be told of changes after this call. The result of our tool tells them itself."""
    accepts = event.point in event.hooks.context_replies
    return accepts and not event.is_of_our_tool and not event.text("subagent")


def writes_native_list(event: HookEvent) -> bool:
    """Return whether the event reports a call of a tool that changed the coding agent's own todo list."""
    if event.point is HookPoint.TOOL_FAILED:
        return False
    tool, integration = event.text("tool"), event.integration
    return tool in integration.list_tools or tool in integration.task_tools.values()


def _compact(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Record that the model has seen nothing: compaction removes the plan from its context."""
    agent = agents.get(agent_id)
    if agent is not None and event.hooks.compaction_trigger in ("", event.text("trigger")):
        agents.save(replace(agent, reader=new_reader(agent_id, _now())))


def _leave(agents: AgentRegistry, agent_id: AgentId, settings: Settings) -> None:
    """Remove the presence and the claims of an agent whose conversation has ended, if the store was told of them."""
    claims = agents.take_note(agent_id, CLAIM_NOTE)
    if agents.take_note(agent_id, PRESENCE_NOTE) or claims:
        from tildone.agents.hooks.without_session import leave

        agent = agents.get(agent_id)
        leave(settings, agent_id, agent.session if agent and claims else None)


def _end(event: HookEvent, agents: AgentRegistry, agent_id: AgentId, pid: int) -> None:
    """Remove the record and the notes of an agent whose conversation has ended; its plan stays in the store."""
    agent = agents.get(agent_id)
    if agent is None:
        agents.remove(agent_id)
        return
    if event.text("reason") in CONTINUING:
        from tildone.stores.assignment import succeed

        anonymous = AgentId(event.integration.name, pid=pid)
        agents.save(replace(agent, id=anonymous, reader=new_reader(anonymous, _now())))
        succeed(agents, agent_id, anonymous)
    else:
        agents.release(agent)


def _now() -> int:
    return time_ns() // 1_000_000


def check_space(path: str) -> None:
    """Raise an error if the disk is full, so that a file can't be created or grow."""
    folder = path
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        found = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return
    # Some file systems do not know their size. The last blocks are reserved for root.
    if found and found.f_blocks > 0 and (found.f_bfree if os.geteuid() == 0 else found.f_bavail) == 0:
        raise StoreError(f"{path} can't grow: the disk is full")


TOLD = "told-lost"
"""The fact that this conversation has been told."""


def note_plan(event: HookEvent, agent: Agent, settings: Settings) -> None:
    """Remember that the conversation has a plan, and that the project has one."""
    Remembered(event.environ, agent.id).is_new(_fact(agent, settings))
    if settings.held_mark and not os.path.exists(settings.held_mark):
        from tildone.app.held_marks import note_held

        note_held(settings)


def check_told(event: HookEvent, agent_id: AgentId, settings: Settings) -> None:
    """Raise `PlanLost` if this conversation has not been told that the plan of the project was lost."""
    if not Remembered(event.environ, agent_id).knows(TOLD):
        # Late, because few stores get lost.
        from tildone.app.held_marks import PlanLost

        raise PlanLost(settings.store.redacted)


def loss_reply(event: HookEvent, pid: int, problem: str) -> tuple[str, str]:
    """Return the reply that tells person and model, if they do not know yet. An agent that stops goes on, to say it."""
    from tildone.agents.hooks.reply import postpone_notice, rendered_together
    from tildone.plan.dialects.native import PLAN_LOST

    if not Remembered(event.environ, event.agent_id(pid)).is_new(TOLD):
        return "", ""
    notice = f"tildone: {problem} To bring back a backup: tildone restore"
    postpone_notice(event, pid, notice)
    to_model = ReplyKind.CONTINUE if event.point is HookPoint.STOP else ReplyKind.ADD_CONTEXT
    return rendered_together(event, {ReplyKind.NOTIFY: notice, to_model: PLAN_LOST.format(problem)})


def _fact(agent: Agent, settings: Settings) -> str:
    return f"plan-{digest(f'{settings.store} {agent.session}')}"
