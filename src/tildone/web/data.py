"""What the board sends, as JSON data. `docs/reference/board-api.md` documents the fields.

Texts are sent as they are stored: pages show them as text, and JSON in ASCII hides nothing. Times are in milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from tildone.app.check_facts import CheckFacts
from tildone.app.check_states import check_state
from tildone.app.conflict import Conflict
from tildone.app.edits import sentence
from tildone.app.look import phases_data, task_data
from tildone.app.rebase import Clash
from tildone.app.who import NotThePerson
from tildone.core.check import Check, Proof
from tildone.core.guard import PLAN
from tildone.core.plan import WORD_FIELDS, Plan, Status, Task
from tildone.core.query import waits_for
from tildone.core.touches import in_the_way
from tildone.errors import Refused
from tildone.history.timeline import HeadRelation, TimelineRow
from tildone.log.claims import Claim
from tildone.log.events import Actor, DirectiveSet, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.state import State
from tildone.overview.rows import SessionRow
from tildone.views.proofs import check_caution, check_text, program_words
from tildone.views.session_state import SessionWord

Data = dict[str, object]
Key = Callable[[str], str]

KINDS = {Nudged: "nudge", Tripped: "letgo", Labelled: "label", DirectiveSet: "directive"}
RUN_KIND = "run"
_TASK_FIELDS = ("number", "text", "status", "notes", "from_user", "source")


def row_data(row: SessionRow, key: Key) -> Data:
    """Return a session as a card shows it."""
    return {
        "key": key(row.name),
        "name": row.name,
        "title": row.title,
        "where": place(row.name),
        "head": row.head,
        "state": row.word.value,
        "why": row.why or None,
        "closed": row.closed,
        "total": row.total,
        "strip": row.strip,
        "doing": row.doing or None,
        "agents": [agent_data(agent) for agent in row.agents],
        "nudges": [row.nudges, row.nudge_limit],
        "tokens": row.tokens,
        "cost": row.cost,
        "updated": row.updated,
        "created": row.created,
        "events": row.events,
        "needs": len(row.needs),
    }


def place(name: str) -> str:
    """Return where a session is: the folder above that of its project, with `~` for the home folder; else empty."""
    if not os.path.isabs(name):
        return ""
    folder, home = os.path.dirname(name), os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(home + os.sep) else folder


def agent_data(agent: Presence) -> Data:
    """Return an agent at work."""
    return {
        "agent": agent.agent,
        "host": agent.host,
        "on": agent.machine,
        "model": agent.model,
        "doing": agent.doing,
        "since": agent.since,
        "why": agent.why,
        "tokens": agent.tokens,
        "cost": agent.cost,
        "beat": agent.beat,
    }


def counts_data(counts: Mapping[SessionWord, int]) -> Data:
    """Return how many sessions are in each state, and in all."""
    return {"all": sum(counts.values()), **{word.value: count for word, count in counts.items()}}


def needs_data(
    needs: Iterable[Need], waiting: Iterable[SessionRow], rows: Callable[[str], SessionRow | None], key: Key
) -> list[Data]:
    """Return the open questions, the oldest first, then the sessions that wait for a person without a question."""
    opened = [need_data(need, rows(need.session), key) for need in needs]
    return opened + [_waiting_data(row, key) for row in waiting if not row.needs]


def need_data(need: Need, row: SessionRow | None, key: Key) -> Data:
    """Return a question of an agent. `row` is its session, if it is known."""
    agents = [agent for agent in row.agents if agent.agent == need.agent] if row else []
    return {
        "id": need.id,
        "key": key(need.session),
        "name": row.title if row else need.session,
        "kind": need.kind,
        "text": need.text,
        "options": list(need.options),
        "since": need.since,
        "agent": agent_data(agents[0]) if agents else {"agent": need.agent, "host": need.agent.partition(":")[0]},
        "detail": need.detail,
        "caution": need.caution,
    }


def _waiting_data(row: SessionRow, key: Key) -> Data:
    """Return a session that waits without a question. `at` is the position of the blocked task that `text` is about."""
    agent = agent_data(row.agents[0]) if row.agents else None
    is_blocked = row.why.startswith("waits: ")
    return {
        "id": None,
        "key": key(row.name),
        "name": row.title,
        "kind": "waits",
        "text": row.why,
        "options": [],
        "since": row.updated,
        "agent": agent,
        "detail": "all that is left is blocked" if is_blocked else "",
        "head": row.head,
        "at": row.strip.replace(" ", "").find("b") if is_blocked else None,
    }


def plan_data(plan: Plan, worked: Mapping[int, int | None] | None = None) -> Data:
    """Return a plan. `worked` are the milliseconds for which tasks were in progress, by number.

    The states of checks are those that were recorded: what is known on this machine is told by `facts_data`.
    """
    times = worked or {}

    def data(task: Task) -> Data:
        return task_data(task, _TASK_FIELDS) | {
            "worked": times.get(task.number),
            "check": check_data(task.number, task.check, task.proof),
            "after": list(task.after),
            "waits": list(waits_for(plan, task)),
            **{name: list(getattr(task, name)) for name in WORD_FIELDS},
            "meets": list(in_the_way(plan, task)),
        }

    return {"phases": phases_data(plan, data), "check": check_data(PLAN, plan.check, plan.proof)}


def claims_data(plan: Plan, claims: Iterable[Claim]) -> Data:
    """Return who works on the tasks in progress, by number. `until` is the end of the lease."""
    active = {task.number for task in plan.tasks if task.status is Status.IN_PROGRESS}
    return {
        str(claim.task): {
            "agent": claim.agent,
            "until": claim.until,
            "before": claim.before.agent if claim.before else None,
        }
        for claim in claims
        if claim.task in active
    }


def check_data(number: int, check: Check | None, proof: Proof | None) -> Data | None:
    """Return a check and its recorded state; None if there is none."""
    if check is None:
        return None
    state = check_state(number, check, proof, CheckFacts())
    return {
        "line": check_text(check),
        "command": list(check.command),
        "folder": check.folder,
        "caution": check_caution(check),
        "state": state.word.value,
        "words": state.text,
        "program": program_words(proof) if proof else "",
    }


def facts_data(facts: CheckFacts, *, may_approve: bool) -> Data:
    """Return what is known about the checks of a plan on this machine, by the numbers of tasks."""
    return {
        "here": facts.is_here,
        "may_approve": may_approve,
        "stale": sorted(facts.stale),
        "proposed": sorted(facts.proposed),
        "checking": sorted(facts.checking),
    }


def proof_data(number: int, proof: Proof) -> Data:
    """Return the result of a check that was run, with the end of its output."""
    return {"number": number, "result": proof.result.value, "reason": proof.reason, "output": proof.tail}


def history_data(events: Sequence[Event], rows: Sequence[TimelineRow]) -> list[Data]:
    """Return events with what they did, in the order given."""
    return [_event_data(event, row) for event, row in zip(events, rows, strict=True)]


def actor_data(event: Event) -> Data:
    """Return who caused an event; what was typed in the shell of an agent is the agent's doing."""
    author, of_agent = event.author, event.author.agent and event.actor is not Actor.TIMER
    actor = Actor.AGENT if of_agent else event.actor
    return {"who": actor.value, "by": author.name or None, "agent": author.agent or None}


