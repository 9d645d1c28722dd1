"""The MCP server: a handler for each kind of request, registered with the SDK's low-level server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tildone.dialects.base import Dialect
from tildone.mcp import prompts, resources
from tildone.mcp.callers import CallerResolver, Request
from tildone.mcp.connections import CallerConnections, Connection
from tildone.mcp.reporting import client_message, log_error
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.subscriptions import Subscriptions
from tildone.mcp.surrogates import replace_surrogates
from tildone.mcp.tools import tool_listing, tool_result, wants_structured
from tildone.version import __version__

NAME, TITLE = "tildone", "tildone: the plan your agents actually finish"
RESOURCE_NOT_FOUND = -32002
"""The error code in all protocol versions but the newest, which uses INVALID_PARAMS."""

LIST_CACHE = CacheHint(ttl_ms=3_600_000)
MAX_COMPLETIONS = 100

T = TypeVar("T")


def make_server(
    connections: CallerConnections, subscriptions: Subscriptions, resolve_caller: CallerResolver, *, all_sessions: bool
) -> Server[Any]:
    """Return a server with all handlers registered. Unless `all_sessions`, a caller can read only its own session."""
    handlers = Handlers(connections, subscriptions, resolve_caller, all_sessions=all_sessions)
    dialect = connections.dialect
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=prompts.instructions(dialect),
        cache_hints={"tools/list": LIST_CACHE, "prompts/list": LIST_CACHE, "resources/list": LIST_CACHE},
        get_tool_input_schema=lambda name: tool.parameters if (tool := dialect.tool(name)) else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    # This replaces the SDK's tracing middleware, which we do not use.
    server.middleware[:] = [_exact_schemas(dialect)]
    return server


def _exact_schemas(dialect: Dialect) -> Any:
    """Return middleware that lists input schemas as written: the SDK sorts their fields, and models read schemas."""
    schemas = {tool.name: dict(tool.parameters) for tool in dialect.tools}

    async def restore_schemas(request: Request, call_next: CallNext) -> HandlerResult:
        result = await call_next(request)
        if request.method == "tools/list" and isinstance(result, dict):
            for tool in result["tools"]:
                tool["inputSchema"] = schemas[tool["name"]]
        return result

    return restore_schemas


class Handlers:
    """One method for each kind of request."""

    def __init__(
        self,
        connections: CallerConnections,
        subscriptions: Subscriptions,
        resolve_caller: CallerResolver,
        *,
        all_sessions: bool,
    ) -> None:
        self._connections = connections
        self._subscriptions = subscriptions
        self._resolve_caller = resolve_caller
        self._all_sessions = all_sessions

    async def list_tools(self, request: Request, _params: object) -> types.ListToolsResult:
        structured = wants_structured(request)
        tools = [tool_listing(tool, structured=structured) for tool in self._connections.dialect.tools]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, request: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        dialect = self._connections.dialect
        tool = dialect.tool(params.name)
        if tool is None:
            names = ", ".join(tool.name for tool in dialect.tools)
            raise MCPError(INVALID_PARAMS, f"Unknown tool {replace_surrogates(params.name)!r:.100}; known are {names}")
        reply = await self._connection(request).call(params.name, params.arguments or {})
        return tool_result(tool, reply, structured=wants_structured(request))

    async def list_resources(self, _request: Request, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.RESOURCES)

    async def list_templates(self, _request: Request, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES if self._all_sessions else [])

    async def read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri, snapshot = await self._read(request, params.uri)
        return types.ReadResourceResult(contents=[resources.contents(uri, snapshot)])

    async def subscribe(self, request: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
        _, snapshot = await self._read(request, params.uri)
        self._subscriptions.subscribe(request, params.uri, snapshot)
        return types.EmptyResult()

    async def unsubscribe(self, request: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._subscriptions.unsubscribe(request, params.uri)
        return types.EmptyResult()

    async def listen(
        self, request: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        snapshots: dict[str, SessionSnapshot] = {}
        for uri in params.notifications.resource_subscriptions or ():
            # URIs without a resource are omitted from the list in the response.
            with suppress(_ResourceNotFound):
                _, snapshots[uri] = await self._read(request, uri)
        return await self._subscriptions.listen(request, params, snapshots)

    async def list_prompts(self, _request: Request, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompts.PROMPTS)

    async def get_prompt(self, _request: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != prompts.NAME:
            name = replace_surrogates(params.name)
            raise MCPError(INVALID_PARAMS, f"Unknown prompt {name!r:.100}; there is {prompts.NAME}")
        task = (params.arguments or {}).get(prompts.TASK, "").strip()
        if not task:
            raise MCPError(INVALID_PARAMS, f"Missing argument {prompts.TASK}: what is to be done")
        return prompts.plan_prompt(self._connections.dialect, task)

    async def complete(self, request: Request, params: types.CompleteRequestParams) -> types.CompleteResult:
        names: list[str] = []
        if self._all_sessions and isinstance(params.ref, types.ResourceTemplateReference):
            sessions = await _reported(self._connection(request).session_names)
            names = [replace_surrogates(name) for name in sessions if name.startswith(params.argument.value)]
        first = names[:MAX_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=first, total=len(names), has_more=len(first) < len(names))
        )

    def _connection(self, request: Request) -> Connection:
        return self._connections.get(self._resolve_caller(request))

    async def _read(self, request: Request, uri: str) -> tuple[resources.PlanUri, SessionSnapshot]:
        """Return the parsed URI, and the state of the session that it names for this caller."""
        parsed = resources.parse_uri(uri)
        if parsed is None:
            raise _ResourceNotFound(request, uri)
        events = resources.MAX_LOG_EVENTS if parsed.log else 0
        snapshot = await _reported(lambda: self._connection(request).snapshot(events=events))
        if parsed.session is not None and parsed.session != snapshot.session:
            if not self._all_sessions:
                raise _ResourceNotFound(request, uri)
            snapshot = await _reported(lambda: self._connection(request).snapshot(parsed.session))
            if snapshot.state.head is None:
                raise _ResourceNotFound(request, uri)
        return parsed, snapshot


async def _reported(work: Callable[[], Awaitable[T]]) -> T:
    """Await `work()` and return its result; an error is logged and becomes a protocol error."""
    try:
        return await work()
    except Exception as error:
        log_error(error)
        raise MCPError(INTERNAL_ERROR, client_message(error)) from error


class _ResourceNotFound(MCPError):
    """No resource has this URI, or none that this caller may read."""

    def __init__(self, request: Request, uri: str) -> None:
        modern = request.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
        uri = replace_surrogates(uri)
        super().__init__(code, f"Resource not found: {uri:.200}", {"uri": uri})
