"""What a client can ask for, on the SDK's own server: tools, resources, the prompt, and to be told of changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tildone.mcp import prompts, resources
from tildone.mcp.callers import CallerResolver, Request
from tildone.mcp.connections import Connection, Connections, SessionView, client_message, log_error
from tildone.mcp.shapes import described
from tildone.mcp.subscriptions import Subscriptions
from tildone.mcp.tools import replace_surrogates, tool_result, wants_structure

NAME, TITLE = "tildone", "tildone: the plan your agents actually finish"
RESOURCE_NOT_FOUND = -32002
"""As the protocol said until its newest revision."""

UNCHANGING = CacheHint(ttl_ms=3_600_000)
MOST_COMPLETIONS = 100


def make_server(desks: Connections, listeners: Subscriptions, whose: CallerResolver, *, to_all: bool) -> Server[Any]:
    """The server. Where it is not open `to_all` sessions, each caller sees its own and no other."""
    handlers = Handlers(desks, listeners, whose, to_all=to_all)
    dialect = desks.dialect
    server: Server[Any] = Server(
        NAME,
        version=version("tildone"),
        title=TITLE,
        instructions=prompts.guidelines(dialect),
        cache_hints={"tools/list": UNCHANGING, "prompts/list": UNCHANGING, "resources/list": UNCHANGING},
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
    # In place of the SDK's tracing, which nobody here would read.
    server.middleware[:] = [_exact_schemas(desks)]
    return server


def _exact_schemas(desks: Connections) -> Any:
    """Lists tools with their schemas as they were written: the SDK would sort the fields, and a schema is a prompt."""
    schemas = {tool.name: dict(tool.parameters) for tool in desks.dialect.tools}

    async def exact(asked: Request, call_next: CallNext) -> HandlerResult:
        listed = await call_next(asked)
        if asked.method == "tools/list" and isinstance(listed, dict):
            for tool in listed["tools"]:
                tool["inputSchema"] = schemas[tool["name"]]
        return listed

    return exact


class Handlers:
    """One method for each kind of request."""

    def __init__(self, desks: Connections, listeners: Subscriptions, whose: CallerResolver, *, to_all: bool) -> None:
        self._desks = desks
        self._listeners = listeners
        self._whose = whose
        self._to_all = to_all

    async def list_tools(self, asked: Request, _params: object) -> types.ListToolsResult:
        structured = wants_structure(asked)
        return types.ListToolsResult(
            tools=[described(tool, structured=structured) for tool in self._desks.dialect.tools]
        )

    async def call_tool(self, asked: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._desks.dialect.tool(params.name)
        if tool is None:
            known = ", ".join(tool.name for tool in self._desks.dialect.tools)
            raise MCPError(INVALID_PARAMS, f"Unknown tool {replace_surrogates(params.name)!r:.100}; known are {known}")
        reply = await self._desk(asked).call(params.name, params.arguments or {})
        return tool_result(tool, reply, structured=wants_structure(asked))

    async def list_resources(self, _asked: Request, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.RESOURCES)

    async def list_templates(self, _asked: Request, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES if self._to_all else [])

    async def read_resource(self, asked: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        at, found = await self._found(asked, params.uri)
        return types.ReadResourceResult(contents=[resources.contents(at, found)])

    async def subscribe(self, asked: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
        at, found = await self._found(asked, params.uri)
        self._listeners.subscribe(asked, at.uri, found)
        return types.EmptyResult()

    async def unsubscribe(self, asked: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._listeners.unsubscribe(asked, params.uri)
        return types.EmptyResult()

    async def listen(
        self, asked: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted: dict[str, SessionView] = {}
        for uri in params.notifications.resource_subscriptions or ():
            # What is not there is left out of what the client is then told it will hear of.
            with suppress(_Missing):
                _, wanted[uri] = await self._found(asked, uri)
        return await self._listeners.listen(asked, params, wanted)

    async def list_prompts(self, _asked: Request, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompts.PROMPTS)

    async def get_prompt(self, _asked: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != prompts.NAME:
            raise MCPError(
                INVALID_PARAMS, f"Unknown prompt {replace_surrogates(params.name)!r:.100}; there is {prompts.NAME}"
            )
        task = (params.arguments or {}).get(prompts.TASK, "").strip()
        if not task:
            raise MCPError(INVALID_PARAMS, f"Missing argument {prompts.TASK}: what is to be done")
        return prompts.begin(self._desks.dialect, task)

    async def complete(self, asked: Request, params: types.CompleteRequestParams) -> types.CompleteResult:
        names: list[str] = []
        if self._to_all and isinstance(params.ref, types.ResourceTemplateReference):
            sessions = await self._done(self._desk(asked).sessions)
            names = [replace_surrogates(name) for name in sessions if name.startswith(params.argument.value)]
        some = names[:MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=some, total=len(names), has_more=len(some) < len(names))
        )

    def _desk(self, asked: Request) -> Connection:
        return self._desks.of(self._whose(asked))

    async def _found(self, asked: Request, uri: str) -> tuple[resources.Address, SessionView]:
        """What an address means to this caller, and what is there."""
        at = resources.address(uri)
        if at is None:
            raise _Missing(asked, uri)
        found = await self._done(lambda: self._desk(asked).look())
        if at.session is not None and at.session != found.session:
            if not self._to_all:
                raise _Missing(asked, uri)
            found = await self._done(lambda: self._desk(asked).look(at.session))
            if found.state.head is None:
                raise _Missing(asked, uri)
        return at, found

    async def _done(self, work: Callable[[], Any]) -> Any:
        try:
            return await work()
        except Exception as error:
            log_error(error)
            raise MCPError(INTERNAL_ERROR, client_message(error)) from error


class _Missing(MCPError):
    """There is nothing at an address, or nothing that this caller may see."""

    def __init__(self, asked: Request, uri: str) -> None:
        modern = asked.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
        super().__init__(code, f"Resource not found: {replace_surrogates(uri):.200}", {"uri": replace_surrogates(uri)})
