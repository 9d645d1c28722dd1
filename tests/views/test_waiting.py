"""What a person is told of tasks that wait because of their checks, and a model of tasks that are not done."""

from tildone.base import replace
from tildone.plan.model import Check, Plan, Proof, Result, Status, Task, flat
from tildone.plan.reduce import Outcome
from tildone.plan.text.proofs import undone_text, waiting_notice

CHECK = Check(("make", "the test"))


def blocked(number: int, result: Result, reason: str = "") -> Task:
    return Task(
        f"t{number}", Status.BLOCKED, number=number, check=CHECK, proof=Proof(result, CHECK.command, reason=reason)
    )


def test_a_plan_without_such_tasks_has_no_notice() -> None:
    failed = replace(blocked(2, Result.FAILED), status=Status.IN_PROGRESS)

    assert waiting_notice(flat(Task("a", Status.BLOCKED, number=1), failed)) == ""
    assert waiting_notice(flat(blocked(1, Result.FAILED))) == ""


def test_a_notice_says_what_to_type_for_each_task() -> None:
    plan = flat(blocked(3, Result.INCONCLUSIVE, "it took\x1b longer"), blocked(5, Result.REFUSED))

    notice = waiting_notice(plan)

    assert "\x1b" not in notice
    assert notice.startswith("tildone: task 3 waits for you: it took")
    assert "longer. To run its check: tildone verify 3; task 5 waits for you: its check, `make 'the test'`, " in notice
    assert notice.endswith("is only proposed. To approve it: tildone approve 5")


def test_only_the_first_tasks_are_listed() -> None:
    notice = waiting_notice(flat(*(blocked(i, Result.REFUSED) for i in range(1, 6))))

    assert notice.count("waits for you") == 3
    assert notice.endswith("tildone approve 3; 2 more wait, too")


def test_the_check_of_a_plan_is_one_of_them_when_all_tasks_are_closed() -> None:
    done = flat(Task("a", Status.COMPLETED, number=1))
    plan = replace(done, check=CHECK, proof=Proof(Result.INCONCLUSIVE, CHECK.command, reason="no time"))

    assert waiting_notice(plan) == "tildone: the plan waits for you: no time. To run its check: tildone verify"
    assert waiting_notice(replace(plan, phases=flat(Task("a", number=1)).phases)) == ""


def test_a_model_is_told_which_tasks_of_its_list_are_not_done() -> None:
    failed = replace(blocked(1, Result.FAILED, "`make` failed"), status=Status.IN_PROGRESS)
    not_run = Task("second", Status.IN_PROGRESS, number=2, check=CHECK)
    after = flat(failed, not_run)

    assert undone_text(Outcome(Plan(), after)) == ""
    assert undone_text(Outcome(after, after, kept=(1,))) == (
        "In your plan:\nkept “t1” (`make 'the test'`): it has a check; only a person can remove it"
    )
    assert undone_text(Outcome(Plan(), after, (), (1,))) == "In your plan:\n“t1” is not done: `make` failed"
    assert undone_text(Outcome(Plan(), after, (), (1, 2))).endswith(
        "“second” is not done: its check was not run\n"
        "The check takes longer than can be waited for here. Run: tildone verify 2"
    )
