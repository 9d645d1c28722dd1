"""The figures of a store for monitoring: what stands in its tables now, and what was counted since a time.

Labels have few values: no run, task or text is among them.
"""

from __future__ import annotations

from collections import Counter

from tildone.history import tallies
from tildone.log.fleet.lease import Ask, LeaseState
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.exposition import Family, Kind, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tildone.history.tallies import Key
    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import WorkerInfo

QUEUED, RUNNING, WAITING, PAUSED, DELAYED = "queued", "running", "waiting", "paused", "delayed"
STATES = (QUEUED, DELAYED, RUNNING, WAITING, PAUSED)
UP, DRAINING, SILENT = "up", "draining", "silent"
WORKER_STATES = (UP, DRAINING, SILENT)

COUNTERS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    tallies.TASKS: ("tildone_tasks_closed_total", "Tasks that were completed or abandoned.", ("status",)),
    tallies.CHECKS: ("tildone_checks_total", "Checks that were run.", ("result",)),
    tallies.NUDGES: ("tildone_nudges_total", "Automatic continuations of agents.", ()),
    tallies.STOPS: ("tildone_stops_total", "Agents that were let go because a bound was reached.", ("bound",)),
    tallies.TAKEN: ("tildone_runs_taken_total", "Attempts that workers have begun.", ()),
    tallies.LOST: ("tildone_runs_lost_total", "Attempts whose worker was lost.", ()),
    tallies.TAKEOVERS: ("tildone_takeovers_total", "Lost runs that another attempt has continued.", ()),
    tallies.FAILED: ("tildone_attempts_failed_total", "Attempts whose agent failed.", ()),
    tallies.ENDED: ("tildone_runs_ended_total", "Runs that have ended.", ("state",)),
    tallies.TOKENS: ("tildone_tokens_total", "Tokens that agents have used.", ("agent", "model", "type")),
    tallies.COST: ("tildone_cost_usd_total", "Cost of the tokens, in US dollars.", ("agent", "model")),
}
"""The names of the counters, what they count, and their labels."""


@value
class FleetNow:
    """A fleet at a time. `silent_after` is how long a worker may be silent, in milliseconds; `size` is in bytes."""

    leases: Sequence[Lease]
    workers: Sequence[WorkerInfo]
    now: int
    silent_after: int
    size: int


def fleet_families(fleet: FleetNow, questions: int) -> list[Family]:
    """Return the gauges of a fleet. `questions` are those in the store, beside those of the runs."""
    states = Counter(_state(lease, fleet.now) for lease in fleet.leases)
    workers = Counter(_worker_state(worker, fleet) for worker in fleet.workers)
    waits = [_wait(lease, fleet.now) for lease in fleet.leases if _state(lease, fleet.now) == QUEUED]
    slots = sum(worker.slots for worker in fleet.workers if _worker_state(worker, fleet) != SILENT)
    asked = questions + sum(len(lease.questions) for lease in fleet.leases)
    return [
        _by_label("tildone_runs", "Hands of runs that have not ended.", "state", STATES, states),
        _by_label("tildone_workers", "Workers.", "state", WORKER_STATES, workers),
        _gauge("tildone_slots", "Slots of the workers that are not silent.", slots),
        _gauge("tildone_slots_used", "Slots in use.", states[RUNNING]),
        _gauge("tildone_queue_oldest_seconds", "The longest wait for a worker so far.", max(waits, default=0) / 1000),
        _gauge("tildone_questions", "Questions that wait for a person.", asked),
        _gauge("tildone_store_bytes", "Size of the store.", fleet.size),
    ]


def counter_families(counts: Mapping[Key, float]) -> list[Family]:
    """Return the counters, also those that have counted nothing yet, as far as they have no labels."""
    families = []
    for counted, (name, text, labels) in COUNTERS.items():
        found = sorted((values, amount) for (kind, values), amount in counts.items() if kind == counted)
        if not labels and not found:
            found = [((), 0)]
        samples = tuple(Sample(amount, tuple(zip(labels, values, strict=True))) for values, amount in found)
        families.append(Family(name, Kind.COUNTER, text, samples))
    return families


def session_families(states: Mapping[str, int], questions: int | None) -> list[Family]:
    """Return the gauges of sessions by state; of questions, too, if they are not among those of a fleet."""
    found = [_by_label("tildone_sessions", "Plans in the store.", "state", tuple(states), states)]
    if questions is not None:
        found.append(_gauge("tildone_questions", "Questions that wait for a person.", questions))
    return found


def _state(lease: Lease, now: int) -> str:
    match lease.state:
        case LeaseState.OPEN if lease.is_held:
            return RUNNING
        case LeaseState.OPEN:
            return DELAYED if lease.not_before > now else QUEUED
        case state:
            return str(state.value)


def _wait(lease: Lease, now: int) -> int:
    return max(0, now - max(lease.since, lease.not_before))


def _worker_state(worker: WorkerInfo, fleet: FleetNow) -> str:
    if fleet.now - worker.seen > fleet.silent_after:
        return SILENT
    return UP if worker.ask is Ask.NOTHING else DRAINING


def _gauge(name: str, text: str, amount: float) -> Family:
    return Family(name, Kind.GAUGE, text, (Sample(amount),))


def _by_label(name: str, text: str, label: str, values: Iterable[str], amounts: Mapping[str, int]) -> Family:
    """Return a gauge with a figure for each value of its label: one that is absent could not be told from 0."""
    samples = tuple(Sample(amounts.get(each, 0), ((label, each),)) for each in values)
    return Family(name, Kind.GAUGE, text, samples)
