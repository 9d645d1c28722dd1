"""A session as a row of a list: everything that a list or a card shows, without the plan."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from tildone.base import TYPE_CHECKING, UsageError, nearest, replace, value
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.plan import codec
from tildone.plan.events import Event, SessionInfo
from tildone.plan.gate import RestReason
from tildone.plan.model import Plan, next_task, progress
from tildone.plan.text.safe import printable, short_agent
from tildone.plan.text.state import SessionFacts, SessionState, SessionWord, session_state, strip_signs, ten_words
from tildone.stores.agents import Agent
from tildone.stores.assignment import parent_session

if TYPE_CHECKING:
    from typing import Any, NewType

    Cursor = NewType("Cursor", str)
else:
    # `tildone sessions` starts without `typing`.
    Cursor = str

BySession = Mapping[str, tuple[Presence, ...]]


def present_agents(local: Iterable[Agent], told: Iterable[Presence], now: int) -> BySession:
    """Return the agents that are at work or wait for a person, by session.

    `local` are the agents whose processes run on this machine, `told` the presences of the store. An agent that gives
    no sign of life but runs here is at work: a command may take long. One that asked a person something waits for the
    answer, however long that takes; the store forgets it after a day.
    """
    found = {str(agent.id): _presence(agent) for agent in local}
    for presence in told:
        here = found.get(presence.agent)
        if here is not None:
            found[presence.agent] = replace(presence, session=here.session)
        elif presence.at_work(now) or presence.why == RestReason.ASKED.value:
            found[presence.agent] = presence
    by_session: dict[str, tuple[Presence, ...]] = {}
    for agent in sorted(found):
        presence = found[agent]
        by_session[presence.session] = (*by_session.get(presence.session, ()), presence)
    return by_session


def awaited_needs(
    needs: Iterable[Need], local: Iterable[Agent], told: Iterable[Presence], now: int
) -> tuple[Need, ...]:
    """Return the open questions whose agents may still wait for the answer, in the same order.

    A program that is killed does not withdraw its questions. Its agent is gone if it does not run on this machine, and
    the store has no presence of it, or one that says it works without a recent sign of life. An agent that rests gives
    no signs of life, and a new question may be older than what is known about its agent: these are kept.
    """
    here = {str(agent.id) for agent in local}
    presences = {presence.agent: presence for presence in told}

    def may_wait(need: Need) -> bool:
        if not need.agent or need.agent in here or now - need.since < AT_WORK_MS:
            return True
        presence = presences.get(need.agent)
        return presence is not None and (bool(presence.why) or presence.at_work(now))

    return tuple(need for need in needs if may_wait(need))


def with_other_agents(before: BySession, after: BySession) -> set[str]:
    """Return the sessions whose agents differ. A sign of life alone is no difference."""
    return {
        name for name in before.keys() | after.keys() if _steady(before.get(name, ())) != _steady(after.get(name, ()))
    }


def _steady(presences: Iterable[Presence]) -> list[Presence]:
    return [replace(presence, beat=0) for presence in presences]


def _presence(agent: Agent) -> Presence:
    return Presence(str(agent.id), agent.session, host=agent.id.integration, beat=agent.last_active)


MAX_EVENTS_READ = 2_000
"""How many events are read for the costs of a session that was not known before, the newest first."""


@value
class AgentCost:
    """What an agent has cost, in dollars. `newest` is its newest figure: it may have begun again from 0 before."""

    agent: str
    spent: float
    newest: float


class CostsRead:
    """Events of a session, the newest first, and the costs in them. `known` are the costs up to the event `head`."""

    def __init__(self, newest_first: Iterable[Event], known: Sequence[AgentCost] = (), head: str | None = None) -> None:
        self._events = iter(newest_first)
        self._known, self._head = known, head
        self._found: list[tuple[str, float]] = []
        self._reached = False

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            self._reached = self._reached or (self._head is not None and event.id == self._head)
            if not self._reached and event.usage and event.usage.cost is not None:
                self._found.append((event.author.agent, event.usage.cost))
            # The known event itself need not be read.
            self._reached = self._reached or (self._head is not None and event.parent == self._head)
            yield event

    def costs(self) -> tuple[AgentCost, ...]:
        """Read what was not read yet, as far as that is needed, and return the costs of all agents."""
        unread = () if self._reached else islice(self, MAX_EVENTS_READ)
        for _ in unread:
            if self._reached:
                break
        costs = {cost.agent: cost for cost in self._known} if self._reached else {}
        for agent, figure in reversed(self._found):
            before = costs.get(agent, AgentCost(agent, 0.0, 0.0))
            more = figure - before.newest if figure >= before.newest else figure
            costs[agent] = AgentCost(agent, before.spent + more, figure)
        return tuple(costs.values())


def spent(costs: Sequence[AgentCost], present: Sequence[Presence]) -> float:
    """Return what all agents have cost. Those that are `present` may have figures that are not in the log yet."""
    newest = {cost.agent: cost.newest for cost in costs}
    unlogged = (max(0.0, agent.cost - newest.get(agent.agent, 0.0)) for agent in present)
    return sum(cost.spent for cost in costs) + sum(unlogged)


MAX_TITLE_CHARACTERS = 48
MIN_ID_CHARACTERS = 8
SHORT_ID_CHARACTERS = 8


def title_of(info: SessionInfo, plan: Plan) -> str:
    """The name of a project's folder, with the agent if the session is an agent's own; else a name or a text.

    A session whose name is an id is titled after its conversation's first prompt, or else its first task.
    """
    name = info.name
    parent = parent_session(name)
    if parent:
        subagent = name[len(parent) :].rpartition(":")[2][:SHORT_ID_CHARACTERS]
        return f"{title_of(replace(info, name=parent), plan)} (subagent {subagent})"
    if os.path.isabs(name):
        path, _, agent = name.rpartition("#")
        if not path or os.sep in agent:
            path, agent = name, ""
        project = os.path.basename(path.rstrip(os.sep)) or path
        return f"{project} ({short_agent(agent)})" if agent else project
    if not is_id(name):
        return name
    text = info.title or next((task.text for task in plan.tasks), "")
    return _clipped(text) or name[:SHORT_ID_CHARACTERS]


def is_id(name: str) -> bool:
    """Whether a name is an id that a program made: long, hexadecimal, and with a digit in it."""
    digits = name.replace("-", "").lower()
    is_hexadecimal = bool(digits) and not digits.strip("0123456789abcdef")
    return len(name) >= MIN_ID_CHARACTERS and is_hexadecimal and any(each.isdecimal() for each in digits)


def _clipped(text: str) -> str:
    line = printable(text.strip().partition("\n")[0])
    return line if len(line) <= MAX_TITLE_CHARACTERS else f"{line[: MAX_TITLE_CHARACTERS - 1]}…"


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
    `tildone.plan.text.state`). `doing` is the text of the task in progress, or else of the next one. `agents` are at
    work, or wait for a person; `tokens` and `cost` are what they have used. The agent was told to go on `nudges`
    times since the last change. `needs` are the open questions, the oldest first. `spent` is what all its agents have
    cost, also those that have ended, in dollars.
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
    texts = "\n".join(task.text[:MAX_DOING] for task in plan.tasks[:MAX_SEARCHED])
    return f"{title}\n{name}\n{texts[:MAX_SEARCHED]}".casefold()


"""Where a page ends: a text without meaning to others."""

SORTS: dict[str, Callable[[SessionRow], SortKey]] = {
    "activity": lambda row: row.sort_key,
    "updated": lambda row: (-row.updated, row.name),
    "created": lambda row: (-row.created, row.name),
    "title": lambda row: (row.title.casefold(), row.name),
}
"""The orders: what needs a person first; by the last change; by the first one; by title."""


@value
class RowPage:
    """Some rows, and the cursor to those after them; None if these are the last."""

    rows: tuple[SessionRow, ...] = ()
    after: Cursor | None = None


@value
class RowQuery:
    """Which rows are asked for. `query` are words that must all occur in the searched text of a row; case is ignored.

    If there are `words`, only rows of these states are returned.
    """

    words: Collection[SessionWord] = ()
    query: str = ""
    sort: str = "activity"
    after: Cursor | None = None
    limit: int = 60

    @property
    def sort_key(self) -> Callable[[SessionRow], SortKey]:
        """The order. Raises UsageError if there is no such order."""
        if self.sort not in SORTS:
            raise UsageError(f"there is no order {self.sort!r}; {nearest(self.sort, tuple(SORTS))}")
        return SORTS[self.sort]


def page(ordered: Sequence[SessionRow], asked: RowQuery, searched: Callable[[str], str]) -> RowPage:
    """Return a page of rows that are in the order asked for; `searched` returns the searched text of a session.

    Raises UsageError if the cursor is not one of this order.
    """
    key, wanted = asked.sort_key, asked.query.casefold().split()
    start = bisect_right(ordered, _decoded(asked.after, asked.sort), key=key) if asked.after is not None else 0
    found: list[SessionRow] = []
    for place in range(start, len(ordered)):
        row = ordered[place]
        if asked.words and row.word not in asked.words:
            continue
        if wanted and not all(word in _text(row, searched) for word in wanted):
            continue
        if len(found) == asked.limit:
            return RowPage(tuple(found), _encoded(key(found[-1]), asked.sort) if found else asked.after)
        found.append(row)
    return RowPage(tuple(found))


def _text(row: SessionRow, searched: Callable[[str], str]) -> str:
    agents = " ".join(agent.agent for agent in row.agents)
    return f"{searched(row.name)}\n{row.word.value}\n{agents}"


def _encoded(key: SortKey, sort: str) -> Cursor:
    return Cursor(codec.dump([sort, *key]).encode().hex())


def _decoded(cursor: Cursor, sort: str) -> SortKey:
    try:
        found = codec.parse_strictly(bytes.fromhex(cursor).decode())
    except ValueError as error:
        raise UsageError("the cursor is not valid; begin with the first page") from error
    example = [sort, *(SORTS[sort](_EXAMPLE))]
    if not isinstance(found, list) or list(map(type, found)) != list(map(type, example)) or found[0] != sort:
        raise UsageError("the cursor belongs to another order; begin with the first page")
    return tuple(found[1:])


_EXAMPLE = SessionRow("", "", None, SessionWord.EMPTY)


VERSION = 4
_TYPES = (int, int, str, str, str, str, str, int, int, str, str, int, str, list)


def encode(known: SessionOutline, nudge_limit: int) -> str:
    return codec.dump(
        [
            VERSION,
            nudge_limit,
            known.title,
            known.at_work.word.name,
            known.at_work.why,
            known.at_rest.word.name,
            known.at_rest.why,
            known.closed,
            known.total,
            known.strip,
            known.doing,
            known.nudges,
            known.searched,
            [[cost.agent, float(cost.spent), float(cost.newest)] for cost in known.costs],
        ]
    )


def decode(text: str, info: SessionInfo, head: str | None, nudge_limit: int) -> SessionOutline | None:
    """Return the outline of a session; None if the text is not one that `encode` returns for this limit."""
    try:
        found: Any = codec.parse_strictly(text)
    except ValueError:
        return None
    if not isinstance(found, list) or tuple(map(type, found)) != _TYPES or found[:2] != [VERSION, nudge_limit]:
        return None
    _, _, title, work_word, work_why, rest_word, rest_why, closed, total, strip, doing, nudges, searched, costs = found
    words = SessionWord.__members__
    if work_word not in words or rest_word not in words or not all(map(_is_cost, costs)):
        return None
    at_work, at_rest = SessionState(words[work_word], work_why), SessionState(words[rest_word], rest_why)
    known = tuple(AgentCost(*cost) for cost in costs)
    return SessionOutline(info, head, title, at_work, at_rest, closed, total, strip, doing, nudges, searched, known)


def _is_cost(found: object) -> bool:
    return isinstance(found, list) and tuple(map(type, found)) == (str, float, float)
