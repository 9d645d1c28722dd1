"""`tildone diff`, `blame`, `branch` and `label`: what changed between points of the history, and who changed it."""

from shlex import quote

from tildone.app import moves
from tildone.app.commands import task_number
from tildone.base import NotFound, UsageError, replace
from tildone.base.ids import local_time, timestamp
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import no_tasks, open_for_moving, open_for_reading
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.history.blame import TaskHistory, blame_lines, task_histories
from tildone.plan.history.branches import Branch, branch_lines, branches
from tildone.plan.history.diff import diff_lines, diff_plans, diff_to_json
from tildone.plan.history.refs import HEAD, ROOT, SHORT_ID_LENGTH, events_by_label, resolve, short_ids
from tildone.plan.history.timeline import event_data, rows_lines, task_data, timeline, whole_step_data
from tildone.plan.model import Plan, progress
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_line


def diff(args: ParsedArgs) -> int:
    session = open_for_reading(args)
    store, name = session.store, session.name
    if args.positional:
        first, second = (resolve(store, name, word) for word in (*args.positional, HEAD)[:2])
    else:
        newest = next((event for event in store.history(name) if isinstance(event.fact, PlanChanged)), None)
        if newest is None and args.has("json"):
            put_data(session=name, **{"from": None, "to": None}, phases=[])
            return 0
        if newest is None:
            print_no_events(session)
            return 0
        first, second = newest.parent, newest.id
    before, after = _plan(session, first), _plan(session, second)
    sections = diff_plans(before, after)
    if args.has("json"):
        ends = {"from": _event_data(session, first), "to": _event_data(session, second)}
        put_data(session=name, **ends, phases=diff_to_json(sections))
    elif sections:
        old, new = (progress(plan) for plan in (before, after))
        points = f"{_event_name(first)} → {_event_name(second)}"
        done = f"  {old.closed}/{old.total} → {new.closed}/{new.total}"
        heading = Span(points, Role.WARNING), Span(done, Role.MUTED)
        room = columns()
        put_spans([heading if room is None else clip_line(heading, room), *diff_lines(sections, room)])
    else:
        put(f"No difference: the plan is the same at {_event_name(first)} and {_event_name(second)}.")
    return 0


def _event_data(session: Session, event_id: str | None) -> dict[str, object] | None:
    if event_id is None:
        return None
    return event_data(next(session.store.history(session.name, event_id)), timestamp)


def _plan(session: Session, event_id: str | None) -> Plan:
    return Plan() if event_id is None else latest_state(session.store.history(session.name, event_id)).plan


def _event_name(event_id: str | None) -> str:
    return ROOT if event_id is None else printable(event_id[:SHORT_ID_LENGTH])


MAX_NUMBERS_LISTED = 20


def blame(args: ParsedArgs) -> int:
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


def run_label(args: ParsedArgs) -> int:
    session = open_for_moving(args) if args.positional else open_for_reading(args)
    name, event = (*args.positional, "", "")[:2]
    if not args.positional:
        if args.has("remove"):
            raise UsageError("--remove requires a NAME: tildone label NAME --remove")
        return _list(args, session)
    if args.has("remove"):
        if event:
            raise UsageError("--remove takes no EVENT: tildone label NAME --remove")
        put(f"Removed the label of {moves.short_id(moves.remove_label(session, name))}.")
        return 0
    target = resolve(session.store, session.name, event) if event else moves.newest_change(session)
    return _set_label(session, name, target, force=args.has("force"))


def _set_label(session: Session, name: str, target: str | None, *, force: bool) -> int:
    found = moves.set_label(session, name, target, force=force)
    if not found.changed:
        put(f"{moves.short_id(found.event)} already has the label “{name}”.")
        return 0
    former = f" It was labelled “{printable(found.former)}”." if found.former else ""
    put(f"Labelled {moves.short_id(found.event)} “{name}”.{former}")
    put(f"To return to it: tildone checkout {quote(name)}")
    return 0


def _list(args: ParsedArgs, session: Session) -> int:
    events = list(session.store.events(session.name))
    rows = timeline(events, session.store.session_head(session.name).head, local_time)
    found = [(event, row) for event, row in zip(events, rows, strict=True) if row.label is not None][::-1]
    names = {event: name for name, event in events_by_label(events).items()}
    if args.has("json"):
        data = [
            {"label": names.get(event.id, row.label)} | event_data(event, timestamp) | {"what": row.what}
            for event, row in found
        ]
        put_data(session=session.name, labels=data)
    elif found:
        put_spans(rows_lines([replace(row, after=None) for _, row in found], columns()))
    else:
        put("There are no labels. To label the current point: tildone label NAME")
    return 0


def run_branch(args: ParsedArgs) -> int:
    if args.positional:
        if args.has("json"):
            raise UsageError("tildone branch --json lists all branches; it takes no NAME")
        session = open_for_moving(args)
        return _set_label(session, args.positional[0], moves.newest_change(session), force=args.has("force"))
    session = open_for_reading(args)
    events = list(session.store.events(session.name))
    found = branches(events, session.store.session_head(session.name).head)
    if args.has("json"):
        put_data(session=session.name, branches=[_branch_data(each) for each in found] if events else [])
    elif events:
        put_spans(branch_lines(found, [event.id for event in events], local_time, columns()))
    else:
        print_no_events(session)
    return 0


def _branch_data(found: Branch) -> dict[str, object]:
    return {
        "current": found.current,
        "end": found.end and event_data(found.end, timestamp),
        "label": found.label,
        "changes_since_label": found.since if found.label is not None else None,
        "closed": found.progress.closed,
        "total": found.progress.total,
        "fork_point": found.fork_point,
        "what": found.changes,
    }
