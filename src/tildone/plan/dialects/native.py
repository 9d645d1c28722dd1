"""Text for models that use the todo tool of their coding agent, and text that all dialects share.

None of it names a tool; the nudge of `by_command` names a command instead. All dialects report changes that others made
to the plan with `describe_changes`.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.base.json import dump
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Status, next_task, numbered, open_tasks, progress
from tildone.plan.text.safe import clipped, safe_text, single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.plan.dialects import Dialect
    from tildone.plan.model import Plan, Task


MAX_TASKS_BY_COMMAND = 5
MAX_TASKS_LISTED = 10
MAX_CHANGES_LISTED = 8
MAX_TEXT_CHARACTERS = 200
MAX_USER_TASKS_LISTED = 3
MAX_LEFT_LISTED = 3

STOPPED = "Stopped by the person (tildone stop). Do nothing more and end your turn. To go on, they say: tildone resume"

PLAN_LOST = "{}\nTell the user now, in these words. Do not make a new plan in its place without asking them."

FENCED = "This run has passed to another worker. Stop: do nothing more and end your turn. Your changes no longer count."

STILL_FENCED = "Refused: the run is another worker's. End your turn."
"""What an agent is answered that was told before."""


def by_command(command: str, options: str = "") -> Dialect:
    """Return the dialect record whose nudge names `command`, which edits the plan, with its options at the end.

    Both are quoted for a shell.
    """
    return replace(
        BY_HAND,
        name="by command",
        carry_on=lambda plan: _nudge(plan, command, options),
        if_waiting=f'If you wait for the user\'s answer: {command} block N "why it waits"{options}',
    )


def _nudge(plan: Plan, command: str, options: str) -> str:
    """Return the nudge, which begins with the next task. Task text appears in the list only."""
    plan = numbered(plan)
    upcoming = next_task(plan)
    first = upcoming[0] if upcoming else 0
    todo = [task for task in plan.tasks[first:] + plan.tasks[:first] if task.status.is_actionable]
    lines = [f"{task.number} {_shown(task.text)}" for task in todo[:MAX_TASKS_BY_COMMAND]]
    lines += [f"+{len(todo) - MAX_TASKS_BY_COMMAND} more"] if len(todo) > MAX_TASKS_BY_COMMAND else []
    listing = "\n".join(lines)
    return (
        f"Your plan is not done:\n{listing}\n"
        f"Go on. Report each task by its number, in a shell: {command} done N{options}\n"
        f"What is not needed: {command} drop N{options}"
    )


def context(plan: Plan) -> str | None:
    if not open_tasks(plan):
        return None
    so_far = progress(plan)
    return f"Your plan ({so_far.closed} of {so_far.total} done); open:\n{_task_list(plan)}"


def carry_on(plan: Plan) -> str:
    """Return the prompt for an agent that stopped with open tasks. Task text appears in the list only."""
    return (
        f"Your todo list is not done:\n{_task_list(plan)}\n"
        "Go on. Keep the list up to date: complete what is done, take out what is not needed."
    )


def user_tasks(plan: Plan) -> str:
    """Return which open tasks a person added, to follow a text that does not tell; empty if none.

    Task text appears in a list only.
    """
    tasks = [task for _, task in open_tasks(plan)]
    added = [task for task in tasks if task.from_user]
    if not added:
        return ""
    if len(added) == len(tasks):
        return "All open tasks are from the user."
    lines = [f"- {_shown(task.text)}" for task in added[:MAX_USER_TASKS_LISTED]]
    if len(added) > MAX_USER_TASKS_LISTED:
        lines.append(f"- and {len(added) - MAX_USER_TASKS_LISTED} more")
    return "\n".join(["From the user:", *lines])


def left_over(tasks: Sequence[Task], how: str, *, numbered: bool) -> str:
    """Say in one line which tasks an earlier conversation left open, and how one is taken up."""
    listed = [f"{f'{task.number} ' if numbered else ''}{_shown(task.text)}" for task in tasks[:MAX_LEFT_LISTED]]
    if len(tasks) > MAX_LEFT_LISTED:
        listed.append(f"+{len(tasks) - MAX_LEFT_LISTED} more")
    return f"Left open by an earlier conversation, not yours: {'; '.join(listed)}. If the user wants it done: {how}"


def to_start(dialect: Dialect, plan: Plan, task: Task, command: tuple[str, str] | None) -> str:
    """Return how a model starts a task: by a call, by a `command` with its options, or in a list of its own."""
    if dialect.phrasing is None or any(tool.whole_list for tool in dialect.tools):
        return "put it on your list"
    if command is not None:
        return f"{command[0]} start {task.number}{command[1]}"
    position = [each.number for each in plan.tasks].index(task.number)
    tool, arguments = dialect.phrasing.mark(plan, position, Status.IN_PROGRESS)
    return safe_text(f"{tool} {dump(arguments)}")


def describe_changes(changes: Sequence[str], authors: Sequence[str] = ()) -> str:
    """Return one sentence that lists the changes to a plan since its model last saw it, and their authors."""
    listed = [_shown(change) for change in changes[:MAX_CHANGES_LISTED]]
    if len(changes) > MAX_CHANGES_LISTED:
        listed.append(f"and {len(changes) - MAX_CHANGES_LISTED} more changes")
    by = f" (by {', '.join(authors)})" if authors else ""
    return f"Your plan was changed since you last saw it{by}: {'; '.join(listed)}."


def describe_kept(kept: Sequence[Task], gone: Sequence[Task], *, numbers: bool) -> str:
    """Return which tasks are as others decided, and which they removed, unlike in the list that a model has itself."""
    facts = [f"{_named(task, numbers=numbers)} is {_DECIDED.get(task.status, 'open')}" for task in kept]
    facts += [f"{_named(task, numbers=numbers)} was removed" for task in gone]
    if len(facts) > MAX_CHANGES_LISTED:
        facts[MAX_CHANGES_LISTED:] = [f"{len(facts) - MAX_CHANGES_LISTED} more differ"]
    return f"Your plan stays as it is: {'; '.join(facts)}. Change your own list accordingly."


_DECIDED = {Status.COMPLETED: "done", Status.ABANDONED: "dropped", Status.BLOCKED: "blocked"}


def _named(task: Task, *, numbers: bool) -> str:
    return f"#{task.number} “{_shown(task.text)}”" if numbers else f"“{_shown(task.text)}”"


def _task_list(plan: Plan) -> str:
    tasks = [task for _, task in open_tasks(plan)]
    listed = tasks[:MAX_TASKS_LISTED]
    mark = "-" if all(task.from_user for task in listed) else "*"
    lines = [f"{mark if task.from_user else '-'} {_shown(task.text)}{_status_suffix(task)}" for task in listed]
    if len(tasks) > MAX_TASKS_LISTED:
        lines.append(f"- and {len(tasks) - MAX_TASKS_LISTED} more")
    if any(task.from_user for task in listed):
        lines.append(f"({'all' if mark == '-' else mark} from the user)")
    return "\n".join(lines)


def _status_suffix(task: Task) -> str:
    match task.status:
        case Status.IN_PROGRESS:
            return " (in progress)"
        case Status.BLOCKED if task.notes:
            return f" (waits: {_shown(task.notes[-1])})"
        case Status.BLOCKED:
            return " (waits for somebody else)"
        case status:
            return "" if status is Status.PENDING else f" ({status.value})"


def _shown(text: str) -> str:
    return clipped(safe_text(single_line(text)), MAX_TEXT_CHARACTERS)


NATIVE = replace(BY_HAND, name="native", context=context, carry_on=carry_on, marks_origins=True, names_tools=False)
