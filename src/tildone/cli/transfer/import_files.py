"""`tildone import`: plans and whole histories out of the files of others, into a session."""

from __future__ import annotations

import os

from tildone.cli.opening import open_for_editing, session_title, settings_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.output.summary import plan_summary
from tildone.cli.parsing.args import ParsedArgs
from tildone.cli.transfer.importing import as_data, counted, replace_plan, said_of, take_over
from tildone.cli.transfer.reading import STREAM, FoundHistory, FoundPlan, checked, find_all, shown
from tildone.core.plan import Phase, Plan
from tildone.errors import UsageError
from tildone.formats.conversion import ConversionWarning
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.cli.transfer.importing import Imported


def run(args: ParsedArgs) -> int:
    """Read the files, put the plan among them in place of the session's, and take over the histories."""
    form = checked(args.options.get("from"))
    args = _into(args)
    if args.has("watch"):
        # Late, because few imports go on for long.
        from tildone.cli.transfer.watch import watch  # noqa: PLC0415  see above

        return watch(args, form)
    found = find_all(args.positional, form)
    histories = [each for each in found if isinstance(each, FoundHistory)]
    plans = [each for each in found if isinstance(each, FoundPlan)]
    if len(histories) > 1 and "session" in args.options:
        raise UsageError("several histories do not fit into one session; import them one by one, or without --session")
    done = [take_over(args, each) for each in histories]
    if plans:
        done.append(replace_plan(open_for_editing(args), _together(plans), args))
    _tell(args, done)
    return 0


def _into(args: ParsedArgs) -> ParsedArgs:
    """The command line with --into said as --session.

    Raises:
        UsageError: it says both, and differently.
    """
    name = args.options.get("into")
    if name is None:
        return args
    if args.options.get("session", name) != name:
        raise UsageError("--into and --session name two sessions; say one of them")
    return replace(args, options={**args.options, "session": name})


def _together(plans: Sequence[FoundPlan]) -> FoundPlan:
    """One plan of several, in order. Tasks without a phase are in one of their file's name then."""
    if len(plans) == 1:
        return plans[0]
    phases: list[Phase] = []
    said: list[ConversionWarning] = []
    for found in plans:
        stem = os.path.splitext(os.path.basename(os.path.abspath(found.path)))[0]
        name = "standard input" if found.path == STREAM else stem
        phases += [replace(phase, name=phase.name or name) for phase in found.plan.phases]
        said += [replace(remark, what=f"{remark.what} ({shown(found.path)})") for remark in found.said]
        if any(not phase.name for phase in found.plan.phases):
            said.append(ConversionWarning(f"tasks without a phase in {shown(found.path)} are in phase “{name}”"))
    return FoundPlan(", ".join(shown(found.path) for found in plans), plans[0].form, Plan(tuple(phases)), tuple(said))


def _tell(args: ParsedArgs, done: Sequence[Imported]) -> None:
    if args.has("json"):
        put(codec.dump({"dry_run": args.has("dry-run"), "imported": [as_data(each) for each in done]}))
        return
    here = settings_for(args).session
    for each in done:
        verb = "Would import" if args.has("dry-run") else "Imported"
        put(f"{verb} {printable(shown(each.found.path))}: {counted(each)}{_where(each.session, here)}")
        if args.has("dry-run"):
            _show(each.after)
        else:
            put(plan_summary(each.after) if each.new or each.before != each.after else "Nothing changed.")
        if each.session != here:
            put(f"To see it: tildone todo --session {_quoted(each.session)}")
        said_of(each.found, everything=args.has("verbose"))


def _show(plan: Plan) -> None:
    # Late, because only a trial draws the plan.
    from tildone.views.plan_lines import plan_lines  # noqa: PLC0415  see above

    put_spans(plan_lines(plan, columns()))


def _where(session: str, here: str) -> str:
    return "" if session == here else f", into {printable(session_title(session))}"


def _quoted(session: str) -> str:
    """A session's name, as it is args at a shell."""
    # Late, because most imports are into the session at hand.
    from shlex import quote  # noqa: PLC0415  see above

    return quote(printable(session))
