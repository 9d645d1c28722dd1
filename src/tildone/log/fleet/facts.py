"""What the log of a plan records of its runs, and its stored form. The leases can be rebuilt from these facts.

`epoch` is that of the lease after the fact: what happens under a lower one is refused. Renewals are not recorded.

In the JSON data of a fact, keys that have an empty value are omitted. The data is part of that of its event, so no
field may have the name of a field of events, such as `id`.
"""

from __future__ import annotations

from tildone.log.fleet.lease import LeaseState, Work
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

    from tildone.log.fleet.lease import Lease

    Json = dict[str, Any]


@value
class RunQueued:
    """A run waits for a worker. `why` is `added`, `retried`, `resumed` or `answered`."""

    run: str
    hand: int
    epoch: int
    attempt: int
    work: Work
    why: str = "added"
    not_before: int = 0


@value
class RunTaken:
    """A worker of some version has taken the run."""

    run: str
    hand: int
    epoch: int
    owner: str
    version: str = ""


@value
class RunLost:
    """A worker has lost the run. `losses` of the last attempts were lost while `task` was the task to work on."""

    run: str
    hand: int
    epoch: int
    why: str
    task: int = 0
    losses: int = 0


@value
class RunReleased:
    """The run has no worker any more, but has not ended. `fails` of its attempts failed.

    `refused_by` is the id of the worker, if that does not permit the run.
    """

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str
    fails: int = 0
    not_before: int = 0
    refused_by: str = ""


@value
class RunEnded:
    """The run is done, failed or cancelled. `fails` of its attempts failed."""

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str = ""
    fails: int = 0


@value
class Asked:
    """The agent of a run has asked a person. `question` is an id; `kind` is command, check, question or the like."""

    run: str
    hand: int
    question: str
    kind: str
    text: str


@value
class Answered:
    """A person has answered the question of a run."""

    run: str
    hand: int
    question: str
    text: str
    who: str = ""


@value
class Kept:
    """The files of a run were kept: as a commit, under a ref of its epoch, after a task.

    `as_of` is the event that was the head of the session before the files were read: what was done until then is kept.
    What was done before this fact itself may not be.
    """

    run: str
    hand: int
    epoch: int
    ref: str
    commit: str
    task: int = 0
    as_of: str = ""


RunFact = RunQueued | RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered | Kept


_KINDS: dict[str, type[RunFact]] = {
    "run_queued": RunQueued,
    "run_taken": RunTaken,
    "run_lost": RunLost,
    "run_released": RunReleased,
    "run_ended": RunEnded,
    "asked": Asked,
    "answered": Answered,
    "kept": Kept,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_EMPTY = ("", 0, ())


def is_of(fact: RunFact, lease: Lease) -> bool:
    """Return whether a fact tells of the hand that a lease is for."""
    return (fact.run, fact.hand) == (lease.run, lease.hand)


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
