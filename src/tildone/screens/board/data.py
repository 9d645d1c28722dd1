"""What the board sends, as JSON data. `docs/reference/board-api.md` documents the fields.

Texts are sent as they are stored: pages show them as text, and JSON in ASCII hides nothing. Times are in milliseconds.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from tildone.app.answering import caution_of
from tildone.app.check_states import CheckFacts, check_state
from tildone.app.conflict import Conflict
from tildone.app.edits import sentence
from tildone.app.look import phases_data, task_data
from tildone.app.rebase import Clash
from tildone.app.sessions import SessionRow
from tildone.app.who import NotThePerson
from tildone.base import Refused, UnknownEvent, value
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.claims import Claim
from tildone.plan.events import (
    Actor,
    DirectiveSet,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    State,
    Tripped,
    latest_state,
)
from tildone.plan.gate import Patience
from tildone.plan.guard import PLAN
from tildone.plan.history.changes import change_sentences, changes
from tildone.plan.history.stats import Period
from tildone.plan.history.timeline import HeadRelation, newest_events, timeline
from tildone.plan.model import Check, Plan, Proof, Status, Task, flat, has_attributes, in_the_way, waits_for
from tildone.plan.text.proofs import check_caution, check_text, program_words
from tildone.plan.text.safe import short_agent
from tildone.plan.text.state import SessionWord

Data = dict[str, object]
Key = Callable[[str], str]

KINDS = {Nudged: "nudge", Tripped: "letgo", Labelled: "label", DirectiveSet: "directive"}
RUN_KIND = "run"


def fields(of: object, *names: str) -> Data:
    return {name: getattr(of, name) for name in names}


def row_data(row: SessionRow, key: Key) -> Data:
    return {
        "key": key(row.name),
        **fields(row, "name", "title", "head", "closed", "total", "strip"),
        **fields(row, "tokens", "cost", "updated", "created", "events"),
        "where": place(row.name),
        "state": row.word.value,
        "why": row.why or None,
        "doing": row.doing or None,
        "agents": [agent_data(agent) for agent in row.agents],
        "nudges": [row.nudges, row.nudge_limit],
        "needs": len(row.needs),
    }


def place(name: str) -> str:
    """Return where a session is: the folder above that of its project, with `~` for the home folder; else empty."""
    if not os.path.isabs(name):
        return ""
    folder, home = os.path.dirname(name), os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(home + os.sep) else folder


def agent_data(agent: Presence) -> Data:
    shown = fields(agent, "agent", "host", "model", "doing", "since", "why", "tokens", "cost", "beat")
    return shown | {"on": agent.machine}


def counts_data(counts: Mapping[SessionWord, int]) -> Data:
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
        **fields(need, "id", "kind", "text", "since", "detail"),
        "caution": caution_of(need),
        "key": key(need.session),
        "name": row.title if row else need.session,
        "options": list(need.options),
        "agent": agent_data(agents[0]) if agents else {"agent": need.agent, "host": need.agent.partition(":")[0]},
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


def plan_data(plan: Plan, row: Callable[[Task], Data] | None = None) -> Data:
    """Return a plan, with its tasks as `TaskRows` returns them, or another `row`.

    The states of checks are those that were recorded: what is known on this machine is told by `facts_data`.
    """
    row = row or TaskRows({task.number: task for task in plan.tasks}).data
    return {"phases": phases_data(plan, row), "check": check_data(PLAN, plan.check, plan.proof)}


class TaskRows:
    """The tasks of a plan, by number, as data: fields that are empty are left out."""

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._in_progress: Plan | None = None

    def data(self, task: Task) -> Data:
        data: Data = {"number": task.number, "text": task.text, "status": task.status.value}
        if task.notes or task.from_user or task.source or has_attributes(task):
            more = task_data(task, ("notes", "from_user", "source")) | {
                "check": check_data(task.number, task.check, task.proof),
                "after": list(task.after),
                "waits": list(self._waits(task)),
                **{name: list(words) for name, words in task.words.items()},
                "meets": list(self._meets(task)),
            }
            data |= {name: fact for name, fact in more.items() if fact}
        return data

    def _waits(self, task: Task) -> tuple[int, ...]:
        return waits_for(flat(*(self._tasks[number] for number in task.after if number in self._tasks)), task)

    def _meets(self, task: Task) -> tuple[int, ...]:
        if not task.touches:
            return ()
        if self._in_progress is None:
            active = (each for each in self._tasks.values() if each.status is Status.IN_PROGRESS)
            self._in_progress = flat(*(each for each in active if each.touches))
        return in_the_way(self._in_progress, task)


def claims_data(plan: Plan, claims: Iterable[Claim]) -> Data:
    """Return who works on the tasks in progress, by number. `until` is the end of the lease."""
    found = list(claims)
    active = {task.number for task in plan.tasks if task.status is Status.IN_PROGRESS} if found else ()
    return {
        str(claim.task): {
            "agent": claim.agent,
            "name": short_agent(claim.agent),
            "until": claim.until,
            "before": claim.before.agent if claim.before else None,
            "before_name": short_agent(claim.before.agent) if claim.before else None,
        }
        for claim in found
        if claim.task in active
    }


def check_data(number: int, check: Check | None, proof: Proof | None) -> Data | None:
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
    return {"number": number, "result": proof.result.value, "reason": proof.reason, "output": proof.tail}


def actor_data(event: Event) -> Data:
    """Return who caused an event; what was typed in the shell of an agent is the agent's doing."""
    author, of_agent = event.author, event.author.agent and event.actor is not Actor.TIMER
    actor = Actor.AGENT if of_agent else event.actor
    return {"who": actor.value, "by": author.name or None, "agent": author.agent or None}


