"""Requests of the official SDK in the form of ours, and blocking work awaited in its event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.shared.exceptions import MCPError

from tildone.mcp.client_requests import ANSWER_SECONDS
from tildone.mcp.elicitation import has_forms
from tildone.mcp.json_rpc import INTERNAL_ERROR, RequestError
from tildone.mcp.reporting import client_message, log_error
from tildone.mcp.request import MODERN_VERSIONS, Request
from tildone.mcp.surrogates import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from tildone.mcp.connections import Connection
    from tildone.mcp.executor import SerialExecutor
    from tildone.mcp.request import Elicit

    Context = ServerRequestContext[Any, Any]

T = TypeVar("T")


def as_request(context: Context) -> Request:
    """Return the SDK's context of a request as a request."""
    client = context.session.client_params
    name = client.client_info.name.lower() if client else ""
    params, version = context.params or {}, context.protocol_version
    return Request(context.method, params, version, name, context.request, _elicit(context))


def _elicit(context: Context) -> Elicit | None:
    """Return a function that shows a form in the client, for other threads; None if the client shows none."""
    client, loop = context.session.client_params, asyncio.get_running_loop()
    declared = client.capabilities.model_dump(by_alias=True, exclude_none=True) if client else {}
    if context.protocol_version in MODERN_VERSIONS or not has_forms(declared):
        return None

    def elicit(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
        shown = context.session.elicit_form(form["message"], form["requestedSchema"], context.request_id)
        try:
            result = asyncio.run_coroutine_threadsafe(shown, loop).result(ANSWER_SECONDS)
        except (MCPError, TimeoutError, CancelledError):
            return None
        return result.model_dump(by_alias=True, mode="json")

    return elicit


def release_with_session(context: Context, connection: Connection, release: Callable[[Connection], None]) -> None:
    """Release a connection when the MCP session ends that it was opened for; others may be used by more sessions."""
    if connection.caller.mcp_session and not connection.ends_with_session:
        connection.ends_with_session = True
        # The SDK gives handlers no public access to the connection and its exit stack.
        context.session._connection.exit_stack.callback(release, connection)  # noqa: SLF001  see above


async def run_on(executor: SerialExecutor, job: Callable[[], T], interrupt: Callable[[int], None] | None = None) -> T:
    """Run a job and return its result. A job cancelled while queued never starts; a running one finishes.

    `interrupt` is called with the thread of a job that is cancelled while it runs, and ends what it waits for.

    Raises:
        RequestError: the job raised it, or another error, which is reported.
    """
    future: Future[T] = Future()
    threads: list[int] = []

    def work() -> None:
        threads.append(threading.get_ident())
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = job()
        except RequestError as error:
            future.set_exception(error)
        except Exception as error:  # noqa: BLE001  the outermost function of a request: reported to client and person
            log_error(error)
            future.set_exception(RequestError(INTERNAL_ERROR, client_message(error)))
        else:
            future.set_result(result)

    executor.submit(work)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        if threads and interrupt is not None:
            interrupt(threads[0])
        raise


def encodable(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without lone surrogates, which the SDK cannot encode."""
    cleaned: dict[str, Any] = replace_surrogates(result)
    return cleaned


def as_sdk_error(error: RequestError) -> MCPError:
    """Return the error of a response as the SDK's."""
    return MCPError(error.code, replace_surrogates(str(error)), replace_surrogates(error.data))
