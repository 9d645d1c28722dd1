"""The gate: an agent that stops with open tasks is told to continue, within bounds.

`loop.decision` decides. This module collects its input: how the turn ended, whether the last message asks the person a
question, a fingerprint of that message and of the project's files, and the cost so far. Some agents report these in
earlier events; they are stored as notes about the agent until it stops.
"""

from __future__ import annotations

from tildone.agents.identity import digest
from tildone.agents.worktree import fingerprint
from tildone.core.query import has_checks, open_tasks, progress
from tildone.dialects.native import user_tasks
from tildone.hooks.reply import HookReply
from tildone.hooks.tool_access import can_use_tools, held_by_command, missing_tools
from tildone.integrations.record import ReplyKind
from tildone.log.events import StopFingerprint
from tildone.loop.decision import GiveUp, GoOn, Rest, RestReason, Turn
from tildone.loop.questions import ends_with_question
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.agents.identity import AgentId
    from tildone.agents.registry import Agent, AgentRegistry
    from tildone.config import Settings
    from tildone.core.plan import Plan
    from tildone.hooks.event import HookEvent
    from tildone.session import Session

ERROR_STATUSES = frozenset({"error", "errored", "failed"})
ABORT_STATUSES = frozenset({"aborted", "abort", "cancelled", "canceled", "interrupted"})

MESSAGE_NOTE, LENGTH_NOTE = "words", "length"
"""Notes about an agent: the digest of its last message and whether that is a question; the length of its output."""

QUESTION = "asked"


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
            return HookReply(ReplyKind.NOTIFY, f"{missing_tools(event)}. {_work_left(session.plan)}"), None
        case GiveUp(bound, limit) if not before.tripped:
            # Late, because most stops reach no bound.
            from tildone.views.bounds import describe_bound  # noqa: PLC0415  see above

            notice = f"tildone lets the agent go: {describe_bound(bound, limit)}. {_work_left(session.plan)}"
            return HookReply(ReplyKind.NOTIFY, notice), None
        case _:
            return None, RestReason.ABORTED


def _waiting_notice(event: HookEvent, session: Session, agent_id: AgentId, why: RestReason) -> HookReply | None:
    """Return the notice, once for each result, that tasks with checks wait for the person."""
    plan = session.last_state.plan
    if why is not RestReason.BLOCKED or not has_checks(plan):
        return None
    # Late, because most plans have no checks.
    from tildone.hooks.remembered import Remembered  # noqa: PLC0415  see above
    from tildone.views.waiting import waiting_notice  # noqa: PLC0415  see above

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
    agents.set_note(agent_id, MESSAGE_NOTE, f"{digest(message)} {QUESTION if ends_with_question(message) else ''}")


def _turn(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> Turn:
    """Return what is known about the turn that has ended, without the fingerprint of the files."""
    message, status = _message(event, agents, agent_id), event.text("stop_status").lower()
    words, is_question = (digest(message) if message else "", ends_with_question(message))
    if not message:
        words, _, noted = agents.note(agent_id, MESSAGE_NOTE).partition(" ")
        is_question = noted == QUESTION
    return Turn(
        aborted=status in ABORT_STATUSES,
        errored=status in ERROR_STATUSES,
        asked=is_question,
        busy=event.will_wake,
        fingerprint=StopFingerprint(message=words),
        cost=agents.cost(agent_id),
    )


def _message(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> str:
    """Return the agent's message in this turn, also if the agent reports all messages since the person's prompt."""
    message = event.text("last_message")
    if not event.hooks.cumulative_messages:
        return message
    before = _length(agents.note(agent_id, LENGTH_NOTE)) if event.get("stop_hook_active") is True else 0
    agents.set_note(agent_id, LENGTH_NOTE, str(len(message)))
    return message[before:].strip() or message


def _length(note: str) -> int:
    return int(note) if note.isdecimal() else 0


def _work_left(plan: Plan) -> str:
    count = len(open_tasks(plan))
    return f"{count} of {progress(plan).total} tasks are open. To hold it to them again: tildone resume"
