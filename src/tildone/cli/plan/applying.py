"""Makes the changes of a command, and prints what came of them."""

from __future__ import annotations

import sys

from tildone.app.commands import took_away
from tildone.app.edits import edit
from tildone.base import TYPE_CHECKING, UsageError
from tildone.cli.opening import command_hint, shows_positions
from tildone.cli.output import on_terminal, put, put_notice
from tildone.cli.output.prompts import confirm, plan_summary
from tildone.cli.table import ParsedArgs, command
from tildone.plan.events import Actor
from tildone.plan.model import has_checks
from tildone.plan.text.safe import printable_lines

if TYPE_CHECKING:
    from tildone.app.commands import Answer
    from tildone.app.edits import Edited
    from tildone.log.session import Session


def apply_answer(args: ParsedArgs, session: Session, answer: Answer, actor: Actor = Actor.USER) -> int:
    """Make the changes; print what was done and the state of the plan, or the plan as JSON.

    Raises TildoneError, after which nothing has changed; the class tells the kind of error.
    """
    if not has_checks(session.last_state.plan):
        return put_edited(args, session, edit(session, answer, actor=actor))
    # Late, because most plans have no checks.
    from tildone.cli.plan.check_progress import session_checks

    with session_checks(args, session) as checks:
        edited = edit(session, answer, actor=actor, complete=checks.complete)
    return put_edited(args, session, edited)


def put_edited(args: ParsedArgs, session: Session, edited: Edited) -> int:
    """Print what was done and the state of the plan, or the plan as JSON, and return the exit code."""
    outcome = edited.outcome
    if edited.news:
        put_notice(edited.news)
    code = 0
    if (edited.marks_done or outcome.unproved) and has_checks(outcome.after):
        # Late, because most plans have no checks.
        from tildone.cli.plan.check_progress import report_unproved

        code = report_unproved(args, edited)
    if args.has("json"):
        # Only --json needs them.
        from tildone.app.check_states import check_facts
        from tildone.app.look import change_data
        from tildone.cli.output.prompts import put_data

        positions, checks = shows_positions(args, session), check_facts(session, outcome.after)
        put_data(**change_data(outcome, session.name, positions=positions, checks=checks))
        return code
    for text in () if edited.marks_done and outcome.unproved else edited.texts:
        put("\n".join(printable_lines(text)))
    if not edited.changes:
        return code
    if not outcome.changed:
        put("Nothing changed.")
        return code
    if not edited.texts:
        put("\n".join(printable_lines(edited.text)))
    put(plan_summary(outcome.after))
    if took_away(outcome.before, outcome.after):
        put(f"To undo: {command_hint(args, 'undo')}")
    return code


def words(args: ParsedArgs) -> tuple[str, ...]:
    if not all(word.strip() for word in args.positional):
        raise UsageError(f"{command(args.path)} was given an empty argument")
    return args.positional


def confirmed(args: ParsedArgs, question: str) -> bool:
    """Whether a change of all tasks is wanted: with --all, or if the person at the terminal says so."""
    if args.has("all"):
        return True
    name = command(args.path)
    if args.has("json") or not sys.stdin.isatty() or not on_terminal(sys.stderr):
        raise UsageError(f"which task? {name} TASK; for all tasks: {name} --all")
    return confirm(question)
