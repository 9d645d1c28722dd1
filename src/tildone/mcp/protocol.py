"""The revisions of the protocol: which methods they have, and how results look in them.

The client's first request decides between two eras. In the era of the handshake, a connection begins with
`initialize`, which negotiates one of `HANDSHAKE_VERSIONS`. In the modern era there is no handshake: the `_meta` of
every request names its revision and the client. A connection never changes its era.
"""

from __future__ import annotations

from tildone.mcp.clients import has_resource_tools
from tildone.mcp.elicitation import has_forms
from tildone.mcp.json_rpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RequestError
from tildone.mcp.listings import SERVER_INFO
from tildone.mcp.params import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY, check
from tildone.mcp.request import HANDSHAKE_VERSIONS, MODERN_VERSIONS, Request
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.mcp.json_rpc import RpcMessage

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
    """The era and the revision of one connection, and the client's name, with which `greet` is called once.

    `elicits` means that the client shows forms to the person. In the modern era, servers send no requests.
    """

    def __init__(self, instructions: str | None, greet: Callable[[str], None]) -> None:
        self._instructions = instructions
        self._greet: Callable[[str], None] | None = greet
        self._modern: bool | None = None
        self._version = ""
        self._client = ""
        self.elicits = False

    def accept(self, message: RpcMessage) -> Request:
        """Return a message as a request in this connection's revision.

        Raises:
            RequestError: the revision has no such method, its parameters are invalid, or it is of another era.
        """
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
        """Return the result of `server/discover`."""
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
    if not has_resource_tools(client):
        capabilities["resources"] = {"subscribe": True, **changed}
    return capabilities | ({"logging": {}} if logging else {})


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}
