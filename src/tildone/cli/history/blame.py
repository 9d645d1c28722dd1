"""`tildone blame`: show who added and who closed each task, and in which call."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, session_title
from tildone.cli.output.screen import columns, moment, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound
from tildone.history.blame import blame_lines
from tildone.history.sentences import describe_change
from tildone.history.task_history import task_histories
from tildone.log import codec
from tildone.log.refs import HEAD, resolve, short_ids
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.history.task_history import TaskHistory, TaskStep


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
        put(codec.dump([_as_data(entry, whole=bool(args.positional)) for entry in found]))
    elif found:
        short = short_ids(event.id for event in events)
        put_spans(blame_lines(found, moment, short, columns(), whole=bool(args.positional)))
    else:
        put(f"No tasks in {session_title(name)}. Add one with: tildone todo append TEXT")
    return 0


def _matching(histories: list[TaskHistory], query: str) -> list[TaskHistory]:
    """The tasks that a number or a part of a text matches; removed tasks only if no other matches.

    Raises:
        NotFound: no task matches.
    """
    current = [entry for entry in histories if entry.position is not None]
    if query.isdecimal():
        at = [entry for entry in current if str(entry.position) == query]
        if at:
            return at
    wanted = query.strip().lower()
    for some in (current, [entry for entry in histories if entry.position is None]):
        same = [entry for entry in some if entry.task.text.lower() == wanted]
        matches = same or [entry for entry in some if wanted and wanted in entry.task.text.lower()]
        if matches:
            return matches
    if query.isdecimal():
        known = f"the tasks are numbered 0 to {len(current) - 1}" if current else "the plan is empty"
        raise NotFound(f"there is no task {query}: {known}")
    raise NotFound(f'no task on this branch contains "{query}"')


def _as_data(entry: TaskHistory, *, whole: bool) -> dict[str, object]:
    brief: dict[str, object] = {
        "task": entry.task.text,
        "phase": entry.phase,
        "position": entry.position,
        "status": entry.task.status.value,
        "added": _by(entry.added),
        "closed": entry.closed and _by(entry.closed),
    }
    return brief | {"life": [_step(step) for step in entry.steps]} if whole else brief


def _by(step: TaskStep) -> dict[str, object]:
    call = step.call
    event = step.event
    return {"event": event.id, "at": event.at, "actor": event.actor.value, "tool": call and call.tool}


def _step(step: TaskStep) -> dict[str, object]:
    call = step.call
    sentences = [describe_change(change) for change in step.changes]
    return _by(step) | {"arguments": call and call.arguments, "what": sentences, "took": step.duration}
