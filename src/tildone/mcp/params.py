"""Validation of the parameters of requests.

Handlers rely on it: what it lets through has the fields that they read, with the right types.
"""

from __future__ import annotations

from tildone.mcp.json_rpc import INVALID_PARAMS, RequestError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Params = Mapping[str, Any]

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


def check(method: str, params: Params) -> None:
    """Check the parameters of a request.

    Raises:
        RequestError: a field is missing or has the wrong type; the error's data names the field.
    """
    problem = _meta_problem(params) or _CHECKS.get(method, _no_problem)(params)
    if problem:
        raise RequestError(INVALID_PARAMS, "Invalid request parameters", problem)


def _no_problem(_params: Params) -> str:
    return ""


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
