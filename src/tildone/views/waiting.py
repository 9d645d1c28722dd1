"""What a person is told of the tasks that wait for them because of their checks, and a model of those not done."""

from __future__ import annotations

from tildone.core.check import Result
from tildone.core.guard import is_unproved
from tildone.core.plan import Status
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text, with_results
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.core.check import Check, Proof
    from tildone.core.plan import Plan
    from tildone.core.reduce import Outcome

MAX_LISTED = 3


def waiting_notice(plan: Plan) -> str:
    """Return which tasks wait for a person because of their checks, and what to type; empty if none does."""
    notices = list(_notices(plan))
    more = f"; {len(notices) - MAX_LISTED} more wait, too" if len(notices) > MAX_LISTED else ""
    return f"tildone: {'; '.join(notices[:MAX_LISTED])}{more}" if notices else ""


def undone_text(outcome: Outcome) -> str:
    """Return why tasks are not done, or not gone, although a list of the model says so; empty if there are none."""
    if not (outcome.unproved or outcome.kept):
        return ""
    text = with_results("In your plan:", outcome, numbered=False)
    tasks = [task for task in outcome.after.tasks if task.number in outcome.unproved]
    not_run = " ".join(str(task.number) for task in tasks if task.proof is None)
    return (
        f"{text}\nThe check takes longer than can be waited for here. Run: tildone verify {not_run}"
        if not_run
        else text
    )


def _notices(plan: Plan) -> Iterator[str]:
    for task in plan.tasks:
        if task.status is Status.BLOCKED and task.check is not None and task.proof is not None:
            yield from _notice(f"task {task.number}", str(task.number), task.check, task.proof)
    if plan.check is not None and plan.proof is not None and is_unproved(plan):
        yield from _notice("the plan", "", plan.check, plan.proof)


def _notice(name: str, number: str, check: Check, proof: Proof) -> Iterator[str]:
    argument = f" {number}" if number else ""
    if proof.result is Result.INCONCLUSIVE:
        yield f"{name} waits for you: {printable(proof.reason)}. To run its check: tildone verify{argument}"
    elif proof.result is Result.REFUSED:
        proposed = f"its check, `{printable(check_text(check))}`, is only proposed"
        yield f"{name} waits for you: {proposed}. To approve it: tildone approve{argument}"
