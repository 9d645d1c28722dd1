"""`tildone todo` and `tildone todo list`: show the plan, or the tasks that match."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, session_title, shows_positions
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.applying import BEGIN, error_of, with_options
from tildone.commands.answer import Answer
from tildone.commands.search import Search, find
from tildone.typing import TYPE_CHECKING
from tildone.views.plan_lines import plan_lines

if TYPE_CHECKING:
    from tildone.session import Session


def run(args: ParsedArgs) -> int:
    """Print the plan, or how to begin one."""
    session = open_for_reading(args)
    plan = session.plan
    search = Search(args.positional, args.options.get("phase"), args.options.get("status"), args.has("open"))
    found = find(plan, search)
    if isinstance(found, Answer):
        raise error_of(found)
    only = None if search == Search() else {task.number for task in found}
    if args.has("json"):
        # Only --json needs them.
        from tildone.cli.output.data import put_data  # noqa: PLC0415  see above
        from tildone.cli.plan.data import plan_data  # noqa: PLC0415  see above

        put_data(**plan_data(plan, session.name, only=only, positions=shows_positions(args, session)))
    elif plan.tasks and found:
        put_spans(plan_lines(plan, columns(), only=only, positions=shows_positions(args, session)))
    else:
        put(_nothing(args, session))
    return 0


def _nothing(args: ParsedArgs, session: Session) -> str:
    plan = session.plan
    if not plan.tasks:
        return f"No tasks in {session_title(session.name)}. {BEGIN[:1].upper()}{BEGIN[1:]}"
    every = with_options(args, "tildone todo")
    return f"No task matches. To list all {len(plan.tasks)}: {every}"
