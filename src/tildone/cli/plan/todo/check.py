"""`tildone todo check`: set, show or remove the check of a task or of the plan."""

from __future__ import annotations

import os

from tildone.app.check_states import check_facts
from tildone.app.commands import Answer, find_task
from tildone.app.edits import error_of, sentence
from tildone.app.settings import Settings
from tildone.base import UsageError, replace
from tildone.base.ids import local_time
from tildone.cli.opening import open_for_editing, open_for_reading, settings_for, shows_positions, working_folder
from tildone.cli.output import put, put_notice
from tildone.cli.output.prompts import put_data
from tildone.cli.plan.applying import put_edited, words
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.plan.hints import command_hint
from tildone.cli.plan.verify import NamedCheck, check_data, checks_of, state_words
from tildone.cli.table import ParsedArgs, command
from tildone.log.session import Session
from tildone.plan.guard import PLAN
from tildone.plan.model import DEFAULT_SECONDS, Check, Task
from tildone.plan.text.proofs import check_text, program_words
from tildone.plan.text.safe import printable

DETAILS = ("folder", "seconds", "retries", "watch")
"""The options that describe a check."""

MAX_SECONDS, MAX_RETRIES = 86_400, 100


def run(args: ParsedArgs) -> int:
    """Set the check if there is a command, change it if there are options, remove it, or show it."""
    words(args)
    if args.has("remove") and (args.command or any(map(args.has, DETAILS))):
        raise UsageError("--remove takes neither a command nor the options of a check")
    if args.has("plan") and args.positional:
        raise UsageError(f"--plan means the plan's own check; leave out {' '.join(args.positional)!r}")
    if args.command or args.has("remove") or any(map(args.has, DETAILS)):
        return _change(args)
    return _show(args)


def _change(args: ParsedArgs) -> int:
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
    """The folder of the option, relative to the project."""
    given = args.options["folder"]
    path = os.path.realpath(os.path.join(working_folder(), given))
    relative = os.path.relpath(path, os.path.realpath(settings.project))
    if not os.path.isdir(path) or relative.split(os.sep)[0] == os.pardir:
        raise UsageError(f"--folder requires a folder in {settings.project}, not {given!r}")
    return "" if relative == os.curdir else relative.replace(os.sep, "/")


def _show(args: ParsedArgs) -> int:
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
        by = f" by {proof.by}" if proof.by else ""
        lines.append(f"last run {local_time(proof.at)}{by}, {proof.milliseconds / 1000:.1f} s")
    if proof is not None and proof.program:
        lines.append(f"ran {program_words(proof)}")
    return [*lines, f"output: {proof.output}"] if proof is not None and proof.output else lines
