"""The official SDK's server, for HTTP: it speaks the protocol, and the handlers shared with stdio do the work."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server

from tildone.mcp.backend import Backend
from tildone.mcp.json_rpc import RequestError
from tildone.mcp.listings import SERVER_INFO, Listings
from tildone.mcp.protocol import complete
from tildone.mcp.reporting import log_error
from tildone.mcp.sdk_requests import as_request, as_sdk_error, encodable, release_with_session, run_on
from tildone.mcp.sdk_subscriptions import SdkSubscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from tildone.config import Settings
    from tildone.dialects.base import Dialect
    from tildone.mcp.callers import CallerResolver

    Context = ServerRequestContext[Any, Any]

PARAMS: dict[str, type[types.RequestParams]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "completion/complete": types.CompleteRequestParams,
}
"""What the SDK validates the parameters of each method against."""


@contextmanager
def open_server(
    settings: Settings, dialect: Dialect, resolve_caller: CallerResolver
) -> Iterator[tuple[Server[Any], SdkSubscriptions]]:
    """Open a server on the store that the settings name, with its subscriptions; close everything on exit.

    Raises:
        TildoneError: the store cannot be opened.
    """
    backend = Backend(settings, dialect, resolve_caller, log_error, all_sessions=False)
    subscriptions = SdkSubscriptions(backend)
    try:
        backend.open_store()
        yield make_server(backend, subscriptions, dialect), subscriptions
    finally:
        subscriptions.close()
        backend.close()


def make_server(backend: Backend, subscriptions: SdkSubscriptions, dialect: Dialect) -> Server[Any]:
    """Return a server with all handlers registered. A caller can read only its own session."""
    listings = Listings(dialect, all_sessions=False)
    server: Server[Any] = Server(
        SERVER_INFO["name"],
        version=SERVER_INFO["version"],
        title=SERVER_INFO["title"],
        instructions=listings.instructions,
        get_tool_input_schema=lambda name: tool.parameters if (tool := dialect.tool(name)) else None,
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions.listen,
    )

    async def answer_at_once(context: Context, _params: object) -> dict[str, Any]:
        try:
            request = as_request(context)
            return complete(request, encodable(listings.answer(request)))
        except RequestError as error:
            raise as_sdk_error(error) from error

    async def answer(context: Context, _params: object) -> dict[str, Any]:
        request = as_request(context)
        connection = backend.connection(request)
        release_with_session(context, connection, backend.release)
        try:
            job = partial(backend.handlers.answer, request, connection)
            result = await run_on(connection.executor, job, connection.interrupt)
            return complete(request, encodable(result))
        except RequestError as error:
            raise as_sdk_error(error) from error

    for method, params_type in PARAMS.items():
        handler = answer_at_once if method in Listings.METHODS else answer
        server.add_request_handler(method, params_type, handler)
    # This replaces the SDK's tracing middleware, which we do not use.
    server.middleware[:] = [_exact_schemas(dialect)]
    return server


def _exact_schemas(dialect: Dialect) -> Any:
    """Return middleware that lists input schemas as written: the SDK sorts their fields, and models read schemas."""
    schemas = {tool.name: dict(tool.parameters) for tool in dialect.tools}

    async def restore_schemas(context: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(context)
        if context.method == "tools/list" and isinstance(result, dict):
            for tool in result["tools"]:
                tool["inputSchema"] = schemas[tool["name"]]
        return result

    return restore_schemas
