"""What became of the tasks of a drill, counted from the log and from the marks of its agents."""

from collections import Counter
from dataclasses import astuple, dataclass
from statistics import median

from tests.fleet.drills.harness import Drill
from tests.fleet.drills.marks import Mark
from tildone.plan.events import PlanChanged
from tildone.plan.model import Plan, Status
from tildone.plan.runs import Lease, LeaseState, RunLost


@dataclass(frozen=True)
class Outcome:
    """Tasks that were lost or completed twice in the plan, runs that are stuck, and commands that were repeated.

    `overlap` are the marks of an epoch after one of a later epoch of the same run; `late` are those that a command made
    where its machine was suspended: such a command runs on until its supervisor or its agent is awake. `times` are the
    seconds from the fault to the first command of the next agent, unless a drill measures something else.
    """

    tasks: int = 0
    lost: int = 0
    twice: int = 0
    stuck: int = 0
    overlap: int = 0
    late: int = 0
    begun_twice: int = 0
    ended_twice: int = 0
    times: tuple[float, ...] = ()

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.twice or self.stuck or self.overlap)

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return (
            f"lost {self.lost}, twice in the plan {self.twice}, stuck {self.stuck}, overlap {self.overlap}, "
            f"begun twice {self.begun_twice}, ended twice {self.ended_twice} of {self.tasks}, times {self.range}"
        )

    @property
    def range(self) -> str:
        """The times: how many, the least, the median and the greatest."""
        if not self.times:
            return "none"
        return f"{len(self.times)}: {min(self.times):.1f} – {median(self.times):.1f} – {max(self.times):.1f}"


def outcome_of(drill: Drill, *, is_suspended: bool = False) -> Outcome:
    """Count what became of the tasks of all runs that were not cancelled."""
    leases = [lease for lease in drill.all_leases() if lease.state is not LeaseState.CANCELLED]
    facts = [[event.fact for event in drill.store.events(lease.session)] for lease in leases]
    plans = [[fact.plan for fact in each if isinstance(fact, PlanChanged)] for each in facts]
    marks = drill.marks()
    late = _overlapping(marks)
    by_commands = [mark for mark in late if mark.what in ("tick", "end")] if is_suspended else []
    return Outcome(
        tasks=sum(len(each[-1].tasks) for each in plans),
        lost=sum(task.status is not Status.COMPLETED for each in plans for task in each[-1].tasks),
        twice=sum(count > 1 for each in plans for count in completions(each).values()),
        stuck=sum(lease.state is not LeaseState.DONE for lease in leases),
        overlap=len(late) - len(by_commands),
        late=len(by_commands),
        begun_twice=_repeated(drill.marks("begin")),
        ended_twice=_repeated(drill.marks("end")),
        times=tuple(drill.times or _takeovers(marks, drill.fault_at)),
    )


def losses(drill: Drill, lease: Lease) -> list[int]:
    """Return when a run was lost by a worker, in milliseconds since 1970."""
    return [event.at for event in drill.store.events(lease.session) if isinstance(event.fact, RunLost)]


def completions(plans: list[Plan]) -> Counter[int]:
    """How often each task was completed."""
    found: Counter[int] = Counter()
    done: set[int] = set()
    for plan in plans:
        now = {task.number for task in plan.tasks if task.status is Status.COMPLETED}
        found.update(now - done)
        done = now
    return found


def _overlapping(marks: list[Mark]) -> list[Mark]:
    """Return the marks of an epoch after one of a later epoch of the same run."""
    newest: dict[str, int] = {}
    found = []
    for mark in marks:
        newest[mark.run] = max(mark.epoch, newest.get(mark.run, 0))
        if mark.epoch < newest[mark.run]:
            found.append(mark)
    return found


def _repeated(marks: list[Mark]) -> int:
    return sum(count > 1 for count in Counter((mark.run, mark.task) for mark in marks).values())


def _takeovers(marks: list[Mark], fault: float) -> list[float]:
    """Return the seconds from the fault to the first command of the next agent, for each run that had begun before."""
    before = {mark.run: mark.epoch for mark in marks if mark.at <= fault}
    later = [mark for mark in marks if mark.what == "begin" and mark.epoch > before.get(mark.run, mark.epoch)]
    first: dict[str, float] = {}
    for mark in later:
        first.setdefault(mark.run, mark.at - fault)
    return sorted(first.values())
