"""`tildone todo` and `tildone todo list`: show the plan, or the tasks that match."""

from __future__ import annotations

from tildone.app.check_states import check_facts
from tildone.base import TYPE_CHECKING, replace
from tildone.cli.opening import command_hint, no_tasks, open_for_reading, settings_for, shows_positions
from tildone.cli.output import columns, put, put_spans
from tildone.cli.table import ParsedArgs
from tildone.plan.text.lists import plan_lines

if TYPE_CHECKING:
    from tildone.app.plan_agents import PlanAgents
    from tildone.log.session import Session
    from tildone.plan.model import Plan


def run(args: ParsedArgs) -> int:
    session = open_for_reading(args)
    plan = session.plan
    only = _matching(args, plan)
    if args.has("json"):
        # Only --json needs them.
        from tildone.app.look import plan_data
        from tildone.cli.output.prompts import put_data
        from tildone.cli.output.titles import sharing_data

        checks = check_facts(session, plan)
        data = plan_data(plan, session.name, only=only, positions=shows_positions(args, session), checks=checks)
        put_data(**data, **sharing_data(_agents(args, session)))
    elif not plan.tasks:
        put(no_tasks(session.name))
    elif only is not None and not only:
        put(f"No task matches. To list all {len(plan.tasks)}: {command_hint(args, 'todo')}")
    else:
        checks, positions = check_facts(session, plan), shows_positions(args, session)
        lines = plan_lines(
            plan, columns(), only=only, positions=positions, stale=checks.stale, proposed=checks.proposed
        )
        put_spans(lines)
    if only is None and not args.has("json"):
        # Who shares the plan, and the lists of subagents: a line for each.
        found = _agents(args, session)
        if found.shared or found.subagents:
            # Late, because most plans have one agent.
            from tildone.cli.output.titles import sharing_lines

            put_spans(sharing_lines(found, columns()))
    return 0


def _agents(args: ParsedArgs, session: Session) -> PlanAgents:
    # Late: `tildone todo` is often called by programs that only add a task.
    from tildone.app.plan_agents import plan_agents

    return plan_agents(replace(settings_for(args), session=session.name), session.store)


def _matching(args: ParsedArgs, plan: Plan) -> set[int] | None:
    """The numbers of the tasks to show; None for all."""
    if not args.positional and not {"phase", "status", "open"}.intersection(args.options):
        return None
    # Late, because most often the whole plan is shown.
    from tildone.app.commands import Answer, Search, find

    found = find(plan, Search(args.positional, args.options.get("phase"), args.options.get("status"), args.has("open")))
    if isinstance(found, Answer):
        from tildone.app.edits import error_of

        raise error_of(found)
    return {task.number for task in found}
