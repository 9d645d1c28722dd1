"""How leases change: functions from a lease to the lease after a change, with the facts to record.

A function returns None if the change does not apply: the lease is no longer the caller's, or another worker has it.
Times are those of the store: `clock` is what leases are measured by, `now` is in milliseconds since 1970.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from tildone.base import Refused, UsageError, replace, value
from tildone.plan.events import Event
from tildone.plan.runs import (
    ADDED,
    RETRIED,
    Answered,
    Asked,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    Published,
    RunEnded,
    RunFact,
    RunFence,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    WorkOutcome,
)

MAX_LOSSES = 5
"""A run that was lost this often while it had the same task to work on has failed: it may end its workers."""

FIRST_DELAY_MS, MAX_DELAY_MS = 10_000, 900_000
"""The delay after a failed attempt, before it is doubled for each attempt that failed, and the longest."""

KILLS_ITS_WORKER = f"{MAX_LOSSES} workers were lost in the same task"

_ENDS = {
    WorkOutcome.DONE: LeaseState.DONE,
    WorkOutcome.FAILED: LeaseState.FAILED,
    WorkOutcome.CANCELLED: LeaseState.CANCELLED,
}


@value
class Moment:
    """The time at a store: by the clock of leases, since 1970, and which boot the clock counts from."""

    clock: int
    now: int
    boot: str = ""


@value
class Step:
    """A change of a lease: the lease after it, and the facts to record, in their order."""

    lease: Lease
    facts: tuple[RunFact, ...] = ()


def queued(new: NewRun, hand: int, now: int) -> Step:
    """Return the lease of a hand of a new run."""
    lease = Lease(new.run, hand, new.session, new.work, not_before=new.not_before, made=now, since=now)
    return Step(lease, (RunQueued(new.run, hand, 0, 1, new.work, ADDED, new.not_before, new.title),))


def taken(lease: Lease, owner: str, version: str, at: Moment, duration: int) -> Step:
    """Return a queued lease after a worker has taken it."""
    epoch = lease.epoch + 1
    after = replace(
        lease,
        epoch=epoch,
        owner=owner,
        until=at.clock + duration,
        boot=at.boot,
        request=LeaseRequest.NOTHING,
        since=at.now,
    )
    return Step(after, (RunTaken(lease.run, lease.hand, epoch, owner, version),))


def admitted(leases: Iterable[Lease], room: Mapping[str, int], holders: Mapping[str, Collection[str]]) -> list[Lease]:
    """Return the leases that may be held together, in their order.

    `room` is how many runs the providers with a limit may still have, `holders` the runs that work in each repository.
    Nothing is admitted to a repository that is missing there.
    """
    left, runs = dict(room), {repo: set(names) for repo, names in holders.items()}
    found = []
    for lease in leases:
        repo, provider = lease.work.repo, lease.work.provider
        if left.get(provider, 1) < 1 or (repo and not (repo in runs and runs[repo] <= {lease.run})):
            continue
        found.append(lease)
        if provider in left:
            left[provider] -= 1
        if repo:
            runs[repo].add(lease.run)
    return found


def is_holder(lease: Lease, fence: RunFence) -> bool:
    """Return whether what a fence allows is still allowed."""
    return lease.fence == fence and lease.state is LeaseState.OPEN and lease.is_held


def why_lapsed(lease: Lease, at: Moment, here: str, is_alive: Callable[[int], bool], *, by_time: bool) -> str:
    """Return why a held lease of this machine has lapsed; empty if it has not. `here` is the name of the machine.

    Only with `by_time` does it lapse because its time has passed. The process of an owner can only be looked up where
    process ids mean the same: on the same machine, in the same boot and the same namespace, which `boot` names.
    """
    if not lease.is_held:
        return ""
    if boot_id(lease.boot) != boot_id(at.boot):
        return "its machine has been restarted"
    host, _, rest = lease.owner.partition("/")
    pid = rest.partition("/")[0]
    if host == here and lease.boot == at.boot and pid.isdecimal() and not is_alive(int(pid)):
        return "its worker has ended"
    return "its lease has lapsed" if by_time and lease.until < at.clock else ""


def boot_id(boot: str) -> str:
    """Return the boot that a text names, without the namespace of process ids."""
    return boot.partition("/")[0]


def lost(lease: Lease, why: str, task: int, now: int) -> Step:
    """Return a held lease after its holder has lost it, or has ended. `task` is the number of the task to work on."""
    losses = lease.losses + 1 if task == lease.task and lease.losses else 1
    given_up = replace(_without_owner(lease, now), attempt=lease.attempt + 1, losses=losses, task=task)
    fact = RunLost(lease.run, lease.hand, given_up.epoch, why, task, losses)
    step = _as_asked(lease, given_up, "")
    if step is not None:
        return Step(step.lease, (fact, *step.facts))
    if losses >= MAX_LOSSES:
        ended = _ended(given_up, LeaseState.FAILED, KILLS_ITS_WORKER)
        return Step(ended.lease, (fact, *ended.facts))
    return Step(given_up, (fact,))


def released(lease: Lease, fence: RunFence, why: str, now: int, delay: int = 0) -> Step | None:
    """Return the lease after its holder has given it back. Nobody takes it before the delay, in milliseconds."""
    if not is_holder(lease, fence):
        return None
    after = replace(_without_owner(lease, now), not_before=now + delay if delay else 0)
    return _as_asked(lease, after, why) or _requeued(after, why)


def closed(
    lease: Lease, fence: RunFence, outcome: WorkOutcome, why: str, now: int, made: Published | None = None
) -> Step | None:
    """Return the lease after its holder has ended its work. What has ended so already stays as it is.

    `made` is what was published.
    """
    end = _ENDS.get(outcome)
    if lease.fence == fence and end is lease.state:
        return Step(lease)
    if not is_holder(lease, fence):
        return None
    if end is not None:
        return _ended(replace(lease, owner="", until=0, since=now), end, why, made)
    after = _without_owner(lease, now)
    match outcome:
        case WorkOutcome.RETRY:
            fails = lease.fails + 1
            after = replace(after, fails=fails, not_before=now + min(MAX_DELAY_MS, FIRST_DELAY_MS * 2**fails))
            return _as_asked(lease, after, why) or _requeued(after, why)
        case WorkOutcome.WAITING:
            # An answer may have arrived before the agent ended.
            asked = _as_asked(lease, after, why)
            return asked or (_given_back(after, LeaseState.WAITING, why) if lease.questions else _requeued(after, why))
        case WorkOutcome.REFUSED:
            after = replace(after, refused=lease.refused_also_by(lease.worker))
            return _as_asked(lease, after, why) or _requeued(after, why, lease.worker)
        case _:
            return _given_back(after, LeaseState.PAUSED, why)


def stop_requested(lease: Lease, ask: LeaseRequest, why: str, now: int) -> Step:
    """Return the lease after a person has asked for its end or rest: its holder is told, else it changes at once.

    One that has failed is given up if its end is asked for.
    """
    if lease.state is LeaseState.FAILED and ask.is_cancel:
        return _ended(replace(lease, since=now, epoch=lease.epoch + 1), LeaseState.CANCELLED, why)
    if not lease.state.is_active:
        return Step(lease)
    if lease.is_held:
        return Step(replace(lease, request=lease.request.joined_by(ask)))
    at_once = replace(lease, since=now)
    if ask.is_cancel:
        return _ended(replace(at_once, epoch=lease.epoch + 1), LeaseState.CANCELLED, why)
    if ask.is_pause and lease.state is not LeaseState.PAUSED:
        return _given_back(replace(at_once, epoch=lease.epoch + 1), LeaseState.PAUSED, why)
    return Step(lease)


def resumed(lease: Lease, now: int) -> Step:
    """Return the lease after a person has resumed or retried it. If it is held, the request for a pause is withdrawn.

    Raises Refused if it is done.
    """
    match lease.state:
        case LeaseState.DONE:
            raise Refused(f"run {lease.run} is done; to run its plan again, add a new run")
        case LeaseState.OPEN:
            return Step(replace(lease, request=LeaseRequest.NOTHING) if lease.request.is_pause else lease)
        case LeaseState.WAITING:
            return Step(lease)
        case LeaseState.PAUSED:
            return _waiting_again(lease, now) if lease.questions else _queued_again(lease, "resumed", now)
        case LeaseState.FAILED | LeaseState.CANCELLED:  # exhaustive
            return _queued_again(replace(lease, questions=()), RETRIED, now)


def without_delay(lease: Lease, now: int) -> Lease | None:
    """Return a queued lease without its delay; None if it has none, or has it because an agent has failed."""
    if not lease.is_queued or lease.not_before <= now or lease.fails:
        return None
    return replace(lease, not_before=0)


def asked(lease: Lease, fact: Asked) -> Step:
    """Return a held lease after its agent has asked a person."""
    others = (each for each in lease.questions if each != fact.question)
    return Step(replace(lease, questions=(*others, fact.question)), (fact,))


def answered(lease: Lease, question: str, text: str, who: str, now: int) -> Step | None:
    """Return the lease after an answer. When the last question is answered, a run that waits is queued again."""
    if question not in lease.questions:
        return None
    after = replace(lease, questions=tuple(each for each in lease.questions if each != question))
    fact = Answered(lease.run, lease.hand, question, text, who)
    if lease.state is not LeaseState.WAITING or after.questions:
        return Step(after, (fact,))
    step = _queued_again(after, "answered", now)
    return Step(step.lease, (fact, *step.facts))


def _without_owner(lease: Lease, now: int) -> Lease:
    return replace(lease, epoch=lease.epoch + 1, owner="", until=0, boot="", request=LeaseRequest.NOTHING, since=now)


def _as_asked(before: Lease, after: Lease, why: str) -> Step | None:
    """Return what a person had asked of the holder; None if the lease is to be queued again."""
    if before.request.is_cancel:
        return _ended(after, LeaseState.CANCELLED, why or "cancelled")
    if before.request.is_pause:
        return _given_back(after, LeaseState.PAUSED, why or "paused")
    return None


def _requeued(after: Lease, why: str, refused_by: str = "") -> Step:
    return _given_back(replace(after, attempt=after.attempt + 1), LeaseState.OPEN, why, refused_by)


def _given_back(after: Lease, state: LeaseState, why: str, refused_by: str = "") -> Step:
    fact = RunReleased(after.run, after.hand, after.epoch, state, why, after.fails, after.not_before, refused_by)
    return Step(replace(after, state=state), (fact,))


def _ended(after: Lease, state: LeaseState, why: str, made: Published | None = None) -> Step:
    after = replace(after, state=state, questions=(), request=LeaseRequest.NOTHING, not_before=0)
    published = (made.commit, made.base, made.files, made.added, made.removed) if made else ()
    return Step(after, (RunEnded(after.run, after.hand, after.epoch, state, why, after.fails, *published),))


def _waiting_again(lease: Lease, now: int) -> Step:
    return _given_back(replace(lease, epoch=lease.epoch + 1, since=now), LeaseState.WAITING, "resumed")


def _queued_again(lease: Lease, why: str, now: int) -> Step:
    after = replace(
        lease,
        state=LeaseState.OPEN,
        epoch=lease.epoch + 1,
        attempt=lease.attempt + 1,
        fails=0,
        losses=0,
        task=0,
        refused=(),
        not_before=0,
        since=now,
    )
    return Step(after, (RunQueued(lease.run, lease.hand, after.epoch, after.attempt, lease.work, why),))


def leases_in(session: str, events: Iterable[Event]) -> list[Lease]:
    """Return the leases that events lead to, by run and hand.

    The events are those of all branches, in the order they were written: undoing a change does not undo a run.
    """
    leases: dict[tuple[str, int], Lease] = {}
    for event in events:
        fact = event.fact
        if not isinstance(fact, RunQueued | RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered):
            continue
        # Whoever can write to a log can put anything into it, too: what breaks the rules of leases did not happen.
        with suppress(UsageError, TypeError):
            lease = leases.get((fact.run, fact.hand))
            if isinstance(fact, RunQueued):
                lease = lease or Lease(fact.run, fact.hand, session, made=event.at)
                leases[fact.run, fact.hand] = _queued(lease, fact, event.at)
            elif lease is not None:
                leases[fact.run, fact.hand] = _after(lease, fact, event.at)
    return [leases[key] for key in sorted(leases)]


def _queued(lease: Lease, fact: RunQueued, at: int) -> Lease:
    return replace(
        lease,
        work=fact.work,
        state=LeaseState.OPEN,
        epoch=fact.epoch,
        attempt=fact.attempt,
        owner="",
        not_before=fact.not_before,
        fails=0,
        losses=0,
        task=0,
        refused=(),
        questions=() if fact.why == RETRIED else lease.questions,
        since=at,
    )


def _after(lease: Lease, fact: RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered, at: int) -> Lease:
    match fact:
        case RunTaken(epoch=epoch, owner=owner):
            return replace(lease, epoch=epoch, owner=owner, since=at)
        case RunLost(epoch=epoch, task=task, losses=losses):
            attempt = lease.attempt + 1
            return replace(lease, epoch=epoch, attempt=attempt, owner="", task=task, losses=losses, since=at)
        case RunReleased(epoch=epoch, state=state, fails=fails, not_before=not_before, refused_by=worker):
            attempt = lease.attempt + (state is LeaseState.OPEN)
            released = replace(lease, epoch=epoch, state=state, attempt=attempt, owner="", fails=fails, since=at)
            return replace(released, not_before=not_before, refused=lease.refused_also_by(worker))
        case RunEnded(epoch=epoch, state=state, fails=fails):
            ended = replace(lease, epoch=epoch, state=state, owner="", questions=(), fails=fails, since=at)
            return replace(ended, not_before=0)
        case Asked(question=question):
            return replace(lease, questions=(*(each for each in lease.questions if each != question), question))
        case Answered(question=question):  # exhaustive
            return replace(lease, questions=tuple(each for each in lease.questions if each != question))
