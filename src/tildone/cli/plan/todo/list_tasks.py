"""`tildone todo` and `tildone todo list`: show the plan, or the tasks that match."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, shows_positions
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.hints import command_hint, error_of, no_tasks
from tildone.typing import TYPE_CHECKING
from tildone.views.plan_lines import plan_lines

if TYPE_CHECKING:
    from tildone.core.plan import Plan


def run(args: ParsedArgs) -> int:
    """Print the plan, or how to begin one."""
    session = open_for_reading(args)
    plan = session.plan
    only = _matching(args, plan)
    if args.has("json"):
        # Only --json needs them.
        from tildone.cli.output.data import put_data  # noqa: PLC0415  see above
        from tildone.cli.plan.data import plan_data  # noqa: PLC0415  see above

        put_data(**plan_data(plan, session.name, only=only, positions=shows_positions(args, session)))
    elif not plan.tasks:
        put(no_tasks(session.name))
    elif only is not None and not only:
        put(f"No task matches. To list all {len(plan.tasks)}: {command_hint(args, 'todo')}")
    else:
        put_spans(plan_lines(plan, columns(), only=only, positions=shows_positions(args, session)))
    return 0


def _matching(args: ParsedArgs, plan: Plan) -> set[int] | None:
    """The numbers of the tasks to show; None for all.

    Raises:
        TildoneError: there is no such phase or status.
    """
    if not args.positional and not {"phase", "status", "open"}.intersection(args.options):
        return None
    # Late, because most often the whole plan is shown.
    from tildone.commands.answer import Answer  # noqa: PLC0415  see above
    from tildone.commands.search import Search, find  # noqa: PLC0415  see above

    found = find(plan, Search(args.positional, args.options.get("phase"), args.options.get("status"), args.has("open")))
    if isinstance(found, Answer):
        raise error_of(found)
    return {task.number for task in found}
