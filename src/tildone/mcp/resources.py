"""The plan as a resource: which address means which session, and what is found there."""

from __future__ import annotations

from urllib.parse import quote, unquote

import mcp_types as types

from tildone.core.plan import Plan
from tildone.core.query import progress
from tildone.formats.markdown import EMPTY, document
from tildone.log import codec
from tildone.mcp.connections import SessionView
from tildone.mcp.tools import replace_surrogates
from tildone.value import value

SCHEME = "plan://"
CURRENT, CURRENT_JSON = f"{SCHEME}current", f"{SCHEME}current.json"
TEMPLATE, NAME = f"{SCHEME}{{session}}", "session"
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
class Address:
    """What an address means: a session, or the caller's own if none is named; as data or as Markdown."""

    uri: str
    session: str | None = None
    as_data: bool = False


def address(uri: str) -> Address | None:
    """What a client means by an address, if it is one of ours."""
    if uri in (CURRENT, CURRENT_JSON):
        return Address(uri, as_data=uri == CURRENT_JSON)
    session = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    return Address(uri, session) if session else None


def address_of(session: str) -> str:
    """The address of a session."""
    return f"{SCHEME}{quote(session, safe='', errors='replace')}"


def contents(at: Address, found: SessionView) -> types.TextResourceContents:
    """What is there."""
    if at.as_data:
        return types.TextResourceContents(uri=at.uri, mime_type=JSON, text=codec.pretty(_data(found)))
    text = replace_surrogates(document(found.state.plan) or EMPTY)
    return types.TextResourceContents(uri=at.uri, mime_type=MARKDOWN, text=text)


def _data(found: SessionView) -> dict[str, object]:
    far = progress(found.state.plan)
    return {"session": found.session, "closed": far.closed, "total": far.total, "phases": _phases(found.state.plan)}


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
