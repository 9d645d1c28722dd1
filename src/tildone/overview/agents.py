"""Who is at work on which session: the registry of this machine, and what agents everywhere tell the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tildone.agents.registry import Agent
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.loop.decision import RestReason
from tildone.value import replace

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
