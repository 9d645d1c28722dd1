"""A session as a row of a list: everything that a list or a card shows, without the plan."""

from __future__ import annotations

from collections.abc import Sequence

from tildone.core.plan import Plan
from tildone.core.query import next_task, progress
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.tree import SessionInfo
from tildone.loop.decision import RestReason
from tildone.overview.costs import AgentCost, spent
from tildone.overview.titles import title_of
from tildone.value import replace, value
from tildone.views.session_state import SessionFacts, SessionState, SessionWord, session_state, ten_words
from tildone.views.strip import strip_signs

MAX_DOING, MAX_SEARCHED = 200, 2_000
"""Of how many characters the text of the active task is, and the text that is searched."""

AT_WORK = frozenset({"", RestReason.BUSY.value})
"""Why an agent that is at work rests: it does not, or what it started still runs."""

_WORD_PLACES = {word: place for place, word in enumerate(SessionWord)}

SortKey = tuple[int | str, ...]


@value
class SessionRow:
    """A session in a list. Times are in milliseconds since 1970.

    `word` and `why` are its state. `closed` of `total` tasks are closed; `strip` has a sign for each (see
    `tildone.views.strip`). `doing` is the text of the task in progress, or else of the next one. `agents` are at work,
    or wait for a person; `tokens` and `cost` are what they have used. The agent was told to continue `nudges` times
    since the last change. `needs` are the open questions, the oldest first. `spent` is what all its agents have cost,
    also those that have ended, in dollars.
    """

    name: str
    title: str
    head: str | None
    word: SessionWord
    why: str = ""
    closed: int = 0
    total: int = 0
    strip: str = ""
    doing: str = ""
    agents: tuple[Presence, ...] = ()
    nudges: int = 0
    nudge_limit: int = 0
    tokens: int = 0
    cost: float = 0.0
    updated: int = 0
    created: int = 0
    events: int = 0
    needs: tuple[Need, ...] = ()
    spent: float = 0.0

    @property
    def sort_key(self) -> SortKey:
        """The place in a list: what needs a person first, then by the last change."""
        return _WORD_PLACES[self.word], -self.updated, self.name


@value
class SessionOutline:
    """What the events of a session say about its row. `at_work` is its state if an agent works on it, else `at_rest`.

    `searched` is the text that a search looks at, without upper case. `costs` are those of all its agents.
    """

    info: SessionInfo
    head: str | None
    title: str
    at_work: SessionState
    at_rest: SessionState
    closed: int
    total: int
    strip: str
    doing: str
    nudges: int
    searched: str
    costs: tuple[AgentCost, ...] = ()


def outline(info: SessionInfo, facts: SessionFacts, costs: tuple[AgentCost, ...] = ()) -> SessionOutline:
    """Return the outline of a session at its head, whether or not an agent works on it."""
    at_work, at_rest = (session_state(replace(facts, at_work=at_work)) for at_work in (True, False))
    state = facts.state
    plan = state.plan
    done, upcoming, title = progress(plan), next_task(plan), title_of(info, plan)
    return SessionOutline(
        info,
        state.head,
        title,
        at_work,
        at_rest,
        done.closed,
        done.total,
        strip_signs(plan),
        upcoming[1].text[:MAX_DOING] if upcoming else "",
        state.nudges,
        _searched(title, info.name, plan),
        costs,
    )


def session_row(
    known: SessionOutline, agents: Sequence[Presence], needs: Sequence[Need], nudge_limit: int
) -> SessionRow:
    shown = _shown_state(known, agents, needs)
    return SessionRow(
        known.info.name,
        known.title,
        known.head,
        shown.word,
        shown.why,
        known.closed,
        known.total,
        known.strip,
        known.doing,
        tuple(agents),
        known.nudges,
        nudge_limit,
        sum(agent.tokens for agent in agents),
        sum(agent.cost for agent in agents),
        known.info.updated,
        known.info.created,
        known.info.events,
        tuple(needs),
        spent(known.costs, agents),
    )


def _shown_state(known: SessionOutline, agents: Sequence[Presence], needs: Sequence[Need]) -> SessionState:
    """Return the state; an open question comes before everything else."""
    if needs:
        return SessionState(SessionWord.NEEDS_YOU, ten_words(needs[0].text))
    if any(agent.why == RestReason.ASKED.value for agent in agents):
        return SessionState(SessionWord.NEEDS_YOU, "asked you something")
    return known.at_work if any(agent.why in AT_WORK for agent in agents) else known.at_rest


def _searched(title: str, name: str, plan: Plan) -> str:
    texts = "\n".join(task.text[:MAX_DOING] for task in plan.tasks)
    return f"{title}\n{name}\n{texts[:MAX_SEARCHED]}".casefold()
