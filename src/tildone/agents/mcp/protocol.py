"""The revisions of the protocol: their methods, the parameters and results of these, and what the server lists.

The client's first request decides between two eras. In the era of the handshake, a connection begins with
`initialize`, which negotiates one of `HANDSHAKE_VERSIONS`. In the modern era there is no handshake: the `_meta` of
every request names its revision and the client. A connection never changes its era.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from tildone.agents.mcp.json_rpc import (
    HANDSHAKE_VERSIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    Request,
    RequestError,
)
from tildone.base import TYPE_CHECKING, RunFenced, TildoneError
from tildone.base.schema import SchemaProblem
from tildone.plan.dialects import Dialect, Reply, Tool
from tildone.plan.text.safe import MAX_RESOURCE, MAX_START, clipped, printable, safe_text
from tildone.stores.agents import KNOWN
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.agents.mcp.json_rpc import RpcMessage

    Params = Mapping[str, Any]


def client_message(error: Exception, *, repeated: bool = False) -> str:
    """Return the message for the client, which names only the type of a bug. A `repeated` refusal is short."""
    if isinstance(error, RunFenced):
        # Late, because only agents of a fleet are told so.
        from tildone.plan.dialects.native import FENCED, STILL_FENCED

        return STILL_FENCED if repeated else FENCED
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def log_error(error: Exception) -> None:
    message = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(message)}\n")


def has_forms(capabilities: object) -> bool:
    """Return whether a client with these capabilities shows forms. One that names no mode does."""
    declared = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and (not declared or "form" in declared)


_ITEM = 20
"""What an item takes besides its texts."""


def bounded_data(data: Any, max_characters: int = MAX_RESOURCE) -> Any:
    """Return JSON data as it is if it fits; else with long texts cut, and with only the first items of its lists."""
    if _size(data) <= max_characters:
        return data
    return _cut(data, [max_characters])


def _size(data: Any) -> int:
    match data:
        case str():
            return len(data)
        case dict():
            return sum(len(key) + _ITEM + _size(item) for key, item in data.items())
        case list() | tuple():
            return sum(_ITEM + _size(item) for item in data)
        case _:
            return _ITEM


def _cut(data: Any, room: list[int]) -> Any:
    """Return a copy that takes from `room` what it needs. The fields of an object stay; their texts may be empty."""
    match data:
        case str():
            text = clipped(data)
            text = text if len(text) <= room[0] else ""
            room[0] -= len(text)
            return text
        case dict():
            room[0] -= sum(len(key) + _ITEM for key in data)
            return {key: _cut(item, room) for key, item in data.items()}
        case list() | tuple():
            items = []
            for item in data:
                room[0] -= _ITEM
                if room[0] < 0:
                    break
                items.append(_cut(item, room))
            return items
        case _:
            return data


CLIENTS = {name: known.mcp for name, known in KNOWN.items() if known.mcp is not None}
"""The MCP clients among the coding agents, by the name of their integration."""

HOST_PROGRAMS = frozenset(known.executable for known in KNOWN.values() if known.executable)
"""The names of the programs of all coding agents."""


@lru_cache(maxsize=16)
def wants_structured(client_name: str) -> bool:
    """Return whether a client of that name may be sent structured content in addition to text."""
    return not any(client.text_only and client_name.startswith(client.names) for client in CLIENTS.values())


def integration_of(client_name: str) -> str:
    """Return the integration whose coding agent has that name as a client; the client's own name if there is none."""
    matching = (name for name, client in CLIENTS.items() if client_name.startswith(client.names))
    return next(matching, client_name)


def is_another(client_name: str, integration: str) -> bool:
    """Return whether a client of that name is known to be a coding agent other than `integration`."""
    others = (client for name, client in CLIENTS.items() if name != integration)
    return any(client_name.startswith(client.names) for client in others)


LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


def check(method: str, params: Params) -> None:
    """Raise an error whose data names the field if a field is missing or has the wrong type."""
    problem = _meta_problem(params) or (_CHECKS[method](params) if method in _CHECKS else "")
    if problem:
        raise RequestError(INVALID_PARAMS, "Invalid request parameters", problem)


