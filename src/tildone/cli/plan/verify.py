"""`tildone verify`: run checks, and record what came of them."""

from __future__ import annotations

from tildone.app.check_facts import NO_FACTS, check_facts
from tildone.cli.opening import open_for_editing
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.check_progress import CheckProgress
from tildone.cli.plan.check_report import NOT_PASSED, next_step, output_lines
from tildone.cli.plan.check_targets import NamedCheck, check_data, checks_of, targets_of
from tildone.core.check import Result
from tildone.core.guard import PLAN
from tildone.core.ops import Mark, Numbered
from tildone.core.plan import Status
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.proofs import check_text, proof_words
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.app.check_facts import CheckFacts
    from tildone.core.check import Proof
    from tildone.core.plan import Plan
    from tildone.session import Session

MARKS = {Result.PASSED: "✓", Result.FAILED: "✗", Result.INCONCLUSIVE: "!", Result.REFUSED: "!"}


def run(args: ParsedArgs) -> int:
    """Run the checks that the arguments name, else those that have to be run, and print a line for each."""
    session = open_for_editing(args)
    plan = session.plan
    named = targets_of(args, session)
    states = check_facts(session, plan)
    wanted = [each for each in checks_of(plan) if each.number in named or (not named and _is_due(plan, each, states))]
    run_ones = _prove(args, session, wanted)
    _record(session, plan, run_ones)
    if args.has("json"):
        put_data(session=session.name, checks=[check_data(each, _refused(run_ones)) for each in run_ones])
    elif not run_ones:
        put("There is nothing to verify." if checks_of(plan) else "The plan has no checks.")
    return 0 if all(each.proof and each.proof.result is Result.PASSED for each in run_ones) else NOT_PASSED


def _is_due(plan: Plan, each: NamedCheck, states: CheckFacts) -> bool:
    """Whether a check is run without being named: it is stale, or it was run and has not passed.

    The check of the plan is also run if no task is open and it has not been run yet. A check that nobody has approved
    is left out unless it keeps a task from being done.
    """
    if each.proof is None or each.proof.command != each.check.command:
        is_finished = bool(plan.tasks) and not any(task.status.is_open for task in plan.tasks)
        return each.number == PLAN and is_finished
    return each.number in states.stale or each.proof.result is not Result.PASSED


def _prove(args: ParsedArgs, session: Session, wanted: list[NamedCheck]) -> list[NamedCheck]:
    """Run checks one after the other, each command once, and print what came of each."""
    done: dict[object, Proof] = {}
    found = []
    with CheckProgress(session) as progress:
        prover = session.prover() if session.prover is not None and wanted else None
        for each in wanted:
            if prover is not None and each.check not in done:
                done[each.check] = prover.prove({each.number: each.check})[each.number]
                progress.clear()
            found.append(replace(each, proof=done.get(each.check)))
            if not args.has("json"):
                _put(args, found[-1])
    return found


def _put(args: ParsedArgs, each: NamedCheck) -> None:
    proof = each.proof
    if proof is None:
        return
    words = proof_words(each.check, proof, allowed=proof.result is not Result.REFUSED)
    name = "plan" if each.number == PLAN else f"#{each.number}"
    put(f"{MARKS[proof.result]} {name} $ {printable(check_text(each.check))} · {words}")
    hint = next_step(args, each.number, proof)
    for line in [*output_lines(proof), *([f"  {hint}"] if hint else [])]:
        put(line)


def _record(session: Session, plan: Plan, found: list[NamedCheck]) -> None:
    """Record the proofs. A task that was blocked for want of a result can be worked on again."""
    proofs = {each.number: each.proof for each in found if each.proof is not None}
    if not proofs:
        return
    session.record_proofs(proofs)
    freed = tuple(
        task.number
        for task in plan.tasks
        if task.status is Status.BLOCKED
        and task.proof is not None
        and task.proof.result.blocks
        and task.number in proofs
        and not proofs[task.number].result.blocks
    )
    if freed:
        session.change((Mark(Numbered(freed), Status.PENDING),))


def _refused(found: list[NamedCheck]) -> CheckFacts:
    """The states of checks that were just run: those that were refused are proposed, and none is stale."""
    refused = (each.number for each in found if each.proof is not None and each.proof.result is Result.REFUSED)
    return replace(NO_FACTS, proposed=frozenset(refused))