def event_row(
    event: Event, what: Sequence[str], durations: Sequence[int | None], label: str | None, *, head: bool = False
) -> Data:
    fact = event.fact
    change = "person" if event.by_person else "change"
    kind = KINDS.get(type(fact)) or (change if isinstance(fact, PlanChanged) else RUN_KIND)
    return {
        **fields(event, "id", "parent", "at"),
        **actor_data(event),
        "kind": kind,
        "what": list(what),
        "durations": list(durations),
        "label": label,
        "tool": fact.call.tool if isinstance(fact, PlanChanged) and fact.call else None,
        "head": head,
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
    return {
        **fields(clash, "at", "now", "number", "field", "base", "theirs", "yours"),
        "gone": clash.now is None,
        **(actor_data(event) if event else dict.fromkeys(("who", "by", "agent"))),
        "when": event.at if event else None,
    }


PAGE_EVENTS = 200
MANY_MINUTES = 120
"""From here on, whole hours are told in hours."""

LANES = {Status.IN_PROGRESS: "worked", Status.BLOCKED: "blocked"}


@value
class Page:
    """Some events of a branch, the oldest first, as data. `before` is where older ones begin; None without any."""

    rows: tuple[Data, ...]
    before: str | None = None


def history_page(store: Store, name: str, head: str, limit: int, nudge_limit: int) -> Page:
    """Return the newest events of the branch that ends with `head`. Raises UnknownEvent if there is no such event."""
    events = newest_events(store.history(name, head), limit)
    shown = min(limit, len(events))
    older = events[-shown].parent if shown else None
    rows = timeline(events, head, str, nudge_limit)
    newest = zip(events[-shown:], rows[-shown:], strict=True) if shown else ()
    data = (
        event_row(event, row.what, row.durations, row.label, head=row.mark is HeadRelation.HEAD)
        for event, row in newest
    )
    return Page(tuple(data), older)


def plan_at(store: Store, name: str, event: str) -> tuple[Event, Plan]:
    """Return an event, and the plan as it was then. Raises UnknownEvent if there is no such event."""
    found = next(store.history(name, event), None)
    if found is None:
        raise UnknownEvent(f"there is no event {event}")
    return found, latest_state(store.history(name, event)).plan


def difference(before: Plan, after: Plan) -> list[str]:
    return change_sentences(changes(before, after), numbers=False)


def bounds_data(state: State, patience: Patience, cost: float, now: int) -> list[Data]:
    """Return the bounds of the agent, each with how much of it is used. `main` ones are worth reading at any time."""
    ledger = state.ledger
    minutes = (now - state.since) // 60_000 if state.since else 0
    hours = (now - ledger.began) // 3_600_000 if ledger.began else 0
    nudges_left = max(0, patience.nudges - state.nudges)
    limit = patience.cost or 0
    bounds = (
        ("Nudges left", patience.nudges, state.nudges, f"{nudges_left} of {patience.nudges}", True),
        ("Without progress", patience.minutes, minutes, f"{_span(minutes)} of {_span(patience.minutes)}", True),
        ("Cost", limit, cost, f"${cost:.2f} of ${limit:.2f}", True),
        ("Nudges, no progress", patience.drift, state.drift, f"{state.drift} of {patience.drift}", False),
        ("Same words", patience.repeats, state.repeats, f"{state.repeats} of {patience.repeats} times", False),
        ("Nudges since you", patience.total, ledger.continued, f"{ledger.continued} of {patience.total}", False),
        ("Since you spoke", patience.hours, hours, f"{hours} of {patience.hours} h", False),
    )
    return [
        {"name": name, "used": used, "limit": most, "text": text, "main": main}
        for name, most, used, text, main in bounds
        if most
    ]


def _span(minutes: int) -> str:
    return f"{minutes // 60} h" if minutes >= MANY_MINUTES and minutes % 60 == 0 else f"{minutes} min"


def lane_data(task: Task, periods: Sequence[Period]) -> list[list[object]]:
    """Return the lane of a task; the last period of one that is worked on, or blocked, has no end."""
    last = len(periods) - 1 if task.status in LANES else None
    return [[each.start, None if place == last else each.end, LANES[each.status]] for place, each in enumerate(periods)]
