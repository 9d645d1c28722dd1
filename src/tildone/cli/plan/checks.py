"""`tildone verify`, `approve` and `todo check`: run checks, let them run, set and show them."""

import os
from collections.abc import Container

from tildone.app.check_states import NO_FACTS, CheckFacts, check_facts, owner_name
from tildone.app.commands import Answer, find_task, find_tasks, label
from tildone.app.edits import error_of, sentence
from tildone.app.settings import Settings
from tildone.app.who import PersonAct
from tildone.base import Refused, UsageError, replace, value
from tildone.base.ids import local_time
from tildone.cli.opening import (
    command_hint,
    open_for_editing,
    open_for_reading,
    settings_for,
    shows_positions,
    working_folder,
)
from tildone.cli.output import put, put_caution, put_notice
from tildone.cli.output.prompts import person_agrees, put_data
from tildone.cli.plan.applying import put_edited, words
from tildone.cli.plan.check_progress import NOT_PASSED, CheckProgress, output_lines, put_warnings, session_checks
from tildone.cli.table import ParsedArgs, command
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.check_codec import check_to_json, proof_to_json
from tildone.plan.guard import PLAN
from tildone.plan.model import DEFAULT_SECONDS, Check, Plan, Proof, Result, Task
from tildone.plan.text.lists import STALE
from tildone.plan.text.proofs import check_caution, check_text, program_words, proof_words
from tildone.plan.text.safe import printable, short_agent


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


def verify(args: ParsedArgs) -> int:
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


def approve(args: ParsedArgs) -> int:
    names_some = bool(args.positional) or args.has("plan") or args.has("all")
    if args.has("all") and (args.positional or args.has("plan")):
        raise UsageError("--all means all proposed checks; leave out the others")
    session = open_for_editing(args) if names_some else open_for_reading(args)
    settings = settings_for(args)
    named = targets_of(args, session)
    states = check_facts(session, session.plan)
    proposed = [each for each in checks_of(session.plan, named or None) if each.number in states.proposed]
    if args.has("json") and not (proposed and names_some):
        put_data(session=session.name, checks=[check_data(each, states) for each in proposed])
        return 0
    if not args.has("json"):
        for each in proposed:
            show_check(each)
    if not proposed:
        put("No check waits for approval.")
        return 0
    if not names_some:
        put(f"To approve them: {command_hint(args, 'approve TASK…')}, or --all")
        return 0
    question = "Let this command run as a check?" if len(proposed) == 1 else "Let these commands run as checks?"
    if not person_agrees(args, settings, PersonAct.APPROVE, question):
        put("Nothing was changed.")
        return 1
    with session_checks(args, session) as checks:
        _, warnings = checks.approve(session, [each.check for each in proposed])
    put_warnings(warnings)
    # If no task is open, the check of the plan was run at once.
    plan = session.plan
    found, states = checks_of(plan, {each.number for each in proposed}), check_facts(session, plan)
    if args.has("json"):
        put_data(session=session.name, checks=[check_data(each, states) for each in found])
        return 0
    put(f"Approved: {', '.join(printable(each.name) for each in found)}")
    for each in found:
        if each.number == PLAN and each.proof is not None:
            put(f"The check of the plan was run: {state_words(each, states)}")
    return 0


def show_check(each: NamedCheck, note: str = "") -> None:
    """Print whose check it is, the exact arguments of its command, and the folder it is run in."""
    put(f"{printable(sentence(each.name))}{note}")
    put(f"  command: {printable(codec.dump(list(each.check.command)))}")
    put(f"  folder:  {printable(each.check.folder or '.')}")
    put_caution(check_caution(each.check))


DETAILS = ("folder", "seconds", "retries", "watch")
"""The options that describe a check."""

MAX_SECONDS, MAX_RETRIES = 86_400, 100


