"""The gate: an agent that stops with work left is told to go on, unless there is a reason not to."""

from __future__ import annotations

from tildone.agents.identity import digest
from tildone.agents.worktree import fingerprint
from tildone.core.query import open_tasks, progress
from tildone.hooks.fast_path import COST
from tildone.hooks.reply import STOPS, TELLS, HookReply
from tildone.ids import now
from tildone.log.events import StopFingerprint
from tildone.loop.decision import GiveUp, GoOn, Rest, Turn, decide
from tildone.loop.questions import ends_with_question
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.bounds import why_let_go

if TYPE_CHECKING:
    from tildone.agents.identity import AgentId
    from tildone.agents.registry import AgentRegistry
    from tildone.config import Settings
    from tildone.core.plan import Plan
    from tildone.hooks.event import HookEvent
    from tildone.session import Session

ERRORS = frozenset({"error", "errored", "failed"})
ABORTS = frozenset({"aborted", "abort", "cancelled", "canceled", "interrupted"})
WORDS, ASKED, LENGTH = "words", "asked", "length"


def stopped(
    heard: HookEvent, session: Session, agents: AgentRegistry, agent_id: AgentId, settings: Settings
) -> HookReply | None:
    """What to say now that the agent has stopped: that it goes on, or, once, why it is let go with work left.

    Files are looked at only if it matters: that takes longer than all the rest.
    """
    turn, before = _turn(heard, agents, agent_id), session.state
    if isinstance(decide(before, session.patience, replace(turn, at=now())), Rest):
        return None
    apart = (settings.store.location, settings.agents_dir, settings.session_dir)
    sight = replace(turn.fingerprint, files=fingerprint(settings.project, apart))
    verdict = session.turn_ended(replace(turn, fingerprint=sight))
    match verdict.decision:
        case GoOn():
            return HookReply(STOPS, verdict.prompt or "")
        case GiveUp(bound, limit) if not before.tripped:
            return HookReply(TELLS, f"tildone lets the agent go: {why_let_go(bound, limit)}. {_left(session.plan)}")
        case _:
            return None


def note_words(heard: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Keep what is to be known of an agent's words, where its host does not tell them when it stops."""
    words = heard.text("words")
    agents.set_note(agent_id, WORDS, f"{digest(words)} {ASKED if ends_with_question(words) else ''}")


def _turn(heard: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> Turn:
    """What is known of the turn that has ended, but for the files."""
    words, status = _words(heard, agents, agent_id), heard.text("status").lower()
    sight, asked = (digest(words) if words else "", ends_with_question(words))
    if not words:
        sight, _, kept = agents.note(agent_id, WORDS).partition(" ")
        asked = kept == ASKED
    return Turn(
        aborted=status in ABORTS,
        errored=status in ERRORS,
        asked=asked,
        busy=heard.busy,
        fingerprint=StopFingerprint(words=sight),
        cost=_number(agents.note(agent_id, COST)),
    )


def _words(heard: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> str:
    """What the agent said in this turn, also where its host tells all that it said since it was last let go."""
    words = heard.text("words")
    if not heard.host.adds_up:
        return words
    before = int(_number(agents.note(agent_id, LENGTH))) if heard.get("held") is True else 0
    agents.set_note(agent_id, LENGTH, str(len(words)))
    return words[before:].strip() or words


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0


def _left(plan: Plan) -> str:
    left = len(open_tasks(plan))
    return f"{left} of {progress(plan).total} tasks are open. To hold it to them again: tildone resume"
