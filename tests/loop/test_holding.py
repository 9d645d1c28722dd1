"""What an agent is held to: tasks of others, the counts of its parent, and new chains."""

from tildone.plan.events import Bound, Directive, DirectiveSet, Ledger, Nudged, State, Tripped
from tildone.plan.holding import fact_of_reset, subagent_nudge, with_counts_of, without_taken
from tildone.plan.model import Status, Task, flat

TWO = State(plan=flat(Task("a", number=1), Task("b", number=2)))


def test_tasks_of_others_need_not_be_done() -> None:
    """A tool that sends the whole list must not learn that they are done."""
    statuses = {
        sends: [task.status for task in without_taken(TWO, frozenset({2}), sends_whole_list=sends).plan.tasks]
        for sends in (True, False)
    }

    assert statuses == {True: [Status.PENDING, Status.BLOCKED], False: [Status.PENDING, Status.COMPLETED]}
    assert without_taken(TWO, frozenset(), sends_whole_list=True) is TWO


def test_what_waits_for_tasks_of_others_is_blocked() -> None:
    """Whether it comes after them, directly or not, or may change the same files."""
    plan = flat(
        Task("a", Status.IN_PROGRESS, number=1, touches=("src/*",)),
        Task("after it", number=2, after=(1,)),
        Task("after that", number=3, after=(2,)),
        Task("the same files", number=4, touches=("src/b.py",)),
        Task("after those", number=5, after=(4,)),
        Task("free", number=6, touches=("docs/*",)),
    )

    held = without_taken(State(plan=plan), frozenset({1}), sends_whole_list=False).plan.tasks

    assert [task.number for task in held if task.status is Status.BLOCKED] == [2, 3, 4, 5]
    assert [task.number for task in held if task.status is Status.PENDING] == [6]


def test_what_comes_after_a_task_of_others_is_blocked_if_no_files_are_named() -> None:
    plan = flat(Task("a", Status.IN_PROGRESS, number=1), Task("b", number=2, after=(1,)), Task("c", number=3))

    held = without_taken(State(plan=plan), frozenset({1}), sends_whole_list=False).plan.tasks

    assert [task.status for task in held] == [Status.COMPLETED, Status.BLOCKED, Status.PENDING]


def test_a_person_resets_every_count_and_a_new_chain_its_own() -> None:
    ledger = Ledger(continued=5, began=1)
    tripped = State(drift=3, nudges=3, tripped=Tripped(Bound.SAME, 3), ledger=ledger, directive=Directive.PAUSE)

    assert fact_of_reset(tripped, by_person=True) == DirectiveSet(Directive.PAUSE)
    assert fact_of_reset(tripped, by_person=False) == DirectiveSet(Directive.PAUSE, ledger=ledger)
    assert fact_of_reset(State(ledger=ledger), by_person=False) is None
    assert fact_of_reset(State(), by_person=True) is None


def test_a_subagent_shares_the_nudges_of_its_parent() -> None:
    """The first nudge of either began the chain."""
    own, parent = State(ledger=Ledger(continued=2, began=50)), State(ledger=Ledger(continued=7, began=90))

    assert with_counts_of(own, parent).ledger == Ledger(continued=7, began=50)
    assert with_counts_of(parent, own).ledger == Ledger(continued=7, began=50)
    assert with_counts_of(State(), parent).ledger == parent.ledger
    assert with_counts_of(State(), State()).ledger == Ledger()


def test_the_nudge_of_a_subagent_leaves_the_counts_of_its_parent() -> None:
    assert subagent_nudge(State(plan=TWO.plan, nudges=3, drift=4)) == Nudged(3, 4, of_subagent=True)
    assert subagent_nudge(State()) is None
