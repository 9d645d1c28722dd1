"""Runs: their leases (what is to be run, who runs it, until when, and the fence that follows), and facts about them.

Theory of operation. A run works through one plan; each of its hands has a lease, a row of a table. A lease that nobody
owns is queued. A worker that takes it becomes its owner until a time that it moves on with each renewal. Whoever finds
a lease that has lapsed takes it from its owner. Each take, loss and release gives the lease the next epoch; epochs only
grow. What a worker starts knows the run, the hand and the epoch (`RunFence`), and every change that it makes is refused
in the transaction that would make it once the lease has another epoch or is no longer open. So a worker that was
stopped, suspended or cut off, and goes on where it was, changes nothing.

The log of a plan records the facts about its runs, from which the leases can be rebuilt; renewals are not recorded. The
`epoch` of a fact is that of the lease after it: what happens under a lower one is refused. In the JSON data of a fact,
keys that have an empty value are omitted. The data is part of that of its event, so no field may have the name of a
field of events, such as `id`.
"""

from __future__ import annotations

from enum import Enum

from tildone.base import MAX_DIGITS, TYPE_CHECKING, UsageError, shortened, value
from tildone.plan.names import (
    LATEST_MS,
    MAX_COUNT,
    MAX_HANDS,
    MAX_LABELS,
    MAX_PRIORITY,
    check_name,
    check_number,
    check_repository,
    check_session,
    check_text,
    is_revision,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Json = dict[str, Any]


LEASE_VARIABLE = "TILDONE_LEASE"
"""The environment variable with the lease of the processes that a worker starts: `run/hand/epoch`."""

ASK_VARIABLE = "TILDONE_FLEET_ASK"
"""The environment variable with the patterns of the commands for which the agent of a worker may ask persons."""

MAX_REFUSALS = 100
"""How many workers that refused a run are remembered."""

MAX_REFUSED = 1000
"""How much of what was refused is recorded."""

TRANSCRIPT_VARIABLE = "TILDONE_TRANSCRIPT"
"""The environment variable with the file in which hooks note where the transcript of an agent of a worker is."""

CHECKPOINT_VARIABLE = "TILDONE_CHECKPOINTS"
"""The environment variable that tells the agent of a worker that its files are kept after each task."""

PROTOCOL = 2
"""The version of what leases mean. A worker takes only leases of its own version or an older one."""


class LeaseState(Enum):
    """The state of a run's hand. OPEN is queued or held; WAITING waits for an answer, PAUSED for a person."""

    OPEN = "open"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended. A plan has one active run at most."""
        return self in ACTIVE


ACTIVE = (LeaseState.OPEN, LeaseState.WAITING, LeaseState.PAUSED)


class LeaseRequest(Enum):
    """What a person asks of the holder of a lease, or of a worker. A later member outweighs an earlier one.

    It is done when the next task is done; PAUSE_NOW and CANCEL_NOW at once, in the middle of a task.
    """

    NOTHING = ""
    DRAIN = "drain"
    PAUSE = "pause"
    PAUSE_NOW = "pause now"
    CANCEL = "cancel"
    CANCEL_NOW = "cancel now"

    @property
    def is_pause(self) -> bool:
        return self in (LeaseRequest.PAUSE, LeaseRequest.PAUSE_NOW)

    @property
    def is_cancel(self) -> bool:
        return self in (LeaseRequest.CANCEL, LeaseRequest.CANCEL_NOW)

    @property
    def now(self) -> LeaseRequest:
        return {LeaseRequest.PAUSE: LeaseRequest.PAUSE_NOW, LeaseRequest.CANCEL: LeaseRequest.CANCEL_NOW}.get(
            self, self
        )

    def joined_by(self, other: LeaseRequest) -> LeaseRequest:
        """Return what is asked when something else is asked, too: the stronger, at once if one of both is."""
        stronger = max(self, other, key=list(LeaseRequest).index)
        return stronger.now if self in _AT_ONCE or other in _AT_ONCE else stronger


_AT_ONCE = (LeaseRequest.PAUSE_NOW, LeaseRequest.CANCEL_NOW)


class WorkOutcome(Enum):
    """How a holder ends its work.

    RETRY is an attempt that failed and may be repeated, after a while. REFUSED is one that the worker does not permit:
    it does not take the run again, but others may.
    """

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    PAUSED = "paused"
    RETRY = "retry"
    REFUSED = "refused"


@value
class Work:
    """What is to be run, and where. It contains no secrets.

    `repo` is a path or a URL, `ref` what to check out. `labels` must all be labels of the worker. Of two leases, the
    one with the lower `priority` is taken first. `allow` can only narrow what the worker itself permits.
    """

    repo: str = ""
    provider: str = ""
    labels: tuple[str, ...] = ()
    priority: int = 0
    agent: str = ""
    model: str = ""
    allow: tuple[str, ...] = ()
    ref: str = ""
    protocol: int = PROTOCOL

    def fits(self, labels: Collection[str]) -> bool:
        return set(self.labels) <= set(labels)


@value
class NewRun:
    """A run to be queued: a plan, by the name of its session, and how many hands work on it at once."""

    run: str
    session: str
    work: Work = Work()
    hands: int = 1
    not_before: int = 0
    title: str = ""


@value
class Lease:
    """The lease of one hand of a run.

    `attempt` is the number of the try that counts. `owner` is empty unless the lease is held. `until` is the end of the
    lease by the clock of the store, in milliseconds; `boot` identifies what that clock counts from, where it does not
    count from 1970. `made`, `since` (when the lease got its state) and `not_before` are in milliseconds since 1970.
    `fails` are the attempts that failed, `losses` those that were lost while `task` was the task to work on.
    `questions` are the ids of the questions that nobody has answered. `refused` are the ids of the workers that do not
    permit the run.

    A value that is not allowed (`tildone.plan.names`), such as a name that leads out of a folder, raises `UsageError`.
    """

    run: str
    hand: int
    session: str
    work: Work = Work()
    state: LeaseState = LeaseState.OPEN
    epoch: int = 0
    attempt: int = 1
    owner: str = ""
    until: int = 0
    boot: str = ""
    request: LeaseRequest = LeaseRequest.NOTHING
    not_before: int = 0
    fails: int = 0
    losses: int = 0
    task: int = 0
    questions: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    made: int = 0
    since: int = 0

    def __check__(self) -> None:
        check_name("the name of a run", self.run)
        check_number("the hand of a run", self.hand, MAX_HANDS - 1)
        check_session(self.session)
        check_work(self.work)
        for name in ("epoch", "attempt", "fails", "losses", "task"):
            check_number(f"`{name}` of a run", getattr(self, name), MAX_COUNT)
        for name in ("until", "not_before", "made", "since"):
            check_number(f"`{name}` of a run", getattr(self, name), LATEST_MS)
        for text in (self.owner, self.boot, *self.questions, *self.refused):
            check_text(text)

    @property
    def is_held(self) -> bool:
        return bool(self.owner)

    @property
    def is_queued(self) -> bool:
        return self.state is LeaseState.OPEN and not self.owner

    @property
    def worker(self) -> str:
        return worker_of(self.owner)

    @property
    def fence(self) -> RunFence:
        return RunFence(self.run, self.hand, self.epoch)

    def refused_also_by(self, worker: str) -> tuple[str, ...]:
        """Return the workers that have refused it, the newest last, after this one has, too, if one is named."""
        others = tuple(each for each in self.refused if each != worker)
        return (*others, worker)[-MAX_REFUSALS:] if worker else others


@value
class RunFence:
    """The lease under which a process works. `str` is its form in the environment."""

    run: str
    hand: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.run}/{self.hand}/{self.epoch}"


@value
class Claimer:
    """A worker that asks for work: its id (`host/pid/nonce`), its labels, the protocol that it knows, its version."""

    worker: str
    labels: tuple[str, ...] = ()
    protocol: int = PROTOCOL
    version: str = ""


@value
class Renewed:
    fence: RunFence
    request: LeaseRequest


def checked_run(new: NewRun) -> NewRun:
    """Return a new run if it can be queued; else raise `UsageError`, which says why not."""
    check_name("the name of a run", new.run)
    if not 1 <= new.hands <= MAX_HANDS:
        raise UsageError(f"a run has 1 to {MAX_HANDS} hands, not {new.hands}")
    check_session(new.session)
    check_work(new.work)
    return new


def check_work(work: Work) -> None:
    """Raise `UsageError` if a text has a password or what is not printable, or is no repository or ref; or too many."""
    if len(work.labels) > MAX_LABELS or len(work.allow) > MAX_LABELS:
        raise UsageError(f"a run has at most {MAX_LABELS} labels, and as many patterns that it allows")
    for text in (work.repo, work.provider, work.agent, work.model, work.ref, *work.labels, *work.allow):
        check_text(text)
    if work.model.startswith("-"):
        # Programs of agents would take it for an option.
        raise UsageError(f"no model is called {shortened(work.model)!r}")
    check_number("the priority of a run", work.priority, MAX_PRIORITY, least=-MAX_PRIORITY)
    check_number("the protocol of a run", work.protocol, MAX_PRIORITY)
    check_repository(work.repo)
    if work.ref and not is_revision(work.ref):
        raise UsageError(f"{shortened(work.ref)!r} cannot be a branch, a tag or a commit")


def worker_of(owner: str) -> str:
    """Return the id of the worker of an owner, which is that id, a slash, and the name of one of its executions."""
    return owner.rpartition("/")[0]


def fence_in(text: str) -> RunFence:
    """Return the fence of a text `run/hand/epoch`; raise `UsageError` if it has another form."""
    run, _, rest = text.partition("/")
    hand, _, epoch = rest.partition("/")
    if not run or not _is_number(hand) or not _is_number(epoch):
        raise UsageError(f"${LEASE_VARIABLE} is {shortened(text)!r}, which is not of the form run/hand/epoch")
    return RunFence(run, int(hand), int(epoch))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


ADDED, RETRIED = "added", "retried"
OTHERS_HAVE_IT = "other hands have the rest"
"""Why the work of a hand ends that has nothing left to do."""


@value
class RunQueued:
    """A run waits for a worker. `why` is `added`, `retried`, `resumed` or `answered`; `title` is that of its plan."""

    run: str
    hand: int
    epoch: int
    attempt: int
    work: Work
    why: str = ADDED
    not_before: int = 0
    title: str = ""


@value
class RunTaken:
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
    """The run has no worker any more, but has not ended. `refused_by` is the worker's id if that does not permit it."""

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str
    fails: int = 0
    not_before: int = 0
    refused_by: str = ""


@value
class Published:
    """The commit of a run's branch, and what it has changed since `base`, where it left the others.

    `added` and `removed` are lines.
    """

    commit: str
    base: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0


@value
class RunEnded:
    """A run has ended. `commit` and what follows are those of what was published, if it has a branch."""

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str = ""
    fails: int = 0
    commit: str = ""
    base: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0


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


@value
class CommandRefused:
    """What a model wanted to do was refused: by the person who was asked (`by`), or by a program. `text` says what."""

    run: str
    hand: int
    text: str
    why: str = ""
    by: str = ""


@value
class AgentEnded:
    """An agent has ended that tells what it has used. Its name and what it has used are those of the event."""

    run: str
    hand: int


RunFact = (
    RunQueued | RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered | Kept | CommandRefused | AgentEnded
)

_KINDS: dict[str, type[RunFact]] = {
    "run_queued": RunQueued,
    "run_taken": RunTaken,
    "run_lost": RunLost,
    "run_released": RunReleased,
    "run_ended": RunEnded,
    "asked": Asked,
    "answered": Answered,
    "kept": Kept,
    "command_refused": CommandRefused,
    "agent_ended": AgentEnded,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_EMPTY = ("", 0, ())
_NUMBERS = frozenset({"hand", "epoch", "attempt", "task", "losses", "fails", "not_before", "files", "added", "removed"})


def is_of(fact: RunFact, lease: Lease) -> bool:
    return (fact.run, fact.hand) == (lease.run, lease.hand)


def fact_name(fact: RunFact) -> str:
    return _NAMES[type(fact)]


_KEYS = {"by": "denied_by"}
"""Names of fields in JSON, where they differ: events have a field `by`."""


def fact_to_json(fact: RunFact) -> Json:
    fields = {_KEYS.get(name, name): getattr(fact, name) for name in type(fact).__match_args__}
    if "work" in fields:
        fields["work"] = work_to_json(fields["work"])
    if "state" in fields:
        fields["state"] = fields["state"].value
    return {name: field for name, field in fields.items() if field not in _EMPTY}


def fact_from_json(data: Json) -> RunFact:
    """Return the fact in an event's data; `ValueError` if it is none, `KeyError` or `TypeError` if it is damaged."""
    kind = _KINDS.get(data["fact"])
    if kind is None:
        raise ValueError(data["fact"])
    names: tuple[str, ...] = kind.__match_args__
    fields = {name: data[key] for name in names if (key := _KEYS.get(name, name)) in data}
    # What was omitted because it is empty has no default in some records.
    missing = {name: 0 if name in _NUMBERS else "" for name in names if name not in fields}
    if "work" in names:
        fields["work"] = work_from_json(data.get("work", {}))
    if "state" in names:
        fields["state"] = LeaseState(data["state"])
    return kind(**missing | fields)


def work_to_json(work: Work) -> Json:
    empty = Work()
    return {name: field for name in Work.__match_args__ if (field := getattr(work, name)) != getattr(empty, name)}


def work_from_json(data: Json) -> Work:
    """Return the work in data that `work_to_json` made; what is not known is ignored."""
    fields: Json = {name: data[name] for name in Work.__match_args__ if name in data}
    lists = {name: tuple(map(str, each)) for name, each in fields.items() if isinstance(each, list)}
    return Work(**fields | lists)