def _meta_problem(params: Params) -> str:
    meta = params.get("_meta")
    if not isinstance(meta, dict | None):
        return "_meta must be an object"
    if not meta:
        return ""
    token = meta.get("progressToken")
    if isinstance(token, bool) or not isinstance(token, str | int | None):
        return "_meta.progressToken must be a string or an integer"
    if not isinstance(meta.get(CAPABILITIES_KEY), dict | None):
        return f"_meta[{CAPABILITIES_KEY!r}] must be an object"
    if meta.get(LOG_LEVEL_KEY) not in (None, *LOG_LEVELS):
        return f"_meta[{LOG_LEVEL_KEY!r}] must be one of {', '.join(LOG_LEVELS)}"
    return _implementation_problem(f"_meta[{CLIENT_KEY!r}]", meta[CLIENT_KEY]) if meta.get(CLIENT_KEY) else ""


def _implementation_problem(where: str, info: object) -> str:
    named = isinstance(info, dict) and isinstance(info.get("name"), str) and isinstance(info.get("version"), str)
    return "" if named else f"{where} must be an object with a name and a version"


def _initialize(params: Params) -> str:
    if not isinstance(params.get("protocolVersion"), str):
        return "protocolVersion must be a string"
    if not isinstance(params.get("capabilities"), dict):
        return "capabilities must be an object"
    return _implementation_problem("clientInfo", params.get("clientInfo"))


def _list(params: Params) -> str:
    return "" if isinstance(params.get("cursor"), str | None) else "cursor must be a string"


def _call_tool(params: Params) -> str:
    if not isinstance(params.get("name"), str):
        return "name must be a string"
    return "" if isinstance(params.get("arguments"), dict | None) else "arguments must be an object"


def _get_prompt(params: Params) -> str:
    texts = (params.get("arguments") or {}).values() if not _call_tool(params) else ()
    return _call_tool(params) or ("" if all(isinstance(text, str) for text in texts) else "arguments must be strings")


def _uri(params: Params) -> str:
    return "" if isinstance(params.get("uri"), str) else "uri must be a string"


def _complete(params: Params) -> str:
    ref, argument = params.get("ref"), params.get("argument")
    known = {"ref/resource": "uri", "ref/prompt": "name"}
    if not isinstance(ref, dict) or not isinstance(ref.get(known.get(str(ref.get("type")), "")), str):
        return "ref must be a reference to a prompt (with a name) or to a resource (with a uri)"
    if isinstance(argument, dict) and isinstance(argument.get("name"), str) and isinstance(argument.get("value"), str):
        return ""
    return "argument must be an object with a name and a value"


def _set_level(params: Params) -> str:
    return "" if params.get("level") in LOG_LEVELS else f"level must be one of {', '.join(LOG_LEVELS)}"


def _listen(params: Params) -> str:
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        return "notifications must be an object"
    if not all(isinstance(wanted.get(kind), bool | None) for kind in LIST_CHANGES):
        return f"{', '.join(LIST_CHANGES)} must be true or false"
    uris = wanted.get("resourceSubscriptions") or []
    listed = isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)
    return "" if listed else "resourceSubscriptions must be a list of URIs"


LIST_CHANGES = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
"""The kinds of notifications that `subscriptions/listen` may ask for and this server has no occasion to send."""

_CHECKS: dict[str, Callable[[Params], str]] = {
    "initialize": _initialize,
    "tools/list": _list,
    "tools/call": _call_tool,
    "resources/list": _list,
    "resources/templates/list": _list,
    "resources/read": _uri,
    "resources/subscribe": _uri,
    "resources/unsubscribe": _uri,
    "subscriptions/listen": _listen,
    "prompts/list": _list,
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
    "logging/setLevel": _set_level,
}


NAME, TASK = "plan", "task"

PROMPTS = [
    {
        "name": NAME,
        "title": "Make a plan",
        "description": "Make a plan for a task, then work through it until nothing is open.",
        "arguments": [{"name": TASK, "description": "What is to be done", "required": True}],
    }
]


