"""What a worker permits: its agents, and the commands of its own list, which a run can only narrow.

What the list lacks is asked for in the log. A person approves one command of one run, by `tildone fleet approve`; it is
then permitted as if the list had it, for this run only. Approvals are rows of the store, and whoever can write to it
can forge them. So they count only for commands that the settings of the worker itself name: those of its list, and
those for which persons may be asked (`--ask`). Nothing else in a run or its lease adds to what a worker permits.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from threading import Lock

from tildone.app.answering import NO, YES, is_denial
from tildone.app.check_runner import MAX_SECONDS
from tildone.app.trust import Approvals
from tildone.base import value
from tildone.base.ids import now
from tildone.fleet.drivers import SHELL
from tildone.plan.command_line import split_command
from tildone.plan.events import Event
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Check, Plan, Status, Task, open_tasks
from tildone.plan.runs import (
    ADDED,
    RETRIED,
    Answered,
    Asked,
    Claimer,
    CommandRefused,
    Lease,
    LeaseState,
    RunFence,
    RunQueued,
    Work,
)
from tildone.plan.text.proofs import check_text
from tildone.run.shell_model import commands_of
from tildone.stores.agents import digest
from tildone.stores.leasing import RunLeases

COMMAND, CHECK = "command", "check"
ID_CHARACTERS = 10


@value
class Denial:
    """What a person has denied to a run, and why, if they said it."""

    text: str
    by: str = ""
    why: str = ""


def answers_to(events: Iterable[Event], run: str) -> dict[str, str]:
    """Return the texts of the answers to what a run has asked for, by command."""
    return {command: answer.text for command, answer in answered(events, run).items()}


def answered(events: Iterable[Event], run: str) -> dict[str, Answered]:
    """Return the answers to what a run has asked for, by command. Denials end when a person retries the run."""
    asked: dict[str, str] = {}
    answers: dict[str, Answered] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, RunQueued) and fact.run == run and fact.why == RETRIED:
            answers = {command: answer for command, answer in answers.items() if answer.text == YES}
        elif isinstance(fact, Asked) and fact.run == run and fact.kind in (COMMAND, CHECK):
            asked[fact.question] = fact.text
        elif isinstance(fact, Answered) and fact.run == run and fact.question in asked:
            answers[asked[fact.question]] = fact
    return answers


def denials(newest_first: Iterable[Event], run: str) -> list[Denial]:
    """Return what persons have denied to a run since it was added or retried, the oldest first."""
    denied, found = dict[str, Answered](), list[Denial]()
    for event in newest_first:
        fact = event.fact
        if isinstance(fact, RunQueued) and fact.run == run and fact.why in (ADDED, RETRIED):
            break
        if isinstance(fact, Answered) and fact.run == run and (fact.text == NO or is_denial(fact.text)):
            denied[fact.question] = fact
        elif isinstance(fact, Asked) and fact.run == run and fact.kind in (COMMAND, CHECK):
            answer = denied.pop(fact.question, None)
            found += [Denial(fact.text, answer.who, answer.text.partition(":")[2].strip())] if answer else []
        elif isinstance(fact, CommandRefused) and fact.run == run and fact.by:
            found.append(Denial(fact.text, fact.by, fact.why))
    return found[::-1]


def approved_patterns(answers: Mapping[str, str], own: Sequence[str]) -> tuple[str, ...]:
    """Return patterns that match the commands that were approved, and nothing else.

    Only commands that a pattern of the worker's `own` matches count.
    """
    approved = (command for command, answer in answers.items() if answer == YES)
    return tuple(escape(command) for command in approved if matches_any(command, own))


def waiting_checks(plan: Plan, allow: Sequence[str], answers: Mapping[str, str]) -> list[Check]:
    """Return the checks for which tasks are blocked, which are not permitted, and which no person has denied."""
    checks = [task.check for task in plan.tasks if task.status is Status.BLOCKED and task.check is not None]
    return _not_decided(checks, allow, answers)


def _not_decided(checks: Iterable[Check], allow: Sequence[str], answers: Mapping[str, str]) -> list[Check]:
    # Approvals of a person on this machine count where that person works, not on a worker.
    approvals = Approvals("", "", allow)
    undecided = (check for check in checks if not approvals.is_allowed(check))
    return [check for check in undecided if answers.get(check_text(check), YES) == YES]


def matches_any(command: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(command, pattern) for pattern in patterns)


def permitted_blocked(plan: Plan, allow: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the tasks that are blocked although their checks are permitted by now."""
    approvals = Approvals("", "", allow)
    blocked = (task for task in plan.tasks if task.status is Status.BLOCKED and task.check is not None)
    return tuple(task.number for task in blocked if task.check and approvals.is_allowed(task.check))


