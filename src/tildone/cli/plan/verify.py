"""`tildone verify`: run checks, and record what came of them."""

from __future__ import annotations

from tildone.app.check_facts import NO_FACTS, check_facts
from tildone.cli.opening import open_for_editing
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.check_progress import CheckProgress, session_checks
from tildone.cli.plan.check_report import NOT_PASSED, next_step, output_lines
from tildone.cli.plan.check_targets import NamedCheck, check_data, checks_of, targets_of
from tildone.core.check import Result
from tildone.core.guard import PLAN
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.proofs import check_text, proof_words
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.app.check_facts import CheckFacts
    from tildone.core.check import Check, Proof
    from tildone.core.plan import Plan

MARKS = {Result.PASSED: "✓", Result.FAILED: "✗", Result.INCONCLUSIVE: "!", Result.REFUSED: "!"}


def run(args: ParsedArgs) -> int:
    """Run the checks that the arguments name, else those that have to be run, and print a line for each."""
    session = open_for_editing(args)
    plan = session.plan
    named = targets_of(args, session)
    states = check_facts(session, plan)
    wanted = [each for each in checks_of(plan) if each.number in named or (not named and _is_due(plan, each, states))]
    checks, progress = {each.number: each.check for each in wanted}, CheckProgress()

    def put_result(number: int, proof: Proof) -> None:
        progress.clear()
        if not args.has("json"):
            _put(args, number, checks[number], proof)

    with session_checks(args, session, progress) as running:
        _, proofs = running.verify(session, checks, put_result)
    if args.has("json"):
        refused = frozenset(number for number, proof in proofs.items() if proof.result is Result.REFUSED)
        found = [replace(each, proof=proofs.get(each.number)) for each in wanted]
        states = replace(NO_FACTS, proposed=refused)
        put_data(session=session.name, checks=[check_data(each, states) for each in found])
    elif not wanted:
        put("There is nothing to verify." if checks_of(plan) else "The plan has no checks.")
    has_passed = len(proofs) == len(wanted) and all(proof.result is Result.PASSED for proof in proofs.values())
    return 0 if has_passed else NOT_PASSED


def _is_due(plan: Plan, each: NamedCheck, states: CheckFacts) -> bool:
    """Whether a check is run without being named: it is stale, or it was run and has not passed.

    The check of the plan is also run if no task is open and it has not been run yet. A check that nobody has approved
    is left out unless it keeps a task from being done.
    """
    if each.proof is None or each.proof.command != each.check.command:
        is_finished = bool(plan.tasks) and not any(task.status.is_open for task in plan.tasks)
        return each.number == PLAN and is_finished
    return each.number in states.stale or each.proof.result is not Result.PASSED


def _put(args: ParsedArgs, number: int, check: Check, proof: Proof) -> None:
    words = proof_words(check, proof, allowed=proof.result is not Result.REFUSED)
    name = "plan" if number == PLAN else f"#{number}"
    put(f"{MARKS[proof.result]} {name} $ {printable(check_text(check))} · {words}")
    hint = next_step(args, number, proof)
    for line in [*output_lines(proof), *([f"  {hint}"] if hint else [])]:
        put(line)
