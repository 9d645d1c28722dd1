"""Notifications of plan changes on standard output: `resources/subscribe`, and the streams of the newest protocol."""

from __future__ import annotations

from functools import partial

from tildone.mcp.json_rpc import notification_line
from tildone.mcp.params import LIST_CHANGES
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from tildone.mcp.backend import Backend
    from tildone.mcp.connections import Connection
    from tildone.mcp.pending import Pending
    from tildone.mcp.request import Request
    from tildone.mcp.stdio_output import Output

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED, UPDATED = "notifications/subscriptions/acknowledged", "notifications/resources/updated"


def subscribe(request: Request, backend: Backend, connection: Connection, output: Output) -> None:
    """Notify the client of changes at a URI until it unsubscribes. Subscribing again changes nothing.

    Raises:
        RequestError: there is no such resource, or there are too many subscriptions.
    """
    uri = request.params["uri"]
    _, snapshot = backend.handlers.read(request, connection, uri)
    if backend.subscriptions.begin(uri):
        line = notification_line(UPDATED, {"uri": uri})
        backend.subscriptions.watch(uri, snapshot, partial(output.send, line))


def needs_store(request: Request) -> bool:
    """Return whether a stream carries changes of plans. What else a client may ask for never changes."""
    return bool(request.params["notifications"].get("resourceSubscriptions"))


def acknowledge(pending: Pending, uris: Collection[str], output: Output) -> None:
    """Say which of the wanted notifications the stream of a request will carry; of the resources, these."""
    wanted = pending.request.params["notifications"]
    honored: dict[str, Any] = {kind: True for kind in LIST_CHANGES if wanted.get(kind)}
    if uris:
        honored["resourceSubscriptions"] = list(uris)
    meta = {SUBSCRIPTION_KEY: pending.id}
    output.send(notification_line(ACKNOWLEDGED, {"_meta": meta, "notifications": honored}))


def begin_stream(pending: Pending, backend: Backend, connection: Connection, output: Output) -> None:
    """Acknowledge a stream with changes of plans, and begin to send them.

    Raises:
        RequestError: the store cannot be read, or there are too many subscriptions.
    """
    uris = pending.request.params["notifications"]["resourceSubscriptions"]
    snapshots = backend.handlers.readable(pending.request, connection, uris)
    backend.subscriptions.begin(pending)
    # Before watching begins, because it must be the first message of the stream. Changes since the snapshots are seen.
    acknowledge(pending, snapshots, output)
    for uri, snapshot in snapshots.items():
        line = notification_line(UPDATED, {"_meta": {SUBSCRIPTION_KEY: pending.id}, "uri": uri})
        backend.subscriptions.watch(pending, snapshot, partial(output.send, line))


def end_of_stream(pending: Pending) -> dict[str, Any]:
    """Return the result by which a server ends a stream."""
    return {"_meta": {SUBSCRIPTION_KEY: pending.id}}
