"""The replies of hooks as JSON, the gate that makes an agent with open tasks continue, and notices to the person.

`tildone.plan.gate` decides whether an agent that stops continues. This module collects its input: how the turn ended,
whether the last message asks the person something, a fingerprint of that message and of the project's files, and the
cost so far. Some agents report these in earlier events; they are stored as notes about the agent until it stops.

A model without our tools cannot close a task by a tool call, but it can run a command. It is told the command once; if
the plan is unchanged when the agent next stops, the person is told instead, because the agent may not run commands
either. A plan that follows the agent's native list needs no tool of ours.

That tildone does not work, the person is told once in each conversation; the agent goes on without it. Coding agents
hide what a hook writes to standard error, so it is told in the agent's own way: by a notice in the reply, or in the
status line. If an agent runs without anybody watching and shows no notices then, they are kept for the end of its
session, when it does show the error of a hook; one that shows notices at stops only is given them there.
"""

from __future__ import annotations

import errno
import os

from tildone.agents.hooks.event import PENDING, HookEvent, Remembered, remembered
from tildone.agents.integrations import EVENT, TEXT, HookPoint, ReplyKind
from tildone.app.person import fingerprint
from tildone.app.settings import Settings, load_valid
from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan import codec
from tildone.plan.dialects.native import NATIVE, by_command, user_tasks
from tildone.plan.events import Bound, StopFingerprint
from tildone.plan.gate import Asks, GiveUp, GoOn, Rest, RestReason, Turn
from tildone.plan.model import Plan, has_checks, open_tasks, progress
from tildone.plan.text.safe import MAX_HOOK_REPLY, clipped, safe_text
from tildone.stores.agents import CONTINUED_NOTE, Agent, AgentId, AgentRegistry, digest, runs_program
from tildone.stores.assignment import has_tools

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.agents.integrations import Template
    from tildone.log.session import Session

    Output = tuple[str, str]
    """What a hook writes to standard output, and what it writes to standard error as a warning."""


@value
class HookReply:
    """A text, and what the agent is to do with it."""

    kind: ReplyKind
    text: str


def can_reply(event: HookEvent, kind: ReplyKind) -> bool:
    """Return whether the agent accepts a reply of this kind to this event."""
    return _template(event, kind) is not None or _warns(event, kind)


def rendered(event: HookEvent, reply: HookReply) -> Output:
    """Return the reply as JSON, or as a warning; empty if the agent accepts no reply of this kind."""
    return rendered_together(event, {reply.kind: reply.text})


def rendered_together(event: HookEvent, texts: Mapping[ReplyKind, str]) -> Output:
    """Return replies of several kinds as one JSON; those that the agent does not accept are left out."""
    merged: dict[str, Any] = {}
    warning = ""
    for kind, text in texts.items():
        if _warns(event, kind):
            warning = f"{sanitized(text)}\n"
        else:
            merged |= _filled(_template(event, kind) or {}, sanitized(text), event.name)
    return f"{codec.dump(merged)}\n" if merged else "", warning


def _warns(event: HookEvent, kind: ReplyKind) -> bool:
    """Return whether the agent shows replies of this kind if they are written to standard error."""
    return kind is ReplyKind.NOTIFY and event.can_warn


def sanitized(text: str) -> str:
    """Return the text in the form in which a model or a person may read it: harmless, and not too long."""
    return clipped(safe_text(text), MAX_HOOK_REPLY)


def _template(event: HookEvent, kind: ReplyKind) -> Template | None:
    match kind:
        case ReplyKind.CONTINUE:
            later = event.hooks.later_reply
            if later is not None and later.applies(event.environ.get(later.variable, "")):
                return later.template
            return event.hooks.continue_reply
        case ReplyKind.ADD_CONTEXT:
            return event.hooks.context_replies.get(event.point)
        case ReplyKind.HALT:
            return event.hooks.halt_replies.get(event.point)
        case ReplyKind.NOTIFY:  # exhaustive
            hooks = event.hooks
            return hooks.notice_reply if event.point in (hooks.notices_at or (event.point,)) else None


def _filled(template: object, text: str, event: str) -> Any:
    """Return the template with its placeholders replaced."""
    if isinstance(template, dict):
        return {name: _filled(item, text, event) for name, item in template.items()}
    return {TEXT: text, EVENT: event}.get(template, template) if isinstance(template, str) else template


HOLD_AGAIN = "To hold it to them again: tildone resume"

MAX_NUDGES = 1
"""How often a model without our tools is told the command before the plan changes."""


def can_use_tools(event: HookEvent, agent: Agent, settings: Settings) -> bool:
    """Return whether the agent's model has our tools. If that cannot be determined, as for another process, it has."""
    if not event.hooks.starts_servers or has_tools(settings.agents_dir, agent.pid):
        return True
    return not runs_program(agent.pid, (event.integration.executable,))


