"""What the server offers: requests that are answered from the dialect alone, without a store."""

from __future__ import annotations

from tildone.mcp.prompts import PROMPTS, get_prompt, instructions
from tildone.mcp.tools import tool_listing, wants_structured
from tildone.typing import TYPE_CHECKING
from tildone.version import __version__

if TYPE_CHECKING:
    from typing import Any

    from tildone.dialects.base import Dialect
    from tildone.mcp.request import Request

SERVER_INFO = {"name": "tildone", "title": "tildone: the plan your agents actually finish", "version": __version__}

SCHEME = "plan://"
CURRENT, CURRENT_JSON = f"{SCHEME}current", f"{SCHEME}current.json"
TEMPLATE = f"{SCHEME}{{session}}"
LOG, LOG_JSON = "log://current", "log://current.json"
MARKDOWN, JSON, TEXT = "text/markdown", "application/json", "text/plain"
MAX_LOG_EVENTS = 20

RESOURCES = [
    {
        "uri": CURRENT,
        "name": "plan",
        "title": "Plan",
        "description": "What there is to do, as a Markdown checklist.",
        "mimeType": MARKDOWN,
    },
    {
        "uri": CURRENT_JSON,
        "name": "plan.json",
        "title": "Plan as data",
        "description": (
            "The same as JSON: phases of tasks with number, text, status and notes, and who changed it last."
        ),
        "mimeType": JSON,
    },
    {
        "uri": LOG,
        "name": "log",
        "title": "Log",
        "description": f"The newest {MAX_LOG_EVENTS} events: when, who, what.",
        "mimeType": TEXT,
    },
    {
        "uri": LOG_JSON,
        "name": "log.json",
        "title": "Log as data",
        "description": "The same as JSON, with the agent and its model.",
        "mimeType": JSON,
    },
]
TEMPLATES = [
    {
        "uriTemplate": TEMPLATE,
        "name": "plan-of-session",
        "title": "Plan of another session",
        "description": "Any plan in the store, to look at.",
        "mimeType": MARKDOWN,
    }
]


class Listings:
    """The tools of a dialect, the prompt and the resources. With `all_sessions`, those of any session can be read."""

    METHODS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "prompts/get")

    def __init__(self, dialect: Dialect, *, all_sessions: bool) -> None:
        self._dialect = dialect
        self._all_sessions = all_sessions

    @property
    def instructions(self) -> str | None:
        """What a client tells its model about the server, if anything."""
        return instructions(self._dialect)

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the result of a request with one of `METHODS`.

        Raises:
            RequestError: it names something that there is not.
        """
        match request.method:
            case "tools/list":
                structured = wants_structured(request)
                return {"tools": [tool_listing(tool, structured=structured) for tool in self._dialect.tools]}
            case "resources/list":
                return {"resources": RESOURCES}
            case "resources/templates/list":
                return {"resourceTemplates": TEMPLATES if self._all_sessions else []}
            case "prompts/list":
                return {"prompts": PROMPTS}
            case _:
                return get_prompt(self._dialect, request.params)
