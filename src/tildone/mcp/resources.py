"""Plans as MCP resources: parsing URIs that name sessions, and rendering the contents that a client reads."""

from __future__ import annotations

from urllib.parse import quote, unquote

import mcp_types as types

from tildone.core.plan import Plan
from tildone.core.query import progress
from tildone.formats.markdown.writer import EMPTY, lossless_checklist
from tildone.log import codec
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.surrogates import replace_surrogates
from tildone.value import value

SCHEME = "plan://"
CURRENT, CURRENT_JSON = f"{SCHEME}current", f"{SCHEME}current.json"
TEMPLATE = f"{SCHEME}{{session}}"
MARKDOWN, JSON = "text/markdown", "application/json"

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
        description="The same as JSON: phases of tasks with text, status and notes.",
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
    """A parsed resource URI: the session it names (None for the caller's own), and the format."""

    uri: str
    session: str | None = None
    as_json: bool = False


def parse_uri(uri: str) -> PlanUri | None:
    """Parse a URI; return None if it is not one of ours."""
    if uri in (CURRENT, CURRENT_JSON):
        return PlanUri(uri, as_json=uri == CURRENT_JSON)
    session = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    return PlanUri(uri, session) if session else None


def session_uri(session: str) -> str:
    """Return the URI of a session."""
    return f"{SCHEME}{quote(session, safe='', errors='replace')}"


def contents(parsed: PlanUri, snapshot: SessionSnapshot) -> types.TextResourceContents:
    """Return the plan in the format that the URI asks for."""
    if parsed.as_json:
        return types.TextResourceContents(uri=parsed.uri, mime_type=JSON, text=codec.pretty(_as_data(snapshot)))
    text = replace_surrogates(lossless_checklist(snapshot.state.plan) or EMPTY)
    return types.TextResourceContents(uri=parsed.uri, mime_type=MARKDOWN, text=text)


def _as_data(snapshot: SessionSnapshot) -> dict[str, object]:
    plan = snapshot.state.plan
    done = progress(plan)
    return {"session": snapshot.session, "closed": done.closed, "total": done.total, "phases": _phases(plan)}


def _phases(plan: Plan) -> list[dict[str, object]]:
    return [
        {
            "name": phase.name,
            "tasks": [
                {"text": task.text, "status": task.status.value, "notes": list(task.notes)}
                | ({"number": task.number} if task.number else {})
                for task in phase.tasks
            ],
        }
        for phase in plan.phases
    ]
