"""`tildone verify`: run checks, and record what came of them."""

from __future__ import annotations

from collections.abc import Container

from tildone.app.check_states import NO_FACTS, CheckFacts, check_facts, owner_name
from tildone.app.commands import Answer, find_tasks, label
from tildone.app.edits import error_of
from tildone.base import Refused, replace, value
from tildone.cli.opening import open_for_editing, shows_positions
from tildone.cli.output import put
from tildone.cli.output.prompts import put_data
from tildone.cli.plan.applying import words
from tildone.cli.plan.check_progress import NOT_PASSED, CheckProgress, output_lines, session_checks
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.check_codec import check_to_json, proof_to_json
from tildone.plan.guard import PLAN
from tildone.plan.model import Check, Plan, Proof, Result
from tildone.plan.text.lists import STALE
from tildone.plan.text.proofs import check_text, proof_words
from tildone.plan.text.safe import printable


@value
class NamedCheck:
    """A check, its last proof, and whose it is; `number` is PLAN for that of the plan."""

    number: int
    name: str
    check: Check
    proof: Proof | None


def checks_of(plan: Plan, numbers: Container[int] | None = None) -> list[NamedCheck]:
    """Return the checks in a plan, that of the plan itself last; with `numbers`, only those of these tasks."""
    checks = [NamedCheck(task.number, label(task), task.check, task.proof) for task in plan.tasks if task.check]
    if plan.check is not None:
        checks.append(NamedCheck(PLAN, "the plan", plan.check, plan.proof))
    return [each for each in checks if numbers is None or each.number in numbers]


def targets_of(args: ParsedArgs, session: Session) -> frozenset[int]:
    """Return the numbers of the tasks that the arguments name, and PLAN with `--plan`; empty if they name none."""
    plan = session.plan
    numbers = [PLAN] if args.has("plan") else []
    if args.positional:
        found = find_tasks(plan, words(args), positions=shows_positions(args, session))
        if isinstance(found, Answer):
            raise error_of(found)
        numbers += found.numbers
    known = {each.number for each in checks_of(plan)}
    without = [number for number in numbers if number not in known]
    if without:
        raise Refused(f"{owner_name(without[0])} has no check; to set one: tildone todo check TASK -- COMMAND")
    return frozenset(numbers)


def state_words(each: NamedCheck, states: CheckFacts) -> str:
    is_stale = each.number in states.stale
    if is_stale and each.number != PLAN:
        return STALE
    allowed = each.number not in states.proposed
    return proof_words(each.check, each.proof, stale=is_stale, allowed=allowed) or "not run yet"


def check_data(each: NamedCheck, states: CheckFacts) -> dict[str, object]:
    """Return a check with its proof and its state; `number` is None for that of the plan."""
    stale = {"stale": True} if each.number in states.stale else {}
    proof = {} if each.proof is None else {"proof": proof_to_json(each.proof)}
    approved = each.number not in states.proposed
    return {"number": each.number or None, "check": check_to_json(each.check), **proof, "approved": approved, **stale}


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
    for line in output_lines(args, number, proof):
        put(line)
