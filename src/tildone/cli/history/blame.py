"""`tildone blame`: show who added and who closed each task, and in which call."""

from __future__ import annotations

from tildone.app.commands import task_number
from tildone.base import TYPE_CHECKING, NotFound
from tildone.base.ids import local_time, timestamp
from tildone.cli.opening import open_for_reading
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.plan.hints import no_tasks
from tildone.cli.table import ParsedArgs
from tildone.plan.history.blame import blame_lines, task_histories
from tildone.plan.history.refs import HEAD, resolve, short_ids
from tildone.plan.history.timeline import task_data, whole_step_data

if TYPE_CHECKING:
    from tildone.plan.history.blame import TaskHistory

MAX_NUMBERS_LISTED = 20


def run(args: ParsedArgs) -> int:
    """Show who added and closed each task, or the whole history of the matching ones."""
    session = open_for_reading(args)
    store, name = session.store, session.name
    head = resolve(store, name, args.options.get("at", HEAD))
    events = list(store.history(name, head)) if head is not None else []
    histories = task_histories(reversed(events))
    query = " ".join(args.positional)
    found = (
        _matching(histories, query) if args.positional else [entry for entry in histories if entry.position is not None]
    )
    if args.has("json"):
        put_data(session=name, at=head, tasks=[_as_data(entry, whole=bool(args.positional)) for entry in found])
    elif found:
        short = short_ids(event.id for event in events)
        put_spans(blame_lines(found, local_time, short, columns(), whole=bool(args.positional)))
    else:
        put(no_tasks(name))
    return 0


def _matching(histories: list[TaskHistory], query: str) -> list[TaskHistory]:
    """The tasks that a number or a part of a text matches; removed tasks only if no other matches."""
    current = [entry for entry in histories if entry.position is not None]
    number = task_number(query.strip())
    numbered = [entry for entry in histories if number and entry.task.number == number]
    if numbered:
        return numbered
    wanted = query.strip().lower()
    for some in (current, [entry for entry in histories if entry.position is None]):
        same = [entry for entry in some if entry.task.text.lower() == wanted]
        matches = same or [entry for entry in some if wanted and wanted in entry.task.text.lower()]
        if matches:
            return matches
    if number is not None:
        known = ", ".join(f"#{entry.task.number}" for entry in current[:MAX_NUMBERS_LISTED])
        more = ", …" if len(current) > MAX_NUMBERS_LISTED else ""
        raise NotFound(
            f"there is no task #{number}: " + (f"the tasks are {known}{more}" if known else "the plan is empty")
        )
    raise NotFound(f'no task on this branch contains "{query}"')


def _as_data(entry: TaskHistory, *, whole: bool) -> dict[str, object]:
    brief = task_data(entry, timestamp)
    return brief | {"history": [whole_step_data(step, timestamp) for step in entry.steps]} if whole else brief