def check_verb(args: ParsedArgs) -> int:
    words(args)
    if args.has("remove") and (args.command or any(map(args.has, DETAILS))):
        raise UsageError("--remove takes neither a command nor the options of a check")
    if args.has("plan") and args.positional:
        raise UsageError(f"--plan means the plan's own check; leave out {' '.join(args.positional)!r}")
    if args.command or args.has("remove") or any(map(args.has, DETAILS)):
        session = open_for_editing(args)
        target = _target(args, session)
        was = (session.plan if target is None else target).check
        number = PLAN if target is None else target.number
        check = None if args.has("remove") else _described(args, settings_for(args), was)
        with session_checks(args, session) as checks:
            found = checks.set_check(session, number, check, was)
        code = put_edited(args, session, found.edited)
        put_warnings(() if code else found.warnings)
        if check is not None and not found.approved:
            named = "--plan" if target is None else str(number)
            put_notice(
                f"tildone: the check is only proposed, because {found.nobody}; "
                f"a person approves it with: {command_hint(args, f'approve {named}')}"
            )
        return code
    return _show_checks(args)


def _target(args: ParsedArgs, session: Session) -> Task | None:
    """The task that the arguments name; None for the plan."""
    if args.has("plan"):
        return None
    if not args.positional:
        raise UsageError(f"which task? {command(args.path)} TASK -- COMMAND; for the plan: --plan")
    found = find_task(session.plan, args.positional, positions=shows_positions(args, session))
    if not isinstance(found, Answer):
        return found
    error = error_of(found)
    if len(args.positional) > 1 and not args.command:
        raise type(error)(f"{error}\na command follows --: {command(args.path)} TASK -- COMMAND")
    raise error


def _described(args: ParsedArgs, settings: Settings, before: Check | None) -> Check:
    """The check that the command line describes. Without a command, it is the present one with other options."""
    if before is None and not args.command:
        raise UsageError(f"which command? {command(args.path)} TASK -- COMMAND")
    check = Check(args.command) if args.command or before is None else before
    return replace(
        check,
        folder=_folder(args, settings) if args.has("folder") else check.folder,
        seconds=args.positive_int("seconds", check.seconds, MAX_SECONDS),
        retries=args.positive_int("retries", check.retries, MAX_RETRIES),
        watches=args.values("watch") or check.watches,
    )


def _folder(args: ParsedArgs, settings: Settings) -> str:
    given = args.options["folder"]
    path = os.path.realpath(os.path.join(working_folder(), given))
    relative = os.path.relpath(path, os.path.realpath(settings.project))
    if not os.path.isdir(path) or relative.split(os.sep)[0] == os.pardir:
        raise UsageError(f"--folder requires a folder in {settings.project}, not {given!r}")
    return "" if relative == os.curdir else relative.replace(os.sep, "/")


def _show_checks(args: ParsedArgs) -> int:
    session = open_for_reading(args)
    plan = session.plan
    numbers = None
    if args.has("plan") or args.positional:
        target = _target(args, session)
        numbers = {PLAN if target is None else target.number}
    found, states = checks_of(plan, numbers), check_facts(session, plan)
    if args.has("json"):
        put_data(session=session.name, checks=[check_data(each, states) for each in found])
        return 0
    if not found:
        put("There is no check. To set one: tildone todo check TASK -- COMMAND")
    for each in found:
        put(printable(sentence(each.name)))
        put(f"  $ {printable(check_text(each.check))} · {state_words(each, states)}")
        for line in _details(each):
            put(f"  {printable(line)}")
    return 0


def _details(each: NamedCheck) -> list[str]:
    """What differs from the defaults, and the last run."""
    check, proof = each.check, each.proof
    lines = [f"in {check.folder}"] if check.folder else []
    if check.seconds != DEFAULT_SECONDS:
        lines.append(f"at most {check.seconds} s")
    if check.retries:
        lines.append(f"retried {check.retries} times")
    if check.watches:
        lines.append(f"watches {', '.join(check.watches)}")
    if proof is not None and proof.at:
        by = f" by {short_agent(proof.by) if ':' in proof.by else proof.by}" if proof.by else ""
        lines.append(f"last run {local_time(proof.at)}{by}, {proof.milliseconds / 1000:.1f} s")
    if proof is not None and proof.program:
        lines.append(f"ran {program_words(proof)}")
    return [*lines, f"output: {proof.output}"] if proof is not None and proof.output else lines
