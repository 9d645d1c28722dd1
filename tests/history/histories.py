"""Histories for tests: successive plans, a minute apart."""

from tildone.plan.events import Actor, Call, Event, PlanChanged
from tildone.plan.model import Plan

MINUTE = 60_000


def history(*plans: Plan, actor: Actor = Actor.AGENT, tool: str | None = None) -> list[Event]:
    """Return a branch with one event per plan: a, b, c, …"""
    events: list[Event] = []
    for number, plan in enumerate(plans):
        call = Call(tool, f'{{"n":{number}}}') if tool else None
        parent = events[-1].id if events else None
        events.append(Event(chr(ord("a") + number), parent, number * MINUTE, actor, PlanChanged(plan, call)))
    return events