class RunAsker:
    """Asks persons for what the agent of a lease may not run by itself; `hands` are those of its run."""

    def __init__(self, leases: RunLeases, held: RunFence, new_id: Callable[[], str], hands: Iterable[Lease]) -> None:
        self._leases, self._held, self._new_id = leases, held, new_id
        self._asked = {question for lease in hands if lease.hand == held.hand for question in lease.questions}

    def ask(self, kind: str, text: str) -> str:
        """Ask for a command or a check, once, and return the id of the question.

        Raises RunFenced if the lease has passed to another worker.
        """
        held = self._held
        # What several hands ask for is one question.
        question = digest(f"{held.run} {kind} {text}")[:ID_CHARACTERS]
        if question not in self._asked:
            self._asked.add(question)
            self._leases.append(held, Asked(held.run, held.hand, question, kind, text), self._new_id())
        return question


NOT_PERMITTED = "not permitted here"
SEEN_MS = 120_000
"""A worker that was not seen for longer takes nothing."""

_BUILTINS = frozenset(
    [
        ":",
        ".",
        "alias",
        "cd",
        "command",
        "eval",
        "exec",
        "exit",
        "export",
        "hash",
        "read",
        "set",
        "type",
        "umask",
        "unset",
    ]
)
"""Commands of a POSIX shell that are not programs of their own."""


def why_not_permitted(work: Work, agents: Collection[str], allow: Sequence[str]) -> str:
    if work.agent not in agents:
        return f"{NOT_PERMITTED}: the agent {work.agent!r}"
    if work.allow and not permitted(allow, work.allow):
        return f"{NOT_PERMITTED}: the commands that the run allows"
    return ""


def refused_commands(work: Work, plan: Plan, allow: Sequence[str], answers: Mapping[str, str]) -> list[str]:
    """Return the commands for which a shell agent would have to ask a person, without those that were denied."""
    if work.agent != SHELL:
        return []
    checks = [check for _, task in open_tasks(plan) for check in checks_of(task)]
    checks += [plan.check] if plan.check is not None else []
    return [check_text(check) for check in _not_decided(checks, allow, answers)]


def why_refused(commands: Sequence[str]) -> str:
    return f"{NOT_PERMITTED}: the command {commands[0]}"


def others_may_permit(lease: Lease, workers: Iterable[WorkerInfo], now: int) -> bool:
    """Return whether another worker could take a run that has not refused it."""
    return any(
        worker.id not in (lease.worker, *lease.refused)
        and worker.slots
        and lease.work.fits(worker.labels)
        and now - worker.seen < SEEN_MS
        for worker in workers
    )


def could_take(lease: Lease, who: Claimer, now: int) -> bool:
    """Return whether a worker could take a run, now or later: one that is queued, or that another worker may lose.

    One that was never begun and may not begin yet is not meant.
    """
    return (
        lease.state is LeaseState.OPEN
        and lease.work.protocol <= who.protocol
        and lease.work.fits(who.labels)
        and who.worker not in lease.refused
        and (lease.epoch > 0 or lease.not_before <= now)
    )


def permitted(own: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of commands that both a worker and a run allow.

    A run without any allows what its worker does. A pattern of the run counts only if every command that it matches is
    sure to be allowed by the worker.
    """
    if not asked:
        return tuple(own)

    def covers(wide: str, narrow: str) -> bool:
        # With no other wildcard than `*`, only a `*` can have matched the wildcards of the other pattern.
        has_only_stars = not any(mark in wide for mark in "?[") and "[" not in narrow
        return wide == narrow or (has_only_stars and fnmatchcase(narrow, wide))

    return tuple(pattern for pattern in asked if any(covers(mine, pattern) for mine in own))


def checks_of(task: Task) -> tuple[Check, ...]:
    """Return what is run for a task: its check, else the commands in its text."""
    return (task.check,) if task.check is not None else tuple(map(as_check, commands_of(task)))


def as_check(command: str) -> Check:
    """Return a command as a check. One that needs a shell is given to one."""
    try:
        words = split_command(command)
    except ValueError:
        words = ()
    if not words or words[0] in _BUILTINS:
        words = ("sh", "-c", command)
    return Check(words, seconds=int(MAX_SECONDS))


class LeftRuns:
    """The runs that a worker has left to others. It takes them itself when no other worker does."""

    def __init__(self, leases: RunLeases, worker: str, clock: Callable[[], int] = now) -> None:
        self._leases, self._worker, self._clock = leases, worker, clock
        self._lock = Lock()
        self._left: set[tuple[str, int]] = set()

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._left.add((lease.run, lease.hand))

    def __contains__(self, lease: Lease) -> bool:
        with self._lock:
            return (lease.run, lease.hand) in self._left

    def look(self) -> None:
        """Let this worker take what all others have refused, or what nobody else is left for.

        Raises StoreError if the store cannot be read or written to.
        """
        with self._lock:
            left = set(self._left)
        if not left:
            return
        workers, now_ms = self._leases.workers(), self._clock()
        refused = {(lease.run, lease.hand): lease for lease in self._leases.active() if self._worker in lease.refused}
        for key in left:
            lease = refused.get(key)
            if lease is None or (lease.is_queued and not others_may_permit(lease, workers, now_ms)):
                if lease is not None:
                    self._leases.reconsider(lease.run, lease.hand, self._worker)
                with self._lock:
                    self._left.discard(key)
