"""`tildone diff`: show what changed between two points of the history."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.base.ids import timestamp
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import open_for_reading
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.history.diff import diff_lines, diff_plans, diff_to_json
from tildone.plan.history.refs import HEAD, ROOT, SHORT_ID_LENGTH, resolve
from tildone.plan.history.timeline import event_data
from tildone.plan.model import Plan, progress
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_line

if TYPE_CHECKING:
    from tildone.log.session import Session


def run(args: ParsedArgs) -> int:
    """Show the newest change, the changes since an event, or those between two events."""
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
    """The event that made a plan; None before the first change."""
    if event_id is None:
        return None
    return event_data(next(session.store.history(session.name, event_id)), timestamp)


def _plan(session: Session, event_id: str | None) -> Plan:
    return Plan() if event_id is None else latest_state(session.store.history(session.name, event_id)).plan


def _event_name(event_id: str | None) -> str:
    return ROOT if event_id is None else printable(event_id[:SHORT_ID_LENGTH])
