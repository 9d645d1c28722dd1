"""`tildone log`: what happened to the plan, and who did it."""

from tildone.cli.args import Typed
from tildone.cli.place import named, reading
from tildone.cli.screen import columns, moment, put, put_spans
from tildone.log import codec
from tildone.log.events import Labelled, PlanChanged
from tildone.value import but
from tildone.views.timeline import row_lines, timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.log.events import Event
    from tildone.session import Session
    from tildone.views.timeline import Row

LIMIT = 20


def log(typed: Typed) -> int:
    """Show the newest events first."""
    limit = typed.number("limit", LIMIT)
    session = reading(typed)
    head = session.store.place(session.name).head
    events = list(session.store.events(session.name)) if typed.has("all") else newest(session, limit)
    rows = timeline(events, head, moment, session.patience.nudges)
    shown = list(zip(events, rows, strict=True))[::-1][:limit]
    if typed.has("json"):
        put(codec.dump([_as_data(*each) for each in shown]))
    elif shown:
        put_spans(line for _, row in shown for line in row_lines(row, columns()))
    else:
        put(f"Nothing has happened in {named(session.name)} yet. Begin with: tildone todo append TEXT")
    return 0


def newest(session: "Session", limit: int) -> "list[Event]":
    """As much of the way to the head as it takes to tell its last `limit` events, oldest first.

    That is one snapshot of the plan more, to compare the first of them with; it stands for all that came before.
    """
    taken: list[Event] = []
    for event in session.store.history(session.name):
        taken.append(event)
        if len(taken) > limit and isinstance(event.fact, PlanChanged):
            break
    taken.reverse()
    ids = {event.id for event in taken}
    if all(event.fact.target in ids for event in taken if isinstance(event.fact, Labelled)):
        return [but(event, parent=None) if event is taken[0] else event for event in taken]
    return list(session.store.history(session.name))[::-1]


def _as_data(event: "Event", row: "Row") -> dict[str, object]:
    """The event as it is stored, with what it comes to."""
    stored: dict[str, object] = codec.parse(codec.encode(event))
    return stored | {"what": row.what, "place": row.mark.name.lower(), "label": row.label}
