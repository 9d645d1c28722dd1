"""Encode events as JSON text, and decode them.

The text is ASCII, so that any task text survives, even unpaired surrogates. Each event carries the version of its
format; `UPCASTS[n]` converts an event of version n to version n + 1. A reader ignores keys that it does not know, so
optional keys (`by`, `used`, `from_user`) need no new version: earlier versions read events with them, and this without.
The owners of tasks are ranges of numbers by agent, because most tasks of a plan have the same.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.base.json import dump as dump  # noqa: PLC0414  part of this module's interface
from tildone.base.json import parse, quoted
from tildone.base.json import parse_strictly as parse_strictly  # noqa: PLC0414  the same
from tildone.base.json import pretty as pretty  # noqa: PLC0414  the same
from tildone.plan.events import (
    Actor,
    Author,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    StopFingerprint,
    Tripped,
    usage_in,
    usage_out,
)
from tildone.plan.model import (
    ATTRIBUTES,
    Phase,
    Plan,
    Status,
    Task,
    has_attributes,
    number_ranges,
    numbers_in,
    with_tasks,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from tildone.plan.events import Fact

    R = TypeVar("R", Task, Plan)

    Json = dict[str, Any]

VERSION = 1
UPCASTS: dict[int, Callable[[Json], Json]] = {}

_STATUSES = {status.value: status for status in Status}
_STATUS_NAMES = {status: status.value for status in Status}
_ACTORS = {actor.value: actor for actor in Actor}

_UNKNOWN = Author()
_EMPTY = Ledger()
_ATTRIBUTES = frozenset(ATTRIBUTES)
_FROM_USER = ',"from_user":true'
_LEDGER_COUNTS = ("continued", "began", "added", "dropped")


class UndecodableEvent(ValueError):
    """The text is not an event of a known version."""


def encode(event: Event) -> str:
    """Return the event as one line of JSON, formatted here: `json` would take three times as long."""
    parent = "null" if event.parent is None else quoted(event.parent)
    known = ",".join(f'"{name}":{quoted(text)}' for name, text in author_to_json(event.author).items())
    by = f'"by":{{{known}}},' if known else ""
    return (
        f'{{"v":{VERSION},"id":{quoted(event.id)},"parent":{parent},"at":{event.at},'
        f'"actor":"{event.actor.value}",{by}{usage_out(event.usage)}"fact":{_fact_out(event.fact)}}}'
    )


def decode(text: object) -> Event:
    """Return the event in a text that `encode` wrote, now or earlier; raise `UndecodableEvent` for anything else."""
    try:
        data = parse(text) if isinstance(text, str) else text
    except ValueError:
        data = text
    return event_from_json(data)


def event_from_json(data: Any) -> Event:
    """Return the event in parsed JSON, in this version or an older one; else raise `UndecodableEvent`."""
    try:
        data = _upcast(data)
        fact, usage = _fact_in(data), usage_in(data["used"]) if "used" in data else None
        author = author_from_json(data.get("by"))
        return Event(data["id"], data["parent"], data["at"], _ACTORS[data["actor"]], fact, author, usage)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"not an event of version {VERSION}: {str(data)[:80]!r}"
        raise UndecodableEvent(message) from error


def author_to_json(author: Author) -> dict[str, str]:
    return {name: text for name in Author.__match_args__ if (text := getattr(author, name))}


def author_from_json(data: object) -> Author:
    """Return the author in JSON data. Fields of another type count as unknown: they are not worth losing an event."""
    if not isinstance(data, dict):
        return _UNKNOWN
    return Author(*(text if isinstance(text := data.get(name), str) else "" for name in Author.__match_args__))


def plan_to_json(plan: Plan) -> Json:
    phases = parse(f"[{','.join(map(_phase_out, plan.phases))}]")
    data = {"phases": phases, "counted": plan.last_number}
    return data | parse(f"{{{_attributes_out(plan)[1:]}}}") if plan.check is not None else data


def plan_from_json(data: Any) -> Plan:
    """Return the plan in data that `plan_to_json` made; raise `ValueError` if it is damaged."""
    try:
        plan = Plan(tuple(map(_phase_in, data["phases"])), data["counted"])
        return _with_attributes(plan, data) if "check" in data else plan
    except (KeyError, TypeError, AttributeError) as error:
        message = f"not a plan: {str(data)[:80]!r}"
        raise ValueError(message) from error


def _fact_out(fact: Fact) -> str:
    """The value of the field `fact`, followed by the other fields of this kind of fact."""
    match fact:
        case PlanChanged(plan, call, drift, since, directive, ledger):
            made = f',"call":{{"tool":{quoted(call.tool)},"arguments":{quoted(call.arguments)}}}' if call else ""
            more = f',"since":{since}' if since else ""
            more += f',"directive":"{directive.value}"' if directive is not Directive.GO else ""
            more += f',"counted":{plan.last_number}' if plan.last_number else ""
            more += _attributes_out(plan) if plan.check is not None else ""
            more += _owners_out(plan) + _ledger_out(ledger)
            return f'"plan_changed","plan":[{",".join(map(_phase_out, plan.phases))}],"drift":{drift}{made}{more}'
        case Nudged(count, drift, of_subagent=True):
            return f'"nudged","count":{count},"drift":{drift},"subagent":true'
        case Nudged(count, drift, fingerprint, repeats):
            files, message = quoted(fingerprint.files), quoted(fingerprint.message)
            fields = f',"files":{files},"words":{message},"same":{repeats}'
            return f'"nudged","count":{count},"drift":{drift}{fields if fingerprint != StopFingerprint() else ""}'
        case DirectiveSet(directive, drift, since, ledger):
            more = f',"drift":{drift},"since":{since}' if drift else ""
            return f'"directive_set","directive":"{directive.value}"{more}{_ledger_out(ledger)}'
        case Tripped(bound, limit):
            return f'"tripped","bound":"{bound.value}","limit":{limit}'
        case Labelled(target, label):
            return f'"labelled","target":{quoted(target)},"label":{quoted(label)}'
        case _:
            # Late, because few plans are run by a fleet.
            from tildone.plan.runs import fact_name, fact_to_json

            return f'"{fact_name(fact)}"' + "".join(f',"{name}":{dump(at)}' for name, at in fact_to_json(fact).items())


def _owners_out(plan: Plan) -> str:
    numbers: dict[str, list[int]] = {}
    for task in plan.tasks:
        if task.owner and task.number:
            numbers.setdefault(task.owner, []).append(task.number)
    owned = ",".join(f'{quoted(owner)}:"{number_ranges(own)}"' for owner, own in numbers.items())
    return f',"owners":{{{owned}}}' if owned else ""


def _with_owners(plan: Plan, data: Json) -> Plan:
    owners = {number: owner for owner, ranges in data.items() for number in numbers_in(ranges, plan.last_number)}
    return with_tasks(plan, lambda task: replace(task, owner=owners.get(task.number, "")))


def _ledger_out(ledger: Ledger) -> str:
    if ledger == _EMPTY:
        return ""
    counts = [f'"{name}":{count}' for name in _LEDGER_COUNTS if (count := getattr(ledger, name))]
    if ledger.reopened:
        counts.append(f'"reopened":[{",".join(map(str, ledger.reopened))}]')
    if ledger.gone:
        counts.append(f'"gone":[{",".join(map(quoted, ledger.gone))}]')
    return f',"ledger":{{{",".join(counts)}}}'


def _phase_out(phase: Phase) -> str:
    # Most tasks have a number and no notes; a call for each task would take as long as the rest.
    tasks = [
        f'{{"text":{quoted(task.text)},"status":"{_STATUS_NAMES[task.status]}","number":{task.number}'
        f"{_FROM_USER if task.from_user else ''}}}"
        if task.number and not task.notes and not task.source and not has_attributes(task)
        else _task_out(task)
        for task in phase.tasks
    ]
    return f'{{"name":{quoted(phase.name)},"tasks":[{",".join(tasks)}]}}'


def _task_out(task: Task) -> str:
    notes = f',"notes":[{",".join(map(quoted, task.notes))}]' if task.notes else ""
    number = f',"number":{task.number}' if task.number else ""
    source = f',"source":{quoted(task.source)}' if task.source else ""
    rest = f"{_FROM_USER if task.from_user else ''}{source}{_attributes_out(task) if has_attributes(task) else ''}"
    return f'{{"text":{quoted(task.text)},"status":"{_STATUS_NAMES[task.status]}"{notes}{number}{rest}}}'


def _attributes_out(owner: Task | Plan) -> str:
    """The attributes that few tasks have, each after a comma."""
    # Late, because most plans have none.
    from tildone.plan.check_codec import attributes_to_json

    return "".join(f',"{name}":{dump(data)}' for name, data in attributes_to_json(owner).items())


def _fact_in(data: Json) -> Fact:
    match data["fact"]:
        case "plan_changed":
            call = data.get("call")
            made = Call(call["tool"], call["arguments"]) if call else None
            plan = Plan(tuple(map(_phase_in, data["plan"])), data.get("counted", 0))
            plan = _with_attributes(plan, data) if "check" in data else plan
            plan = _with_owners(plan, data["owners"]) if "owners" in data else plan
            since, directive = data.get("since", 0), _directive_in(data, "go")
            return PlanChanged(plan, made, data["drift"], since, directive, _ledger_in(data.get("ledger")))
        case "nudged":
            fingerprint = StopFingerprint(data.get("files", ""), data.get("words", ""))
            of_subagent = data.get("subagent", False)
            return Nudged(data["count"], data["drift"], fingerprint, data.get("same", 0), of_subagent)
        case "directive_set" | "steered":
            drift, since = data.get("drift", 0), data.get("since", 0)
            return DirectiveSet(_directive_in(data), drift, since, _ledger_in(data.get("ledger")))
        case "tripped":
            return Tripped(Bound(data["bound"]), data["limit"])
        case "labelled":
            return Labelled(data["target"], data["label"])
        case _:
            from tildone.plan.runs import fact_from_json

            return fact_from_json(data)


def _directive_in(data: Json, default: str | None = None) -> Directive:
    """Return the directive in an event. Its key in older stores is `course`, and the fact that sets it `steered`."""
    return Directive(data.get("directive", data.get("course", default)))


def _ledger_in(data: Json | None) -> Ledger:
    if not data:
        return _EMPTY
    reopened, gone = tuple(data.get("reopened", ())), tuple(data.get("gone", ()))
    return Ledger(**{name: data.get(name, 0) for name in _LEDGER_COUNTS}, reopened=reopened, gone=gone)


def _phase_in(data: Json) -> Phase:
    return Phase(data["name"], tuple(map(_task_in, data["tasks"])))


def _task_in(data: Json) -> Task:
    notes, number, from_user = tuple(data.get("notes", ())), data.get("number", 0), data.get("from_user") is True
    task = Task(data["text"], _STATUSES[data["status"]], notes, number, from_user, str(data.get("source", "")))
    return _with_attributes(task, data) if not _ATTRIBUTES.isdisjoint(data) else task


def _with_attributes(owner: R, data: Json) -> R:
    from tildone.plan.check_codec import attributes_from_json

    return replace(owner, **attributes_from_json(data))


def _upcast(data: Json) -> Json:
    while data["v"] < VERSION:
        data = UPCASTS[data["v"]](data)
    if data["v"] > VERSION:
        raise ValueError(data["v"])
    return data
