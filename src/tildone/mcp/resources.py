"""Plans and logs as MCP resources: parsing URIs, and rendering the contents that a client reads."""

from __future__ import annotations

from urllib.parse import quote, unquote

import mcp_types as types

from tildone.core.plan import Plan
from tildone.core.query import progress
from tildone.formats.markdown.writer import EMPTY, lossless_checklist
from tildone.history.event_data import event_data, row_data
from tildone.history.timeline import timeline
from tildone.ids import timestamp
from tildone.log import codec
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.surrogates import replace_surrogates
from tildone.value import value
from tildone.views.sanitize import escape_reminder_tags

SCHEME = "plan://"
CURRENT, CURRENT_JSON = f"{SCHEME}current", f"{SCHEME}current.json"
TEMPLATE = f"{SCHEME}{{session}}"
LOG, LOG_JSON = "log://current", "log://current.json"
MARKDOWN, JSON, TEXT = "text/markdown", "application/json", "text/plain"

MAX_LOG_EVENTS = 20
JSON_VERSION = 1

RESOURCES = [
    types.Resource(
        uri=CURRENT,
        name="plan",
        title="Plan",
        description="What there is to do, as a Markdown checklist.",
        mime_type=MARKDOWN,
    ),
    types.Resource(
        uri=CURRENT_JSON,
        name="plan.json",
        title="Plan as data",
        description="The same as JSON: phases of tasks with number, text, status and notes, and who changed it last.",
        mime_type=JSON,
    ),
    types.Resource(
        uri=LOG,
        name="log",
        title="Log",
        description=f"The newest {MAX_LOG_EVENTS} events: when, who, what.",
        mime_type=TEXT,
    ),
    types.Resource(
        uri=LOG_JSON,
        name="log.json",
        title="Log as data",
        description="The same as JSON, with the agent and its model.",
        mime_type=JSON,
    ),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=TEMPLATE,
        name="plan-of-session",
        title="Plan of another session",
        description="Any plan in the store, to look at.",
        mime_type=MARKDOWN,
    )
]


@value
class PlanUri:
    """A parsed resource URI: its session (None for the caller's own), its format, and whether it is the log."""

    uri: str
    session: str | None = None
    as_json: bool = False
    log: bool = False


def parse_uri(uri: str) -> PlanUri | None:
    """Parse a URI; return None if it is not one of ours."""
    if uri in (CURRENT, CURRENT_JSON):
        return PlanUri(uri, as_json=uri == CURRENT_JSON)
    if uri in (LOG, LOG_JSON):
        return PlanUri(uri, as_json=uri == LOG_JSON, log=True)
    session = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    return PlanUri(uri, session) if session else None


def session_uri(session: str) -> str:
    """Return the URI of a session."""
    return f"{SCHEME}{quote(session, safe='', errors='replace')}"


def contents(parsed: PlanUri, snapshot: SessionSnapshot) -> types.TextResourceContents:
    """Return the plan or the log in the format that the URI asks for."""
    if parsed.log:
        return _log_contents(parsed, snapshot)
    if parsed.as_json:
        return types.TextResourceContents(uri=parsed.uri, mime_type=JSON, text=codec.pretty(_as_data(snapshot)))
    text = replace_surrogates(lossless_checklist(snapshot.state.plan) or EMPTY)
    return types.TextResourceContents(uri=parsed.uri, mime_type=MARKDOWN, text=text)


def _log_contents(parsed: PlanUri, snapshot: SessionSnapshot) -> types.TextResourceContents:
    rows = timeline(snapshot.recent, snapshot.state.head, timestamp)
    newest_first = list(zip(snapshot.recent, rows, strict=True))[::-1][:MAX_LOG_EVENTS]
    if parsed.as_json:
        events = [row_data(event, row, timestamp) for event, row in newest_first]
        text = codec.pretty({"version": JSON_VERSION, "session": snapshot.session, "events": events})
        return types.TextResourceContents(uri=parsed.uri, mime_type=JSON, text=text)
    lines = [f"{row.when}  {row.who}  {'; '.join(row.what)}\n" for _, row in newest_first]
    text = escape_reminder_tags("".join(lines)) or "No events yet.\n"
    return types.TextResourceContents(uri=parsed.uri, mime_type=TEXT, text=text)


def _as_data(snapshot: SessionSnapshot) -> dict[str, object]:
    plan, changed = snapshot.state.plan, snapshot.changed
    done = progress(plan)
    return {
        "version": JSON_VERSION,
        "session": snapshot.session,
        "changed": changed and event_data(changed, timestamp),
        "closed": done.closed,
        "total": done.total,
        "phases": _phases(plan),
    }


def _phases(plan: Plan) -> list[dict[str, object]]:
    return [
        {
            "name": phase.name,
            "tasks": [
                {"text": task.text, "status": task.status.value, "notes": list(task.notes)}
                | {"number": task.number, "from_user": task.from_user}
                for task in phase.tasks
            ],
        }
        for phase in plan.phases
    ]
