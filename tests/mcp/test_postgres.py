"""The MCP server on a PostgreSQL store: calls, and notifications of changes."""

from dataclasses import replace

import pytest

from tests.mcp.project import MODES, Inbox, Project, read, subscribed, text_of
from tests.stores.postgres import needs_server, running_server
from tildone.app.opening import session_in
from tildone.plan.dialects import dialect_named

pytestmark = [needs_server, pytest.mark.slow]


async def test_agents_share_a_session_and_are_notified_of_changes(project: Project) -> None:
    with running_server() as server, server.database() as url:
        project = replace(project, environ={"TILDONE_STORE": url})
        for mode in MODES:
            await shared(project, url, mode)


async def shared(project: Project, url: str, mode: str) -> None:
    # The driver may be missing if there is no server.
    from tildone.stores.postgres.store import PostgresStore  # noqa: PLC0415  see above

    inbox = Inbox()
    store = PostgresStore(url)
    other = session_in(store, mode, dialect_named("brief"))
    async with project.client(mode, inbox=inbox, session=mode) as client:
        async with subscribed(client, inbox, "plan://current") as next_change:
            first = text_of(await client.call_tool("todo", {"add": ["One"]}))
            own = await next_change()
            other.call("todo", {"add": ["Two"]})
            others = await next_change()
        second = text_of(await client.call_tool("todo", {"done": 1}))
        plan = await read(client)
    store.close()

    assert (first, own, others) == ("1", "plan://current", "plan://current")
    assert second == "ok\nChanged by others meanwhile; now:\n2> Two\ndone 1"
    assert plan == "- [x] One\n- [/] Two\n"
