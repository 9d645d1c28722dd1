"""In a real client, the first request to the model carries our tool, at every start."""

import pytest

from tests.clients.driving import MakeSandbox, conversation, in_both_modes, install_in
from tests.clients.inside import CLIENTS, InstalledClient
from tests.clients.model import Model, offered_tools
from tests.clients.situations import proves

pytestmark = pytest.mark.slow

STARTS = {"claude": 6, "codex": 6}
"""How often a client is started that does not wait for its servers: one that is sometimes too slow would be missing in
some of the first requests. The other clients wait, and are started twice."""

WAITS_FOR_SERVERS = ("MCP_CONNECTION_NONBLOCKING", "ENABLE_TOOL_SEARCH")
"""Variables that make Claude Code send every tool with the first request in other tests."""


@pytest.mark.parametrize("name", CLIENTS)
@in_both_modes
@proves("first request")
def test_the_first_request_of_every_start_offers_the_tool(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    """The model needs no turn to wait for the tool, or to search for it."""
    starts = STARTS.get(name, 2)
    offered: list[list[str]] = []
    with Model({"text": "Hello from the script.", "repeat": True}) as model:
        client = with_default_settings(install_in(mode, name, make_sandbox(model)))
        for start in range(starts):
            already = len(model.requests)
            with conversation(client, mode, again=start > 0) as say:
                say("Say hello.", "Hello from the script.")
            tools = offered_tools(model.requests[already].body)
            offered.append([tool for tool in tools if tool.endswith("todo")])

    assert [len(tools) for tools in offered] == [1] * starts, offered


def with_default_settings(client: InstalledClient) -> InstalledClient:
    """Remove the variables that make a client wait for its MCP servers."""
    for variable in WAITS_FOR_SERVERS:
        client.start.environ.pop(variable, None)
    return client