def get_prompt(dialect: Dialect, params: Mapping[str, Any]) -> dict[str, Any]:
    if params["name"] != NAME:
        raise RequestError(INVALID_PARAMS, f"Unknown prompt {params['name']!r:.100}; there is {NAME}")
    task = (params.get("arguments") or {}).get(TASK, "").strip()
    if not task:
        raise RequestError(INVALID_PARAMS, f"Missing argument {TASK}: what is to be done")
    tools = " and ".join(tool.name for tool in dialect.tools if not tool.hints.read_only)
    wish = f"Make a plan with {tools} for the task below, then work through it until nothing is open."
    parts = (wish, instructions(dialect), f"Task: {clipped(safe_text(task), MAX_START)}")
    content = {"type": "text", "text": "\n\n".join(part for part in parts if part)}
    return {"description": PROMPTS[0]["description"], "messages": [{"role": "user", "content": content}]}


def instructions(dialect: Dialect) -> str | None:
    guidelines = dict.fromkeys(line for tool in dialect.tools for line in tool.guidelines)
    return "\n".join(f"- {line}" for line in guidelines) or None


ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
"""Claude Code puts a tool with this `_meta` in every request; others are found only by its tool search."""


def tool_listing(tool: Tool, *, structured: bool) -> dict[str, Any]:
    """Return a tool in the form of MCP. Every text in it that models read comes from the dialect."""
    listing: dict[str, Any] = {
        "name": tool.name,
        "title": tool.label,
        "description": tool.description,
        "inputSchema": tool.parameters,
    }
    if structured and tool.output_schema:
        listing["outputSchema"] = tool.output_schema
    listing["annotations"] = {
        "title": tool.label,
        "readOnlyHint": tool.hints.read_only,
        "destructiveHint": tool.hints.destructive,
        "idempotentHint": tool.hints.idempotent,
        "openWorldHint": False,
    }
    listing["_meta"] = ALWAYS_LOADED
    return listing


def tool_result(tool: Tool, reply: Reply, *, structured: bool) -> dict[str, Any]:
    """Return a reply as the result of a call, with its details if the tool has a schema for them."""
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": safe_text(reply.text)}],
        "isError": reply.is_error,
    }
    if structured and reply.details and tool.output_schema is not None:
        result["structuredContent"] = bounded_data(reply.details)
    return result


def error_reply(
    dialect: Dialect, tool_name: str, arguments: object, error: Exception, *, repeated: bool = False
) -> Reply:
    """Return an error that is not the model's fault as a reply, phrased by the dialect. See `client_message`."""
    tool = dialect.tool(tool_name)
    message = client_message(error, repeated=repeated)
    if tool is None:
        return Reply(message, {}, is_error=True)
    return dialect.refuse(tool, [SchemaProblem("", message)], arguments)


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


LISTINGS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "prompts/get")
"""The methods that `listing` answers."""


def listing(request: Request, dialect: Dialect, *, all_sessions: bool) -> dict[str, Any]:
    """Return the result of a request for tools, prompts or resources: unless `all_sessions`, those of one session."""
    match request.method:
        case "tools/list":
            structured = wants_structured(request.client)
            return {"tools": [tool_listing(tool, structured=structured) for tool in dialect.tools]}
        case "resources/list":
            return {"resources": RESOURCES}
        case "resources/templates/list":
            return {"resourceTemplates": TEMPLATES if all_sessions else []}
        case "prompts/list":
            return {"prompts": PROMPTS}
        case _:
            return get_prompt(dialect, request.params)


UNSUPPORTED_VERSION = -32022
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

_BOTH = (
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
)
HANDSHAKE_METHODS = frozenset(
    ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", *_BOTH)
)
MODERN_METHODS = frozenset(("server/discover", "subscriptions/listen", *_BOTH))

LIST_TTL_MS = 3_600_000
CACHE_TTL_MS = {
    "tools/list": LIST_TTL_MS,
    "prompts/list": LIST_TTL_MS,
    "resources/list": LIST_TTL_MS,
    "resources/templates/list": 0,
    "resources/read": 0,
    "server/discover": 0,
}
"""For how long a client may keep the results of these methods, in the modern era."""


