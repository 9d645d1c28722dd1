"""Plans and logs as MCP resources: parsing URIs, and rendering the contents that a client reads."""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from tildone.agents.mcp import protocol
from tildone.app.look import phases_data, task_data
from tildone.base import value
from tildone.base.ids import timestamp
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.events import Event, PlanChanged, State, latest_state
from tildone.plan.formats.markdown import EMPTY, lossless_checklist
from tildone.plan.history.timeline import event_data, newest_events, row_data, timeline
from tildone.plan.model import Task, progress
from tildone.plan.text import safe

JSON_VERSION = 1

MAX_PLAN = (safe.MAX_RESOURCE - safe.MAX_FRAME) // 3
"""How many characters of a plan or a log are in a resource. Some are written as up to six, which few are."""


@value
class SessionSnapshot:
    """A session when it was read: its state, the event that made the plan, and recent events, oldest first."""

    session: str
    state: State
    changed: Event | None = None
    recent: tuple[Event, ...] = ()


@value
class PlanUri:
    """A parsed resource URI: its session (None for the caller's own), its format, and whether it is the log."""

    uri: str
    session: str | None = None
    as_json: bool = False
    log: bool = False


def parse_uri(uri: str) -> PlanUri | None:
    """Parse a URI; return None if it is not one of ours."""
    if uri in (protocol.CURRENT, protocol.CURRENT_JSON):
        return PlanUri(uri, as_json=uri == protocol.CURRENT_JSON)
    if uri in (protocol.LOG, protocol.LOG_JSON):
        return PlanUri(uri, as_json=uri == protocol.LOG_JSON, log=True)
    session = unquote(uri.removeprefix(protocol.SCHEME)) if uri.startswith(protocol.SCHEME) else ""
    return PlanUri(uri, session) if session else None


def snapshot(store: Store, session: str, events: int) -> SessionSnapshot:
    """Return the current state of a session, with that many of its newest events."""
    newest_first = list(_to_plan(store.history(session)))
    changed = next((event for event in newest_first if isinstance(event.fact, PlanChanged)), None)
    recent = tuple(newest_events(store.history(session), events)) if events else ()
    return SessionSnapshot(session, latest_state(newest_first), changed, recent)


def _to_plan(newest_first: Iterable[Event]) -> Iterator[Event]:
    """The events up to the newest snapshot, which determine the state."""
    for event in newest_first:
        yield event
        if isinstance(event.fact, PlanChanged):
            return


def contents(parsed: PlanUri, snapshot: SessionSnapshot) -> dict[str, str]:
    """Return the plan or the log in the format that the URI asks for."""
    mime_type, text = _log(parsed, snapshot) if parsed.log else _plan(parsed, snapshot)
    return {"uri": parsed.uri, "mimeType": mime_type, "text": text}


def _plan(parsed: PlanUri, snapshot: SessionSnapshot) -> tuple[str, str]:
    # JSON and its comments in Markdown write some characters in up to six; a plan that large is told in part.
    part = safe.bounded_plan(snapshot.state.plan, MAX_PLAN)
    if parsed.as_json:
        return protocol.JSON, safe.escape_json(codec.pretty(_as_data(snapshot, part)))
    text = lossless_checklist(part.plan, escaped=True) + "".join(f"{line}\n" for line in part.omissions)
    return protocol.MARKDOWN, text or EMPTY


def _log(parsed: PlanUri, snapshot: SessionSnapshot) -> tuple[str, str]:
    rows = timeline(snapshot.recent, snapshot.state.head, timestamp)
    newest_first = list(zip(snapshot.recent, rows, strict=True))[::-1][: protocol.MAX_LOG_EVENTS]
    if parsed.as_json:
        events = _fitting_events([row_data(event, row, timestamp) for event, row in newest_first])
        return protocol.JSON, safe.escape_json(
            codec.pretty({"version": JSON_VERSION, "session": snapshot.session, "events": events})
        )
    lines = [safe.clipped(f"{row.when}  {row.who}  {'; '.join(row.what)}") for _, row in newest_first]
    text = safe.safe_text("\n".join(safe.bounded_lines(lines, MAX_PLAN)))
    return protocol.TEXT, f"{text or 'No events yet.'}\n"


def _fitting_events(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest events as far as they fit; each says what was changed, and may be long."""
    room = MAX_PLAN
    for index, event in enumerate(events):
        room -= len(codec.dump(event))
        if room < 0:
            return events[:index]
    return events


def _as_data(snapshot: SessionSnapshot, part: safe.Part) -> dict[str, object]:
    """Return the plan as data, with the number of tasks that were left out, if any."""
    done, changed = progress(snapshot.state.plan), snapshot.changed
    data: dict[str, object] = {
        "version": JSON_VERSION,
        "session": snapshot.session,
        "changed": changed and event_data(changed, timestamp),
        "closed": done.closed,
        "total": done.total,
        "phases": phases_data(part.plan, _task_data),
    }
    return data | {"omitted": part.omitted} if part.omitted else data


def _task_data(task: Task) -> dict[str, object]:
    source = ("source",) if task.source else ()
    return task_data(task, ("text", "status", "notes", "number", "from_user", *source))
