"""`tildone approve`: let checks run that somebody else has written, after showing them."""

from __future__ import annotations

from tildone.app.check_states import check_facts
from tildone.app.edits import sentence
from tildone.app.who import PersonAct
from tildone.base import UsageError
from tildone.cli.opening import open_for_editing, open_for_reading, settings_for
from tildone.cli.output import put, put_caution
from tildone.cli.output.prompts import person_agrees, put_data
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.plan.hints import command_hint
from tildone.cli.plan.verify import NamedCheck, check_data, checks_of, state_words, targets_of
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.guard import PLAN
from tildone.plan.text.proofs import check_caution
from tildone.plan.text.safe import printable


def run(args: ParsedArgs) -> int:
    """Show the proposed checks that are meant, and approve them if the person agrees; show all if none is named."""
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
        _show(proposed)
    if not proposed:
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
    _report(args, session, {each.number for each in proposed})
    return 0


def _report(args: ParsedArgs, session: Session, numbers: set[int]) -> None:
    """Print what was approved. If no task is open, the check of the plan was run at once."""
    plan = session.plan
    found, states = checks_of(plan, numbers), check_facts(session, plan)
    if args.has("json"):
        put_data(session=session.name, checks=[check_data(each, states) for each in found])
        return
    put(f"Approved: {', '.join(printable(each.name) for each in found)}")
    for each in found:
        if each.number == PLAN and each.proof is not None:
            put(f"The check of the plan was run: {state_words(each, states)}")


def _show(proposed: list[NamedCheck]) -> None:
    if not proposed:
        put("No check waits for approval.")
    for each in proposed:
        show_check(each)


def show_check(each: NamedCheck, note: str = "") -> None:
    """Print whose check it is, the exact arguments of its command, and the folder it is run in."""
    put(f"{printable(sentence(each.name))}{note}")
    put(f"  command: {printable(codec.dump(list(each.check.command)))}")
    put(f"  folder:  {printable(each.check.folder or '.')}")
    put_caution(check_caution(each.check))
