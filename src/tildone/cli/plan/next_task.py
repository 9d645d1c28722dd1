"""`tildone todo next`: show the task to work on now."""

from collections.abc import Iterable

from tildone.app.check_states import CheckFacts, check_facts
from tildone.app.commands import label
from tildone.app.look import next_data
from tildone.app.opening import agent_here, claims_of_others
from tildone.base import replace
from tildone.cli.opening import no_tasks, open_for_reading, settings_for, shows_positions
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.claims import Claim, next_free
from tildone.plan.guard import is_unproved
from tildone.plan.model import Plan, Status, Task, conflicting, is_ready, next_task, open_tasks, waiting_tasks
from tildone.plan.text.lists import task_lines
from tildone.plan.text.safe import printable, short_agent

MAX_LINES = 5
NOTHING_READY = "Nothing is ready for you: other agents have what is left, or it waits for them."


def run(args: ParsedArgs) -> int:
    """Print the task in progress, else the first that can be worked on, with its notes.

    In the shell of an agent, tasks of other agents are not offered, nor what has to wait for them.
    """
    session = open_for_reading(args)
    plan = session.plan
    agent, claims = _agent_and_claims(args, session)
    upcoming = _next_of_agent(plan, claims) if agent else next_task(plan)
    checks = check_facts(session, plan)
    if args.has("json"):
        positions = shows_positions(args, session)
        put_data(**next_data(plan, session.name, upcoming, claims=claims, positions=positions, checks=checks))
    elif not plan.tasks:
        put(no_tasks(session.name))
    else:
        if upcoming is not None:
            position, task = upcoming
            place = position if shows_positions(args, session) else None
            put_spans(task_lines(task, columns(), place, proposed=checks.proposed))
        else:
            put(NOTHING_READY if agent and claims else _nothing_left(plan, checks))
        _put_claimed(plan, claims)
        _put_waiting(plan, {claim.task for claim in claims} if agent else set())
    return 0


def _agent_and_claims(args: ParsedArgs, session: Session) -> tuple[str, list[Claim]]:
    """Return the agent in whose shell this is, and the claims of the others; of all agents if it is a person's."""
    if not any(claim.is_held for claim in session.store.records.claims(session.name)):
        return "", []
    settings = replace(settings_for(args), session=session.name)
    agent = agent_here(settings)
    return agent, claims_of_others(settings, session.store, agent)


def _next_of_agent(plan: Plan, claims: list[Claim]) -> tuple[int, Task] | None:
    """Return the task that an agent can work on: one in progress that no other has, else the next that is free."""
    taken = frozenset(claim.task for claim in claims)
    active = [task for task in plan.tasks if task.status is Status.IN_PROGRESS and task.number not in taken]
    found = active[0] if active else next_free(plan, taken)
    return (plan.tasks.index(found), found) if found else None


def _put_claimed(plan: Plan, claims: list[Claim]) -> None:
    tasks = {task.number: task for task in plan.tasks}
    shown = [claim for claim in claims if claim.task in tasks]
    for claim in shown[:MAX_LINES]:
        put(f"Claimed: #{claim.task} {printable(tasks[claim.task].text)} (by {short_agent(claim.agent)})")
    if len(shown) > MAX_LINES:
        put(f"Claimed: {len(shown) - MAX_LINES} more")


def _put_waiting(plan: Plan, taken: set[int]) -> None:
    """Print which tasks wait for which others, because of the order or of the files that they change, a line each."""
    waiting = [
        (task, f"after {_numbers(others)}")
        for task, others in waiting_tasks(plan)
        if task.status is not Status.IN_PROGRESS
    ]
    if taken:
        ready = [task for task in plan.tasks if task.status is Status.PENDING and is_ready(plan, task)]
        rivals = ((task, conflicting(plan, task, taken)) for task in ready if task.number not in taken)
        waiting += [(task, f"may change the files of {_numbers(others)}") for task, others in rivals if others]
    for task, why in waiting[:MAX_LINES]:
        put(f"Waiting: #{task.number} {printable(task.text)} ({why})")
    if len(waiting) > MAX_LINES:
        put(f"Waiting: {len(waiting) - MAX_LINES} more")


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _nothing_left(plan: Plan, checks: CheckFacts) -> str:
    blocked = [task for _, task in open_tasks(plan) if not task.status.is_actionable]
    if not blocked and checks.stale:
        return f"Nothing is open, but proofs are stale: all {len(plan.tasks)} tasks are closed. Run: tildone verify"
    if not blocked and is_unproved(plan):
        return "All tasks are closed, but the check of the plan has not passed. Run: tildone verify"
    if not blocked:
        return f"Nothing is left to do: all {len(plan.tasks)} tasks are closed."
    first = blocked[0]
    why = f" ({printable(first.notes[-1])})" if first.notes else ""
    verb = "is" if len(blocked) == 1 else f"and {len(blocked) - 1} more are"
    return f"Nothing can be done now: {printable(label(first))}{why} {verb} blocked."