def held_by_command(session: Session, settings: Settings) -> Session | None:
    """Return the session with nudges that name a command instead of a tool; None if they name no tool anyway."""
    if session.dialect is NATIVE:
        return None
    patience = replace(session.patience, nudges=min(session.patience.nudges, MAX_NUDGES))
    return session.using(dialect=by_command(*tool_command(settings)), patience=patience)


def tool_command(settings: Settings) -> tuple[str, str]:
    """Return the command that edits the plan in place of a tool, and the options without which it edits another one."""
    from tildone.base.distribution import program, quoted

    default, _ = load_valid({}, os.environ, settings.project)
    options = [f" --session {quoted(settings.session)}"] if settings.session != default.session else []
    options += [f" --store {quoted(str(settings.store))}"] if settings.store != default.store else []
    return f"{program()} todo", "".join(options)


ERROR_STATUSES = frozenset({"error", "errored", "failed"})
ABORT_STATUSES = frozenset({"aborted", "abort", "cancelled", "canceled", "interrupted"})

MESSAGE_NOTE, LENGTH_NOTE = "words", "length"
"""Notes about an agent: the digest of its last message and the value of `Asks` for it; the length of its output."""


def agent_stopped(
    event: HookEvent, session: Session, agents: AgentRegistry, agent: Agent, settings: Settings
) -> tuple[HookReply | None, RestReason | None]:
    """Return the reply to a stop: to continue, or a notice to the person, once, that a bound was reached.

    If the agent is left alone, the second value says why. The fingerprint of the files is taken only if the decision
    depends on it, because nothing else here takes as long.
    """
    before, prover = session.state, session.parts.prover
    by_command = None if can_use_tools(event, agent, settings) else held_by_command(session, settings)

    def with_files(turn: Turn) -> Turn:
        ignored = (settings.store.location, settings.agents_dir, settings.session_dir)
        # The proofs were compared with the same files.
        status = getattr(prover(), "status", None) if prover and has_checks(before.plan) else None
        files = fingerprint(settings.project, ignored, status)
        return replace(turn, fingerprint=replace(turn.fingerprint, files=files))

    verdict = (by_command or session).turn_ended(_turn(event, agents, agent.id), with_files)
    match verdict.decision:
        case Rest(why):
            return _waiting_notice(event, session, agent.id, why), why
        case GoOn():
            return HookReply(ReplyKind.CONTINUE, with_origins(verdict.prompt or "", session)), None
        case GiveUp() if by_command and not before.tripped:
            from tildone.base.distribution import program

            title, name = event.integration.title, event.integration.name
            notice = (
                "tildone lets the agent go: its model has no todo tool, because "
                f"{title} runs no MCP server of tildone. To find the cause: {program()} doctor {name}"
            )
            return HookReply(ReplyKind.NOTIFY, f"{notice}. {_work_left(session.held_state.plan)} {HOLD_AGAIN}"), None
        case GiveUp(bound, limit) if not before.tripped:
            # Late, because most stops reach no bound.
            from tildone.plan.text.amounts import describe_bound

            how = _after_own_limit(event) if bound is Bound.HOST else HOLD_AGAIN
            left = _work_left(session.held_state.plan)
            notice = f"tildone lets the agent go: {describe_bound(bound, limit)}. {left} {how}"
            return HookReply(ReplyKind.NOTIFY, notice), None
        case _:
            return None, RestReason.ABORTED


def _waiting_notice(event: HookEvent, session: Session, agent_id: AgentId, why: RestReason) -> HookReply | None:
    """Return the notice, once for each result, that tasks with checks wait for the person."""
    plan = session.last_state.plan
    if why is not RestReason.BLOCKED or not has_checks(plan):
        return None
    # Late, because most plans have no checks.
    from tildone.plan.text.proofs import waiting_notice

    held_up = session.held_up
    notice = waiting_notice(plan) or (f"tildone: {held_up}. To look at it: tildone status" if held_up else "")
    if not notice:
        return None
    proofs = (plan.proof, *(task.proof for task in plan.tasks))
    ran_at = " ".join(str(proof.at) for proof in proofs if proof is not None)
    is_new = Remembered(event.environ, agent_id).is_new(f"waits-{digest(f'{notice} {ran_at}')}")
    return None if is_new is False else HookReply(ReplyKind.NOTIFY, notice)


def with_origins(text: str, session: Session) -> str:
    """Return a text about the plan that also says which open tasks a person added."""
    added = "" if session.dialect.marks_origins else user_tasks(session.held_state.plan)
    return f"{text}\n{added}" if added else text


