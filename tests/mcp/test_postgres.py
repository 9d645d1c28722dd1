"""The same on PostgreSQL: calls go to a server, and changes are heard of from it."""

from dataclasses import replace

import pytest

from tests.mcp.room import MODES, Heard, Room, listening, read, said
from tests.stores.postgres import needs_server, running_server
from tildone.dialects import dialect_named
from tildone.wiring import session_in

pytestmark = [needs_server, pytest.mark.slow]


async def test_agents_share_a_plan_on_a_server_and_hear_of_changes(room: Room) -> None:
    with running_server() as server, server.database() as url:
        room = replace(room, environ={"TILDONE_STORE": url})
        for mode in MODES:
            await shared(room, url, mode)


async def shared(room: Room, url: str, mode: str) -> None:
    # Only where there is a server is there a driver to talk to it.
    from tildone.stores.postgres.store import PostgresStore  # noqa: PLC0415  see above

    heard = Heard()
    store = PostgresStore(url)
    other = session_in(store, mode, dialect_named("brief"))
    async with room.client(mode, heard=heard, session=mode) as client:
        async with listening(client, heard, "plan://current") as change:
            first = said(await client.call_tool("todo", {"add": ["One"]}))
            own = await change()
            other.call("todo", {"add": ["Two"]})
            others = await change()
        second = said(await client.call_tool("todo", {"done": 1}))
        plan = await read(client)
    store.close()

    assert (first, own, others) == ("1", "plan://current", "plan://current")
    assert second == "ok\nChanged by others meanwhile; now:\n2 Two\ndone 1"
    assert plan == "- [x] One\n- [ ] Two\n"
