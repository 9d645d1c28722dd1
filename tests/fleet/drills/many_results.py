"""What became of many plans: tasks lost or done twice, limits that were not held, and how long answers took to arrive.

All of it follows from the logs of the plans, from the marks of the commands, and from the requests that the model got.
None of it is a sample: each take and each end of a lease is in a log, with its time.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from tests.fleet.drills.many_plans import TASKS, ManyPlan, Needs
from tests.fleet.drills.many_workers import SLOTS, ManyFleet
from tests.fleet.drills.outcome import completions
from tildone.fleet.git import Git
from tildone.log.settings import BURST_PART, MINUTE_MS, ProviderLimit
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Status
from tildone.plan.runs import Answered, Lease, LeaseState, RunEnded, RunLost, RunReleased, RunTaken, Work, worker_of

FILES = {"file", *(f"made-{task}" for task in range(1, TASKS + 1))}


@dataclass
class ManyResults:
    """The results of a fleet. `faults` is what went wrong; `peaks` are the most that a limit had at any moment."""

    plans: int
    seconds: float
    lost: int = 0
    twice: int = 0
    """Tasks that were completed twice in the log, or whose command was begun or ended twice."""

    asked: int = 0
    delays: tuple[float, ...] = ()
    """Seconds from an answer to the beginning of what it approves."""

    def __post_init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self.faults: list[str] = []

    def __str__(self) -> str:
        waits = f"{min(self.delays):.2f} – {median(self.delays):.2f} – {max(self.delays):.2f} s" if self.delays else ""
        peaks = ", ".join(f"{name} {peak}" for name, peak in sorted(self.peaks.items()))
        return (
            f"{self.plans} plans, {self.plans * TASKS} tasks in {self.seconds:.0f} s: lost {self.lost}, "
            f"twice {self.twice}; at most: {peaks}; {self.asked} approved, going on after {waits}"
            + "".join(f"\n  {fault}" for fault in self.faults)
        )


def results_of(fleet: ManyFleet) -> ManyResults:
    """Return what became of the plans of a fleet whose runs have ended."""
    found = ManyResults(len(fleet.plans), fleet.seconds)
    leases = {lease.run: lease for lease in (view.lease for view in fleet.leases.look()) if lease.run in fleet.runs}
    events = {run: list(fleet.store.events(lease.session)) for run, lease in leases.items()}
    for run, plan in fleet.runs.items():
        _count_tasks(found, fleet, plan, leases[run], events[run])
    check_commands(found, fleet)
    check_holders(found, fleet, leases, events)
    _check_requests(found, fleet, events)
    check_answers(found, fleet, events)
    return found


def _count_tasks(found: ManyResults, fleet: ManyFleet, plan: ManyPlan, lease: Lease, events: list[Event]) -> None:
    states = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
    done = sum(task.status is Status.COMPLETED for task in states[-1].tasks)
    found.lost += TASKS - done
    found.twice += sum(count > 1 for count in completions(states).values())
    if lease.state is not LeaseState.DONE or done != TASKS:
        found.faults.append(f"run {lease.run} is {lease.state.value}: {events[-1].fact}")
    if plan.needs is Needs.REPOSITORY:
        git = Git(str(plan.repository(fleet.repositories)))
        files = set(git.run("ls-tree", "--name-only", f"tildone/{lease.run}").splitlines())
        if files != FILES:
            found.faults.append(f"the branch of {lease.run} has {sorted(files)}")


def check_commands(found: ManyResults, fleet: ManyFleet) -> None:
    """Check that the command of each task has run once, and in a repository only for one run at a time."""
    marks = fleet.marks()
    counts = Counter((what, plan, task) for what, plan, task, _ in marks)
    expected = [
        (what, plan.number, task) for plan in fleet.plans for task in range(1, TASKS + 1) for what in ("begin", "end")
    ]
    found.twice += sum(count > 1 for (what, _, _), count in counts.items() if what == "begin")
    found.faults += [f"{mark} was noted {counts[mark]} times" for mark in expected if counts[mark] != 1]
    working: dict[object, int] = {}
    for what, number, _, _ in marks:
        plan = fleet.plans[number]
        if plan.needs is Needs.REPOSITORY:
            other = working.setdefault(plan.repository(fleet.repositories), number)
            if other != number:
                found.faults.append(f"plans {other} and {number} were worked on in one repository at the same time")
            if what == "end":
                del working[plan.repository(fleet.repositories)]


def check_holders(
    found: ManyResults, fleet: ManyFleet, leases: dict[str, Lease], events: dict[str, list[Event]]
) -> None:
    """Check from the logs who had what at every moment."""
    steps: list[tuple[int, int, str]] = []
    limits: dict[str, int] = {}
    for run, lease in leases.items():
        keys: list[str] = []
        for event in events[run]:
            match event.fact:
                case RunTaken(owner=owner):
                    if lease.work.labels and owner.split("/")[1] not in fleet.labelled:
                        found.faults.append(f"{owner} has taken {run} without the label")
                    used = _used(lease.work, owner, fleet.limits)
                    limits |= used
                    keys = list(used)
                    steps += [(event.at, 1, key) for key in keys]
                case RunEnded() | RunReleased() | RunLost():
                    steps += [(event.at, -1, key) for key in keys]
                    keys = []
    held: Counter[str] = Counter()
    for _, change, key in sorted(steps):
        held[key] += change
        kind = key if key.startswith("runs") else key.split(" ")[0]
        found.peaks[kind] = max(held[key], found.peaks.get(kind, 0))
        if held[key] > limits[key]:
            found.faults.append(f"{key}: {held[key]}, which is more than {limits[key]}")
    found.faults += [f"{key} were held to the end" for key, count in held.items() if count]


def _used(work: Work, owner: str, limits: Iterable[ProviderLimit]) -> dict[str, int]:
    """Return what a run of an owner uses that is limited, each with its limit."""
    runs = {f"runs of {limit.provider}": limit.runs for limit in limits if limit.provider == work.provider}
    return {f"slots of {worker_of(owner)}": SLOTS} | ({f"repository {work.repo}": 1} if work.repo else {}) | runs


def _check_requests(found: ManyResults, fleet: ManyFleet, events: dict[str, list[Event]]) -> None:
    for limit in fleet.limits:
        noted = [each for each in fleet.model.noted if each.provider == limit.provider]
        if not noted:
            continue
        spans = []
        for run, plan in fleet.runs.items():
            taken = next((event.at for event in events[run] if isinstance(event.fact, RunTaken)), 0)
            times = [each.at for each in noted if each.plan == plan.number]
            # It was taken from the rate after the request before it, which is as much as can be known from here.
            spans += list(zip([taken, *times], times, strict=False))
        arrived = sorted(each.at for each in noted)
        peak = max((sum(at <= other < at + MINUTE_MS for other in arrived) for at in arrived), default=0)
        found.peaks[f"requests a minute to {limit.provider}"] = peak
        if over := over_rate(spans, limit):
            found.faults.append(f"{limit.provider} got {over[0]} requests in {over[1] / 1000:.1f} s")


def over_rate(spans: list[tuple[int, int]], limit: ProviderLimit) -> tuple[int, int] | None:
    """Return how many requests were sent in how many milliseconds, if that is more than the limit permits.

    A span is the time within which a request was taken from the rate. A part of the requests of a minute may be sent at
    once, the others at equal intervals.
    """
    at_once = max(1, limit.requests // BURST_PART)
    for begin in {begin for begin, _ in spans}:
        ends = sorted(end for first, end in spans if first >= begin)
        for count, end in enumerate(ends, 1):
            permitted = at_once + (end - begin) * limit.requests / MINUTE_MS
            if count > (min(permitted, limit.requests) if end - begin <= MINUTE_MS else permitted):
                return count, end - begin
    return None


def check_answers(found: ManyResults, fleet: ManyFleet, events: dict[str, list[Event]]) -> None:
    """Check that what a person has to approve has begun after the answer, and note how long that took."""
    begun = {(plan, task): at for what, plan, task, at in fleet.marks() if what == "begin"}
    answers: dict[int, int] = {}
    for question, run in fleet.answered.items():
        need = fleet.store.records.need(question)
        logged = (
            event for event in events[run] if isinstance(event.fact, Answered) and event.fact.question == question
        )
        answers[fleet.runs[run].number] = need.answered_at if need else next(logged).at
    delays = []
    for plan in fleet.plans:
        if not plan.asked:
            continue
        began = begun.get((plan.number, plan.asked), 0)
        if plan.number not in answers or began < answers[plan.number]:
            found.faults.append(f"task {plan.asked} of plan {plan.number} has not waited for a person")
        else:
            delays.append((began - answers[plan.number]) / 1000)
    found.asked, found.delays = len(answers), tuple(sorted(delays))
    if set(answers) != {plan.number for plan in fleet.plans if plan.asked}:
        found.faults.append("other runs have asked")
