"""The facts about runs as JSON data, and back. Keys that have an empty value are omitted.

The data of a fact is part of that of its event, so no field may have the name of a field of events, such as `id`.
"""

from __future__ import annotations

from tildone.log.fleet import facts
from tildone.log.fleet.lease import LeaseState, Work
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.log.fleet.facts import RunFact

    Json = dict[str, Any]

_KINDS: dict[str, type[RunFact]] = {
    "run_queued": facts.RunQueued,
    "run_taken": facts.RunTaken,
    "run_lost": facts.RunLost,
    "run_released": facts.RunReleased,
    "run_ended": facts.RunEnded,
    "asked": facts.Asked,
    "answered": facts.Answered,
    "kept": facts.Kept,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_EMPTY = ("", 0, ())


def fact_name(fact: RunFact) -> str:
    """Return the stored name of a kind of fact."""
    return _NAMES[type(fact)]


def fact_to_json(fact: RunFact) -> Json:
    """Return the fields of a fact."""
    fields = {name: getattr(fact, name) for name in type(fact).__match_args__}
    if "work" in fields:
        fields["work"] = work_to_json(fields["work"])
    if "state" in fields:
        fields["state"] = fields["state"].value
    return {name: field for name, field in fields.items() if field not in _EMPTY}


def fact_from_json(data: Json) -> RunFact:
    """Return the fact in the JSON data of an event.

    Raises:
        ValueError: it is none of these kinds.
        KeyError, TypeError: its fields are damaged.
    """
    kind = _KINDS.get(data["fact"])
    if kind is None:
        raise ValueError(data["fact"])
    names: tuple[str, ...] = kind.__match_args__
    fields = {name: data[name] for name in names if name in data}
    # What was omitted because it is empty has no default in some records.
    missing = {name: 0 if name in _NUMBERS else "" for name in names if name not in fields}
    if "work" in names:
        fields["work"] = work_from_json(data.get("work", {}))
    if "state" in names:
        fields["state"] = LeaseState(data["state"])
    return kind(**missing | fields)


def work_to_json(work: Work) -> Json:
    """Return what differs from an empty work."""
    empty = Work()
    fields = {name: getattr(work, name) for name in Work.__match_args__}
    return {name: field for name, field in fields.items() if field != getattr(empty, name)}


def work_from_json(data: Json) -> Work:
    """Return the work in data that `work_to_json` made; what is not known is ignored."""
    fields: Json = {name: data[name] for name in Work.__match_args__ if name in data}
    lists = {name: tuple(map(str, each)) for name, each in fields.items() if isinstance(each, list)}
    return Work(**fields | lists)


_NUMBERS = frozenset({"hand", "epoch", "attempt", "task", "losses", "fails", "not_before"})
