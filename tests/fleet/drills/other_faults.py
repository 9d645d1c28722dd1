"""Drills in which people change their minds, and workers are upgraded."""

from tests.fleet.agents import processes_of
from tests.fleet.drills.harness import Drill
from tests.suite.waiting import until
from tildone.fleet.process_tree import boot_seconds
from tildone.plan.events import PlanChanged
from tildone.plan.runs import PROTOCOL, Ask, LeaseState, NewRun, Work

OLD, NEW = PROTOCOL, PROTOCOL + 1


def cancel(drill: Drill) -> None:
    """Cancel half of the runs in the middle of a task."""
    form = drill.form
    drill.add(2)
    drill.start_two(form.slow)
    chosen = [drill.lease(run) for run in drill.runs[: len(drill.runs) // 2]]
    drill.fault()
    for lease in chosen:
        drill.leases.request_stop(lease.run, Ask.CANCEL_NOW)
    left = list(chosen)

    def gone() -> bool:
        for lease in [lease for lease in left if not processes_of(str(lease.fence))]:
            left.remove(lease)
            drill.times.append(boot_seconds() - drill.fault_at)
        return not left

    until(gone)
    drill.wait_until_ended()
    assert {drill.lease(lease.run).state for lease in chosen} == {LeaseState.CANCELLED}
    ended = {mark.run for mark in drill.marks("end")}
    assert not ended & {lease.run for lease in chosen}, "a task of a cancelled run ended"


def versions(drill: Drill) -> None:
    """Kill a worker of the older protocol beside one of the newer, then that one beside another older one.

    The runs that need the newer protocol wait until a worker knows it.
    """
    form = drill.form
    drill.add(form.tasks)
    old = drill.start(form.runs, form.quick, protocol=OLD, releases=False)
    drill.wait_until_begun()
    plan = drill.store.events(f"plan of {drill.runs[0]}")
    first = next(event.fact for event in plan if isinstance(event.fact, PlanChanged))
    newer = f"r{drill.name}-new"
    drill.leases.add(NewRun(newer, f"plan of {newer}", Work(agent="test", protocol=NEW)), [first])
    new = drill.start(form.runs + 1, form.quick, protocol=NEW, releases=False)
    until(lambda: any(mark.run == newer for mark in drill.marks("begin")))
    assert {lease.run for lease in drill.held_by(old)} <= set(drill.runs)
    drill.fault()
    drill.kill(old)
    drill.start(form.runs, form.quick, protocol=OLD)
    until(lambda: len(drill.marks("done")) >= 1)
    drill.kill(new)
    until(lambda: all(drill.lease(run).state is LeaseState.DONE for run in drill.runs))
    drill.start(form.runs, form.quick, protocol=NEW)
    drill.wait_until_ended()
