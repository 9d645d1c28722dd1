"""Encode events as JSON text, and decode them.

The text is ASCII, so that any task text survives, unpaired surrogates included. Each event carries the version of its
form; `UPCASTS` converts an older form into the next.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring_ascii as _quoted

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.log.events import (
    Actor,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Labelled,
    Nudged,
    PlanChanged,
    StopFingerprint,
    Tripped,
)
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

VERSION = 1
UPCASTS: dict[int, Callable[[Json], Json]] = {}

_STATUSES = {status.value: status for status in Status}
_WORDS = {status: status.value for status in Status}
_ACTORS = {actor.value: actor for actor in Actor}

_HALF_PAIR = re.compile("[\ud800-\udfff]")

# The values are never circular, and the check takes a third of the time.
dump = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class UndecodableEvent(ValueError):
    """The text is not an event of a known version."""


def parse(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: the text is not JSON; the message says where.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        message = "nested too deeply"
        raise ValueError(message) from None


def pretty(value: object) -> str:
    """A value as JSON for people: indented, with letters unescaped.

    Unpaired surrogates stay escaped, so that the text can be encoded as UTF-8.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _HALF_PAIR.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def encode(event: Event) -> str:
    """The event as one line of JSON.

    The line is formatted here rather than by `json`, in a third of the time: encoding is much of the cost of a change.
    """
    parent = "null" if event.parent is None else _quoted(event.parent)
    return (
        f'{{"v":{VERSION},"id":{_quoted(event.id)},"parent":{parent},"at":{event.at},'
        f'"actor":"{event.actor.value}","fact":{_fact_out(event.fact)}}}'
    )


def decode(text: str) -> Event:
    """The event in a text that `encode` wrote, in this version or an older one.

    Raises:
        UndecodableEvent: the text is damaged, or of a newer version.
    """
    try:
        data = json.loads(text)
    except ValueError:
        data = text
    return event_from_json(data)


def event_from_json(data: Any) -> Event:
    """The event in parsed JSON, in this version or an older one.

    Raises:
        UndecodableEvent: the data is not an event, or of a newer version.
    """
    try:
        data = _upcast(data)
        return Event(data["id"], data["parent"], data["at"], _ACTORS[data["actor"]], _fact_in(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"not an event of version {VERSION}: {str(data)[:80]!r}"
        raise UndecodableEvent(message) from error


def plan_to_json(plan: Plan) -> Json:
    """The plan as JSON data, by itself."""
    phases = json.loads(f"[{','.join(map(_phase_out, plan.phases))}]")
    return {"phases": phases, "counted": plan.last_number}


def plan_from_json(data: Any) -> Plan:
    """The plan that `plan_to_json` wrote.

    Raises:
        ValueError: the data is damaged.
    """
    try:
        return Plan(tuple(map(_phase_in, data["phases"])), data["counted"])
    except (KeyError, TypeError, AttributeError) as error:
        message = f"not a plan: {str(data)[:80]!r}"
        raise ValueError(message) from error


def _fact_out(fact: Fact) -> str:
    """The value of the field `fact`, and the fields of this kind of fact."""
    match fact:
        case PlanChanged(plan, call, drift, since, directive):
            made = f',"call":{{"tool":{_quoted(call.tool)},"arguments":{_quoted(call.arguments)}}}' if call else ""
            more = f',"since":{since}' if since else ""
            more += f',"course":"{directive.value}"' if directive is not Directive.GO else ""
            more += f',"counted":{plan.last_number}' if plan.last_number else ""
            return f'"plan_changed","plan":[{",".join(map(_phase_out, plan.phases))}],"drift":{drift}{made}{more}'
        case Nudged(count, drift, fingerprint, repeats):
            files, message = _quoted(fingerprint.files), _quoted(fingerprint.message)
            fields = f',"files":{files},"words":{message},"same":{repeats}'
            return f'"nudged","count":{count},"drift":{drift}{fields if fingerprint != StopFingerprint() else ""}'
        case DirectiveSet(directive):
            return f'"steered","course":"{directive.value}"'
        case Tripped(bound, limit):
            return f'"tripped","bound":"{bound.value}","limit":{limit}'
        case Labelled(target, label):  # exhaustive
            return f'"labelled","target":{_quoted(target)},"label":{_quoted(label)}'


def _phase_out(phase: Phase) -> str:
    tasks = [
        f'{{"text":{_quoted(task.text)},"status":"{_WORDS[task.status]}"'
        f"{_notes_out(task) if task.notes else ''}{_number_out(task) if task.number else ''}}}"
        for task in phase.tasks
    ]
    return f'{{"name":{_quoted(phase.name)},"tasks":[{",".join(tasks)}]}}'


def _notes_out(task: Task) -> str:
    return f',"notes":[{",".join(map(_quoted, task.notes))}]'


def _number_out(task: Task) -> str:
    return f',"number":{task.number}'


def _fact_in(data: Json) -> Fact:
    match data["fact"]:
        case "plan_changed":
            call = data.get("call")
            made = Call(call["tool"], call["arguments"]) if call else None
            plan = Plan(tuple(map(_phase_in, data["plan"])), data.get("counted", 0))
            return PlanChanged(plan, made, data["drift"], data.get("since", 0), Directive(data.get("course", "go")))
        case "nudged":
            fingerprint = StopFingerprint(data.get("files", ""), data.get("words", ""))
            return Nudged(data["count"], data["drift"], fingerprint, data.get("same", 0))
        case "steered":
            return DirectiveSet(Directive(data["course"]))
        case "tripped":
            return Tripped(Bound(data["bound"]), data["limit"])
        case "labelled":
            return Labelled(data["target"], data["label"])
        case other:
            raise ValueError(other)


def _phase_in(data: Json) -> Phase:
    return Phase(data["name"], tuple(map(_task_in, data["tasks"])))


def _task_in(data: Json) -> Task:
    return Task(data["text"], _STATUSES[data["status"]], tuple(data.get("notes", ())), data.get("number", 0))


def _upcast(data: Json) -> Json:
    while data["v"] < VERSION:
        data = UPCASTS[data["v"]](data)
    if data["v"] > VERSION:
        raise ValueError(data["v"])
    return data


def _no_constant(word: str) -> None:
    message = f"{word} is not JSON"
    raise ValueError(message)
