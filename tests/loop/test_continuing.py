"""Whether an agent is told to go on: progress, and checks that are to run."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan.changing import (
    MAX_ADDED,
    MAX_DROPPED,
    MAX_REMEMBERED,
    PLAN_CHECK,
    CheckRuns,
    change_plan,
    held_to_proofs,
    progress_of,
    stale_numbers,
)
from tildone.plan.events import Bound, Directive, Ledger, Nudged, PlanChanged, State, StopFingerprint, Tripped
from tildone.plan.gate import (
    Asks,
    Decision,
    GiveUp,
    GoOn,
    Patience,
    Rest,
    RestReason,
    Spent,
    Tick,
    Turn,
    Verdict,
    countdown,
    decide,
    judge,
)
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Plan, Proof, Result, Rules, Status, Task, assign_numbers, flat, numbered
from tildone.plan.ops import Everything, Mark, Numbered, Op, Origin, SetCheck, Write
from tildone.plan.reduce import Outcome, reduce

OPEN = flat(Task("a", COMPLETED), Task("b"), Task("c", IN_PROGRESS))
DONE = flat(Task("a", COMPLETED))
PATIENCE = Patience()


WAITING, C = Task("w", BLOCKED), Task("c", IN_PROGRESS)
WORDS, FILES = StopFingerprint("files", "words"), StopFingerprint("files")
WEEK = 7 * 24 * 60 * 60 * 1000
LATE = Turn(at=240 * 60_000 + 7)


def state(plan: Plan = OPEN, nudges: int = 0, drift: int = 0, **more: Any) -> State:
    return State("e", plan, nudges, drift, **more)


IN_VAIN = state(nudges=20, fingerprint=WORDS, repeats=2)
DECISIONS: list[tuple[str, State, Turn, Decision | type[GoOn]]] = [
    ("without a plan", State(), Turn(aborted=True, errored=True), Rest(RestReason.NO_PLAN)),
    ("interrupted, at a bound", state(nudges=99), Turn(aborted=True), Rest(RestReason.ABORTED)),
    ("interrupted, when all is done", state(DONE, 99), Turn(aborted=True), Rest(RestReason.ABORTED)),
    ("all is done, at every bound", state(DONE, 99, 99), Turn(errored=True), Rest(RestReason.ALL_DONE)),
    ("after an error, with which the next turn would fail", state(), Turn(errored=True), Rest(RestReason.ERRORED)),
    ("before the twentieth nudge", state(nudges=19), Turn(), GoOn(2, C, 20)),
    ("after the twentieth nudge, as in the original", state(nudges=20), Turn(), GiveUp(Bound.NUDGES, 20)),
    ("after changes without progress", state(drift=60), Turn(), GiveUp(Bound.DRIFT, 60)),
    ("before the last nudge of a person's prompt", state(ledger=Ledger(continued=999, began=1)), Turn(at=1), GoOn),
    ("after it", state(ledger=Ledger(continued=1000, began=1)), Turn(at=1), GiveUp(Bound.TOTAL, 1000)),
    ("nearly a week after the first nudge", state(ledger=Ledger(continued=1, began=9)), Turn(at=8 + WEEK), GoOn),
    ("a week after", state(ledger=Ledger(continued=1, began=9)), Turn(at=9 + WEEK), GiveUp(Bound.HOURS, 168)),
    ("before the coding agent's own limit", state(), Turn(continued=7, max_continued=8), GoOn),
    ("at it", state(), Turn(continued=8, max_continued=8), GiveUp(Bound.HOST, 8)),
    ("without such a limit", state(), Turn(continued=99), GoOn),
    ("with blocked tasks alone", state(flat(WAITING, Task("a", COMPLETED))), Turn(), Rest(RestReason.BLOCKED)),
    ("with other tasks", state(flat(WAITING, Task("b"))), Turn(), GoOn(1, Task("b"))),
    ("when the files have changed", IN_VAIN, Turn(fingerprint=StopFingerprint("others", "words")), GoOn(2, C, 1)),
    ("with other words", IN_VAIN, Turn(fingerprint=StopFingerprint("files", "more")), GiveUp(Bound.NUDGES, 20)),
    ("with unknown files", IN_VAIN, Turn(fingerprint=StopFingerprint("", "words")), GiveUp(Bound.NUDGES, 20)),
    (
        "when only the files change",
        state(nudges=1, drift=60, fingerprint=FILES),
        Turn(fingerprint=StopFingerprint("others")),
        GiveUp(Bound.DRIFT, 60),
    ),
    (
        "when it repeats itself",
        state(OPEN, 2, 2, fingerprint=WORDS, repeats=1),
        Turn(fingerprint=WORDS),
        GoOn(2, C, 3, 2),
    ),
    (
        "for the third time",
        state(OPEN, 3, 3, fingerprint=WORDS, repeats=2),
        Turn(fingerprint=WORDS),
        GiveUp(Bound.SAME, 3),
    ),
    ("without words", state(OPEN, 3, 3, fingerprint=FILES, repeats=2), Turn(fingerprint=FILES), GoOn),
    ("in doubt", state(), Turn(asked=Asks.DOUBT, fingerprint=WORDS), GoOn(2, C)),
    ("in doubt again", state(fingerprint=WORDS), Turn(asked=Asks.DOUBT, fingerprint=WORDS), Rest(RestReason.ASKED)),
    (
        "in doubt again, with other files",
        state(fingerprint=WORDS),
        Turn(asked=Asks.DOUBT, fingerprint=StopFingerprint("others", "words")),
        Rest(RestReason.ASKED),
    ),
    (
        "in doubt with another message",
        state(fingerprint=WORDS),
        Turn(asked=Asks.DOUBT, fingerprint=StopFingerprint("files", "more")),
        GoOn(2, C),
    ),
    ("in doubt without words", state(fingerprint=FILES), Turn(asked=Asks.DOUBT, fingerprint=FILES), GoOn),
    ("four hours after the first nudge", state(OPEN, 1, 1, since=7), LATE, GiveUp(Bound.TIME, 240)),
    ("nearly four hours", state(OPEN, 1, 1, since=8), LATE, GoOn),
    ("at the first nudge", state(), LATE, GoOn),
    *(
        (
            f"{directive.value} and {why.name.lower()} after {nudges} nudges",
            state(OPEN, nudges, 3 * nudges, directive=directive),
            turn,
            Rest(why),
        )
        for nudges in (0, 20)
        for directive, turn, why in (
            (Directive.PAUSE, Turn(), RestReason.PAUSED),
            (Directive.STOP, Turn(), RestReason.PAUSED),
            (Directive.GO, Turn(busy=True), RestReason.BUSY),
            (Directive.GO, Turn(asked=Asks.YES), RestReason.ASKED),
            (Directive.GO, Turn(errored=True, asked=Asks.YES, busy=True), RestReason.ERRORED),
        )
    ),
]


@pytest.mark.parametrize(
    ("given", "turn", "decision"), [row[1:] for row in DECISIONS], ids=[row[0] for row in DECISIONS]
)
def test_an_agent_is_continued_rests_or_is_let_go(given: State, turn: Turn, decision: Decision | type[GoOn]) -> None:
    """An interruption and a finished plan come before every bound."""
    decided = decide(given, PATIENCE, turn)

    assert isinstance(decided, GoOn) if decision is GoOn else decided == decision


@pytest.mark.parametrize(
    ("patience", "under", "over", "reached"),
    [
        (Patience(cost=0.5), Turn(cost=0.49), Turn(cost=0.5), GiveUp(Bound.COST, 0.5)),
        (Patience(tokens=9), Turn(tokens=8), Turn(tokens=9), GiveUp(Bound.TOKENS, 9)),
        (
            Patience(task_cost=0.5),
            Turn(cost=9, task=Spent(cost=0.4)),
            Turn(task=Spent(cost=0.6)),
            GiveUp(Bound.TASK_COST, 0.5),
        ),
        (
            Patience(task_tokens=9),
            Turn(tokens=99, task=Spent(tokens=8)),
            Turn(task=Spent(tokens=9)),
            GiveUp(Bound.TASK_TOKENS, 9),
        ),
        (
            Patience(task_minutes=2),
            Turn(task=Spent(ms=119_999)),
            Turn(task=Spent(ms=120_000)),
            GiveUp(Bound.TASK_TIME, 2),
        ),
    ],
)
def test_an_agent_is_let_go_when_a_budget_is_used_up(
    patience: Patience, under: Turn, over: Turn, reached: GiveUp
) -> None:
    assert isinstance(decide(State("e", OPEN), patience, under), GoOn)
    assert decide(State("e", OPEN), patience, over) == reached
    assert isinstance(decide(State("e", OPEN), PATIENCE, over), GoOn)
    assert patience.has_budget
    assert not PATIENCE.has_budget


limits = st.none() | st.integers(0, 20)
spending = st.builds(Spent, st.floats(0, 20), st.integers(0, 20), st.integers(0, 2_000_000))
turns = st.builds(Turn, st.booleans(), st.booleans(), st.sampled_from(Asks), cost=st.floats(0, 20), task=spending)
states = st.builds(
    State,
    st.just("e"),
    st.sampled_from([OPEN, DONE, flat()]),
    st.integers(0, 25),
    st.integers(0, 65),
    ledger=st.builds(Ledger, st.integers(0, 1001), st.just(1)),
)


budgets = st.builds(Patience, cost=limits, tokens=limits, task_cost=limits, task_tokens=limits, task_minutes=limits)


@given(states, turns, budgets)
def test_a_budget_never_continues_an_agent_that_would_be_let_go_without_it(
    state: State, turn: Turn, patience: Patience
) -> None:
    """So every chain of nudges ends, as without budgets; and a finished plan never reports one."""
    with_budgets, without = decide(state, patience, turn), decide(state, PATIENCE, turn)

    assert with_budgets == without or (isinstance(without, GoOn) and isinstance(with_budgets, GiveUp))


def test_a_verdict_is_recorded_as_a_nudge_or_as_a_bound_once() -> None:
    """The prompt is made only for an agent that continues."""

    def prompt() -> str:
        return "go on"

    def unexpected() -> str:
        raise AssertionError

    spent = State("e", OPEN, nudges=99, drift=99)
    turn = Turn(fingerprint=StopFingerprint("f", "m"))
    nudged, nudge = judge(State("e", OPEN, drift=2), PATIENCE, turn, prompt)
    given_up, tripped = judge(spent, PATIENCE, Turn(), unexpected)

    assert nudged.prompt == "go on"
    assert nudge == Nudged(1, 3, turn.fingerprint, 0)
    assert isinstance(given_up.decision, GiveUp)
    assert tripped == Tripped(given_up.decision.bound, given_up.decision.limit)
    assert judge(replace(spent, tripped=tripped), PATIENCE, Turn(), unexpected) == (given_up, None)
    assert judge(State("e", DONE), PATIENCE, Turn(), unexpected) == (Verdict(Rest(RestReason.ALL_DONE)), None)


def test_the_countdown_ticks_every_second_and_fires_once_at_the_end() -> None:
    """Three seconds by default."""
    assert [(tick.at, tick.left) for tick in countdown()] == [(0, 3), (1000, 2), (2000, 1), (3000, 0)]
    assert [tick.fires for tick in countdown()] == [False, False, False, True]
    assert countdown(0) == (Tick(0, 0),)


AB = numbered(plan_of("a", "b"))


def played(*plans: Plan) -> list[bool]:
    """Whether each plan is progress compared with the one before, from `AB` on."""
    before, ledger, found = AB, Ledger(), []
    for plan in plans:
        after = assign_numbers(before, plan)
        counts, ledger = progress_of(before, after, ledger)
        found.append(counts)
        before = after
    return found


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (flat(Task("a", COMPLETED), Task("b")), True),
        (flat(Task("a", ABANDONED), Task("b")), True),
        (plan_of("a", "b", "c"), True),
        (plan_of("a", "other"), False),
        (flat(Task("a", IN_PROGRESS), Task("b")), False),
        (plan_of("b", "a"), False),
        (plan_of("a"), False),
        (Plan(), False),
    ],
)
def test_progress_is_a_task_closed_or_added(after: Plan, *, expected: bool) -> None:
    """Reordering, starting, removing and rewording tasks are not progress."""
    assert played(after) == [expected]


@pytest.mark.parametrize("closed", [COMPLETED, ABANDONED])
def test_a_task_that_is_closed_and_reopened_counts_once(closed: Status) -> None:
    done, again = flat(Task("a", closed), Task("b")), plan_of("a", "b")

    assert played(done, again, done, again, done) == [True, False, False, False, False]


def test_a_task_that_is_renamed_between_counts_once() -> None:
    """By its number, whatever it is called."""

    def first(text: str, status: Status = PENDING) -> Plan:
        return Plan(flat(Task(text, status, number=1), Task("b", number=2)).phases, 2)

    assert played(first("a", COMPLETED), first("a"), first("A"), first("A", COMPLETED)) == [True, False, False, False]


def test_a_list_that_grows_and_shrinks_counts_once() -> None:
    assert played(plan_of("a", "b", "c"), plan_of("a", "b"), plan_of("a", "b", "c")) == [True, False, False]


def test_a_task_that_is_removed_and_added_again_counts_as_closed_once() -> None:
    done = flat(Task("a"), Task("b"), Task("c", COMPLETED))

    assert played(plan_of("a", "b", "c"), done, AB, plan_of("a", "b", "c"), done) == [True, True, False, False, False]


def test_adding_counts_within_a_budget_until_a_task_is_closed() -> None:
    texts = [f"more {number}" for number in range(MAX_ADDED + 2)]
    growing = [plan_of("a", "b", *texts[: count + 1]) for count in range(len(texts))]
    closed = flat(Task("a", COMPLETED), *(Task(text) for text in ("b", *texts)))
    more = flat(*closed.tasks, Task("after that"))

    assert played(*growing, closed, more) == [True] * MAX_ADDED + [False] * 2 + [True, True]


def test_dropping_counts_within_a_budget() -> None:
    """An agent that splits its tasks drops one and adds two, for ever. Completing a task does not renew the budget."""
    many = plan_of(*(f"task {number}" for number in range(MAX_DROPPED + 3)))

    def dropped(count: int, last: Status) -> Plan:
        kept = many.tasks[count:-1]
        return flat(
            *(Task(task.text, ABANDONED) for task in many.tasks[:count]), *kept, Task(many.tasks[-1].text, last)
        )

    plans = [dropped(count, PENDING) for count in range(1, MAX_DROPPED + 2)]
    completed, one_more = dropped(MAX_DROPPED + 1, COMPLETED), dropped(MAX_DROPPED + 2, COMPLETED)

    assert played(many, *plans, completed, one_more) == [False, *[True] * MAX_DROPPED, False, True, False]


def test_what_is_remembered_is_bounded() -> None:
    ledger = Ledger()
    many = numbered(plan_of(*(f"text {number}" for number in range(3 * MAX_REMEMBERED))))
    closed = numbered(flat(*(Task(task.text, COMPLETED) for task in many.tasks)))

    _, ledger = progress_of(closed, many, ledger)
    _, ledger = progress_of(many, Plan(), ledger)

    assert (len(ledger.reopened), len(ledger.gone)) == (0, MAX_REMEMBERED)
    assert len(progress_of(closed, many, Ledger())[1].reopened) == MAX_REMEMBERED


@given(st.lists(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(list(Status))), max_size=4)))
def test_few_texts_make_little_progress_whatever_happens_to_them(lists: list[list[tuple[str, Status]]]) -> None:
    """Each of the four texts is new once and closed once, as one of the tasks that ever had it."""
    counted = played(*(flat(*(Task(text, status) for text, status in tasks)) for tasks in lists))

    assert sum(counted) <= 3 * len("abcd") + 2


CHECK = Check(("make",))
PASSED = Proof(Result.PASSED, ("make",), exit_code=0)


class EverythingChanged:
    """A prover for whom the files of every proof have changed."""

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        return dict.fromkeys(checks, PASSED)

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return frozenset(proofs)

    def is_allowed(self, check: Check) -> bool:
        return check == CHECK


def test_open_tasks_count_only_if_they_are_asked_for() -> None:
    """A list shows done tasks as stale; a change that completes an open task does not trust its earlier proof."""
    plan = flat(
        Task("a", COMPLETED, number=1, check=CHECK, proof=PASSED),
        Task("b", number=2, check=CHECK, proof=PASSED),
        Task("c", number=3, check=CHECK),
    )

    assert stale_numbers(plan, EverythingChanged) == {1}
    assert stale_numbers(plan, EverythingChanged, also_open=True) == {1, 2}
    assert stale_numbers(plan, None) == stale_numbers(Plan(), EverythingChanged) == frozenset()


def test_an_imported_proof_is_stale_whatever_the_files_are() -> None:
    check = Check(("make",))
    proof = Proof(Result.PASSED, check.command, imported=True)
    plan = flat(Task("a", COMPLETED, number=1, check=check, proof=proof))

    assert stale_numbers(plan, None) == {1}
    assert stale_numbers(replace(plan, check=check, proof=proof), None) == {0, 1}


TESTS, ALL = Check(("pytest",)), Check(("make", "all"))
DONE_1 = [Mark(Numbered((1,)), COMPLETED)]
TESTS_PASSED = Proof(Result.PASSED, TESTS.command)


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
        return change_plan(state, steps, Rules(), None, Origin, frozenset, proofs)

    return CheckRuns(change, lambda: prover, whole_list=whole_list).proofs_in(State(plan=plan))


def with_proof(plan: Plan, status: object = COMPLETED) -> Plan:
    done = reduce(plan, DONE_1, Rules(), {1: TESTS_PASSED}).after
    return done if status is COMPLETED else reduce(done, [Mark(Numbered((1,)), PENDING)], Rules()).after


def test_only_the_checks_of_tasks_that_a_change_completes_are_run() -> None:
    prover = Recorder()

    assert run(checked("a", "b"), [Mark(Numbered((2,)), COMPLETED)], prover) == {}
    assert run(checked("a", "b"), DONE_1, prover) == {1: TESTS_PASSED}
    assert prover.run == [1]


def test_a_done_task_is_proved_again_if_it_is_stale_and_marked_done_once_more() -> None:
    plan, fresh, stale = with_proof(checked("a", "b")), Recorder(), Recorder(stale=[1])

    assert (run(plan, DONE_1, fresh), fresh.run) == ({}, [])
    assert (run(plan, DONE_1, stale), stale.run) == ({1: TESTS_PASSED}, [1])
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
