"""When checks are run, and what an agent with unproved tasks is held to."""

from collections.abc import Mapping, Sequence

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan.changing import PLAN_CHECK, change_plan, held_to_proofs, proofs_for, stale_numbers
from tildone.plan.events import PlanChanged, State
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Plan, Proof, Result, Rules, Task, flat
from tildone.plan.ops import Everything, Mark, Numbered, Op, Origin, SetCheck, Write
from tildone.plan.reduce import Outcome, reduce

TESTS, ALL = Check(("pytest",)), Check(("make", "all"))
DONE_1 = [Mark(Numbered((1,)), COMPLETED)]
PASSED = Proof(Result.PASSED, TESTS.command)


class Recorder:
    """Gives every check one result, and records which were run and compared."""

    def __init__(self, result: Result = Result.PASSED, stale: Sequence[int] = ()) -> None:
        self.result = result
        self.stale_ones = frozenset(stale)
        self.run: list[int] = []
        self.compared: set[int] = set()

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        self.run += checks
        return {number: Proof(self.result, check.command) for number, check in checks.items()}

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        self.compared |= set(proofs)
        return self.stale_ones & frozenset(proofs)

    def is_allowed(self, _check: Check) -> bool:
        return True


def checked(*texts: str, check: Check | None = None) -> Plan:
    """A plan whose first task has a check."""
    return reduce(plan_of(*texts), [SetCheck(Numbered((1,)), TESTS), SetCheck(None, check)], Rules()).after


def run(plan: Plan, steps: Sequence[Op], prover: Recorder, *, whole_list: bool = False) -> Mapping[int, Proof]:
    def change(state: State, proofs: Mapping[int, Proof]) -> tuple[Outcome, PlanChanged | None]:
        return change_plan(state, steps, Rules(), None, Origin(), frozenset, proofs)

    return proofs_for(State(plan=plan), change, prover, whole_list=whole_list)


def with_proof(plan: Plan, status: object = COMPLETED) -> Plan:
    done = reduce(plan, DONE_1, Rules(), {1: PASSED}).after
    return done if status is COMPLETED else reduce(done, [Mark(Numbered((1,)), PENDING)], Rules()).after


def test_only_the_checks_of_tasks_that_a_change_completes_are_run() -> None:
    prover = Recorder()

    assert run(checked("a", "b"), [Mark(Numbered((2,)), COMPLETED)], prover) == {}
    assert run(checked("a", "b"), DONE_1, prover) == {1: PASSED}
    assert prover.run == [1]


def test_a_done_task_is_proved_again_if_it_is_stale_and_marked_done_once_more() -> None:
    plan, fresh, stale = with_proof(checked("a", "b")), Recorder(), Recorder(stale=[1])

    assert (run(plan, DONE_1, fresh), fresh.run) == ({}, [])
    assert (run(plan, DONE_1, stale), stale.run) == ({1: PASSED}, [1])
    assert run(plan, [Mark(Numbered((2,)), COMPLETED)], Recorder(stale=[1])) == {}


def test_a_reopened_task_is_proved_again_if_its_files_have_changed_since() -> None:
    """Its old proof would make it done without the check being run."""
    plan, fresh, stale = with_proof(checked("a", "b"), PENDING), Recorder(), Recorder(stale=[1])

    run(plan, DONE_1, fresh)
    run(plan, DONE_1, stale, whole_list=True)

    assert (fresh.run, stale.run) == ([], [1])


def test_a_list_that_names_every_task_renews_stale_proofs_at_the_end_only() -> None:
    plan = with_proof(checked("a", "b"))
    first, last = Recorder(stale=[1]), Recorder(stale=[1])

    run(plan, [Write(flat(Task("a", COMPLETED), Task("b")).phases)], first, whole_list=True)
    run(plan, [Write(flat(Task("a", COMPLETED), Task("b", COMPLETED)).phases)], last, whole_list=True)

    assert (first.run, last.run) == ([], [1])


def test_the_check_of_a_plan_is_run_when_no_task_is_open() -> None:
    plan = checked("a", "b", check=ALL)
    prover = Recorder()

    run(plan, DONE_1, prover)
    proofs = run(plan, [Mark(Everything(), COMPLETED)], prover)

    assert prover.run == [1, 1, PLAN]
    assert proofs[PLAN] == Proof(Result.PASSED, ALL.command)
    failing = Recorder(Result.FAILED)
    run(plan, [Mark(Everything(), COMPLETED)], failing)
    assert failing.run == [1]


def test_the_check_of_a_plan_is_run_again_if_it_is_stale() -> None:
    plan = replace(plan_of("a"), check=ALL, proof=Proof(Result.PASSED, ALL.command))
    stale, fresh = Recorder(stale=[PLAN]), Recorder()

    run(plan, DONE_1, stale)
    run(plan, DONE_1, fresh)

    assert (stale.run, fresh.run) == ([PLAN], [])


def test_only_passed_proofs_of_done_tasks_can_be_stale() -> None:
    plan = replace(with_proof(checked("a", "b")), check=ALL, proof=Proof(Result.FAILED, ALL.command))
    prover = Recorder(stale=[1, PLAN])

    assert stale_numbers(plan, lambda: prover) == {1}
    assert prover.compared == {1}
    assert stale_numbers(plan, None) == frozenset()
    assert stale_numbers(with_proof(checked("a"), PENDING), lambda: prover) == frozenset()


def test_an_agent_is_held_to_stale_tasks_and_to_the_check_of_the_plan() -> None:
    plan = with_proof(checked("a", check=ALL))
    state = State(plan=plan)

    stale = held_to_proofs(state, frozenset({1})).plan.tasks
    unproved = held_to_proofs(state, frozenset()).plan.tasks
    blocked = held_to_proofs(State(plan=replace(plan, proof=Proof(Result.REFUSED, ALL.command))), frozenset()).plan
    proved = State(plan=replace(plan, proof=Proof(Result.PASSED, ALL.command)))

    assert [(task.text, task.status) for task in stale] == [("a", IN_PROGRESS)]
    assert [(task.text, task.status, task.number) for task in unproved[1:]] == [(PLAN_CHECK, IN_PROGRESS, 1)]
    assert blocked.tasks[-1].status is BLOCKED
    assert held_to_proofs(proved, frozenset()) is proved
    assert held_to_proofs(proved, frozenset({PLAN})).plan.tasks[-1].text == PLAN_CHECK
    dropped = State(plan=reduce(checked("a"), [Mark(Everything(), ABANDONED)], Rules()).after)
    assert held_to_proofs(dropped, frozenset()) is dropped