def note_message(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Note what the gate needs to know about a message, for agents that do not repeat it when they stop."""
    message = event.text("last_message")
    agents.set_note(agent_id, MESSAGE_NOTE, f"{digest(message)} {_asked(message).value}")


def _asked(message: str) -> Asks:
    # Late, because few events have a message.
    from tildone.plan.questions import asks_person

    return asks_person(message)


def _turn(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> Turn:
    """Return what is known about the turn that has ended, without the fingerprint of the files."""
    message, status = _message(event, agents, agent_id), event.text("stop_status").lower()
    if message:
        words, asked = digest(message), _asked(message)
    else:
        words, _, noted = agents.note(agent_id, MESSAGE_NOTE).partition(" ")
        asked = next((each for each in Asks if each.value == noted), Asks.NO)
    return Turn(
        aborted=status in ABORT_STATUSES,
        errored=status in ERROR_STATUSES,
        asked=asked,
        busy=event.will_wake,
        fingerprint=StopFingerprint(message=words),
        cost=agents.cost(agent_id),
        continued=_continued(event, agents, agent_id),
        max_continued=event.max_continuations,
    )


def _continued(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> int:
    """Return how often in a row the agent has gone on, as it counts: so often it stopped before in this row.

    Hooks of others count, too: an agent that has stopped and is still in its turn went on because some hook asked it.
    """
    if event.max_continuations is None:
        return 0
    return agents.tally(agent_id, CONTINUED_NOTE, anew=event.get("stop_hook_active") is not True)


def _message(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> str:
    """Return the agent's message in this turn, also if the agent reports all messages since the person's prompt."""
    message = event.text("last_message")
    if not message and event.hooks.transcript is not None:
        # Late, because most agents send the message.
        from tildone.agents.hooks.transcript import last_message

        message = last_message(event, event.hooks.transcript)
    if not event.hooks.cumulative_messages:
        return message
    noted = agents.note(agent_id, LENGTH_NOTE) if event.get("stop_hook_active") is True else ""
    agents.set_note(agent_id, LENGTH_NOTE, str(len(message)))
    return message[int(noted) if noted.isdecimal() else 0 :].strip() or message


def _after_own_limit(event: HookEvent) -> str:
    """Return how an agent goes on that has reached a limit of its own, and what raises the limit, if anything does."""
    limit = event.hooks.continuation_limit
    can_be_raised = limit is not None and event.environ.get(limit.variable, "") != limit.raised
    raised = f" To raise the limit: {limit.variable}={limit.raised}" if limit and can_be_raised else ""
    return f"To go on, send it a prompt.{raised}"


def _work_left(plan: Plan) -> str:
    count = len(open_tasks(plan))
    return f"{count} of {progress(plan).total} tasks are open."


FULL_DISK = ("the disk is full", os.strerror(errno.ENOSPC))
"""How errors of stores and of other files say that the disk is full."""

SILENT_POINTS = (HookPoint.SESSION_END, HookPoint.CALL_TOOL, HookPoint.OFFER_TOOLS, HookPoint.UNDELIVERED)
"""The points at which an agent shows no notice."""


def trouble_reply(event: HookEvent, pid: int, problem: str) -> Output:
    """Return the reply that tells the person of a problem; empty if they know of it or cannot be told now."""
    if event.point is HookPoint.STATUS_LINE:
        return f"tildone does not work: {problem}\n", ""
    notice = f"tildone does not work, and the agent goes on without it: {problem}. To check: tildone doctor"
    return notice_once(event, pid, notice, _kind(problem))


def notice_once(event: HookEvent, pid: int, notice: str, kind: str = "") -> Output:
    """Return the reply that gives the person a notice; empty if they had one of this kind or cannot be told now."""
    if event.point in (*SILENT_POINTS, HookPoint.STATUS_LINE) or not (
        can_reply(event, ReplyKind.NOTIFY) or event.hooks.notices_at
    ):
        return "", ""
    about = remembered(event, pid)
    is_new = None if about is None else about.is_new(f"told-{kind or digest(notice)}")
    # What cannot be remembered is told when the session starts, which happens once, if the agent shows notices then.
    if is_new is False or (
        is_new is None and event.point not in (event.hooks.notices_at or (HookPoint.SESSION_START,))
    ):
        return "", ""
    postpone_notice(event, pid, notice)
    return rendered(event, HookReply(ReplyKind.NOTIFY, notice))


def postpone_notice(event: HookEvent, pid: int, notice: str) -> None:
    """Keep a notice that the agent shows to nobody now for one of its `notices_at`, or the end of the session."""
    about = remembered(event, pid)
    is_shown = event.point in (event.hooks.notices_at or (event.point,)) and not event.is_unattended
    if about is not None and not is_shown:
        about.leave(PENDING, notice)


def _kind(problem: str) -> str:
    """Return a problem without numbers, such as that of a process. A full disk is one problem, whatever the file."""
    if any(text in problem for text in FULL_DISK):
        return "full-disk"
    return digest("".join(letter for letter in problem if not letter.isdecimal()))