def _event_data(event: Event, row: TimelineRow) -> Data:
    fact = event.fact
    change = "person" if event.by_person else "change"
    kind = KINDS.get(type(fact)) or (change if isinstance(fact, PlanChanged) else RUN_KIND)
    return {
        "id": event.id,
        "parent": event.parent,
        "at": event.at,
        **actor_data(event),
        "kind": kind,
        "what": list(row.what),
        "took": list(row.durations),
        "label": row.label,
        "tool": fact.call.tool if isinstance(fact, PlanChanged) and fact.call else None,
        "head": row.mark is HeadRelation.HEAD,
    }


def refusal_data(error: Refused) -> tuple[Data, int]:
    """Return the body of the answer to a request that was refused, and its status."""
    text = f"{sentence(error)}."
    if not isinstance(error, Conflict):
        return {"error": text, "hint": "", "faults": [text]}, 403 if isinstance(error, NotThePerson) else 422
    body: Data = {"error": text, "hint": ""}
    for name, fact in error.facts.items():
        match name, fact:
            case "state", State():
                body |= {"head": fact.head, "plan": plan_data(fact.plan)}
            case "check", _:
                body["line"] = check_text(fact) if isinstance(fact, Check) else ""
            case "clashes", list():
                body["clash"] = [_clash_data(clash) for clash in fact]
            case _:
                body[name] = fact
    return body, 409


def _clash_data(clash: Clash) -> Data:
    """Return a clash with who changed the task, and when."""
    event = clash.event
    names = ("at", "now", "number", "field", "base", "theirs", "yours")
    return {
        **{name: getattr(clash, name) for name in names},
        "gone": clash.now is None,
        **(actor_data(event) if event else dict.fromkeys(("who", "by", "agent"))),
        "when": event.at if event else None,
    }