class Protocol:
    """The era and revision of a connection, and the client's name, with which `greet` is called once."""

    def __init__(self, instructions: str | None, greet: Callable[[str], None]) -> None:
        self._instructions = instructions
        self._greet: Callable[[str], None] | None = greet
        self._modern: bool | None = None
        self._version = ""
        self._client = ""
        self.elicits = False

    def accept(self, message: RpcMessage) -> Request:
        """Return a message as a request in this connection's revision."""
        has_envelope = message.method != "initialize" and VERSION_KEY in _meta(message.params)
        if self._modern is None:
            self._modern = has_envelope
        if self._modern:
            return self._accept_modern(message)
        if has_envelope:
            reason = f"requests of {MODERN_VERSIONS[0]} are not accepted on a connection that began with initialize"
            raise RequestError(INVALID_REQUEST, reason)
        check(message.method, message.params)
        if message.method not in HANDSHAKE_METHODS:
            raise RequestError(METHOD_NOT_FOUND, "Method not found", message.method)
        if not self._version and message.method not in ("initialize", "ping"):
            raise RequestError(INVALID_PARAMS, "Invalid request parameters", "the first request must be initialize")
        return Request(message.method, message.params, self._version, self._client)

    def initialize(self, request: Request) -> dict[str, Any]:
        """Negotiate the revision, and return the result of `initialize`."""
        wanted = request.params["protocolVersion"]
        self._version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        self._client = request.params["clientInfo"]["name"].lower()
        self.elicits = has_forms(request.params.get("capabilities"))
        self._met(self._client)
        result = {
            "protocolVersion": self._version,
            "capabilities": _capabilities(self._client, list_changed=False, logging=True),
            "serverInfo": SERVER_INFO,
        }
        return result | ({"instructions": self._instructions} if self._instructions else {})

    def discover(self, request: Request) -> dict[str, Any]:
        # Notifications of changes arrive on the streams that the client opens; it may ask for any of them.
        capabilities = _capabilities(request.client, list_changed=True, logging=False)
        result = {"supportedVersions": list(MODERN_VERSIONS), "capabilities": capabilities}
        return result | ({"instructions": self._instructions} if self._instructions else {})

    def _accept_modern(self, message: RpcMessage) -> Request:
        if message.method == "initialize":
            wanted = message.params.get("protocolVersion")
            data = {"supported": list(MODERN_VERSIONS)} | ({"requested": wanted} if isinstance(wanted, str) else {})
            reason = f"this connection uses {MODERN_VERSIONS[0]}; initialize is not accepted on it"
            raise RequestError(UNSUPPORTED_VERSION, reason, data)
        meta = _meta(message.params)
        missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
        if missing:
            raise RequestError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
        version = meta[VERSION_KEY]
        if not isinstance(version, str):
            raise RequestError(INVALID_PARAMS, f"params._meta[{VERSION_KEY!r}] must be a string")
        if version not in MODERN_VERSIONS:
            data = {"supported": list(MODERN_VERSIONS), "requested": version}
            raise RequestError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if message.method not in MODERN_METHODS:
            raise RequestError(METHOD_NOT_FOUND, "Method not found", message.method)
        check(message.method, message.params)
        client = (meta.get(CLIENT_KEY) or {}).get("name", "").lower()
        self._met(client)
        return Request(message.method, message.params, version, client)

    def _met(self, client: str) -> None:
        greet, self._greet = self._greet, None
        if greet is not None:
            greet(client)


def complete(request: Request, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with the fields that the request's revision adds to every result."""
    if not request.is_modern:
        return result
    ttl = CACHE_TTL_MS.get(request.method)
    caching = {} if ttl is None else {"ttlMs": ttl, "cacheScope": "private"}
    meta = {**result.get("_meta", {}), SERVER_KEY: SERVER_INFO}
    return {**result, **caching, "resultType": "complete", "_meta": meta}


def _capabilities(client: str, *, list_changed: bool, logging: bool) -> dict[str, Any]:
    changed = {"listChanged": list_changed}
    capabilities: dict[str, Any] = {"tools": changed, "prompts": changed, "completions": {}}
    # Some clients give their models tools for the resources of servers.
    if not any(known.resource_tools and client.startswith(known.names) for known in CLIENTS.values()):
        capabilities["resources"] = {"subscribe": True, **changed}
    return capabilities | ({"logging": {}} if logging else {})


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}
