"""In a real client, the first request to the model carries our tool, at every start."""

from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox
from tests.clients.inside import CLIENTS, install
from tests.clients.model import Model, offered_tools
from tests.clients.situations import proves

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

STARTS = {"claude": 6, "codex": 6}
"""How often a client is started that does not wait for its servers: one that is sometimes too slow would be missing in
some of the first requests. The other clients wait, and are started twice."""


@pytest.mark.parametrize("name", CLIENTS)
@proves("first request")
def test_the_first_request_of_every_start_offers_the_tool(name: str, make_sandbox: MakeSandbox) -> None:
    """The model needs no turn to wait for the tool, or to search for it."""
    starts = STARTS.get(name, 2)
    offered: list[list[str]] = []
    with Model({"text": "Hello.", "repeat": True}) as model:
        client = install(name, make_sandbox(model))
        for _ in range(starts):
            already = len(model.requests)
            result = client.run("Say hello.")
            assert model.requests[already:], result
            tools = offered_tools(model.requests[already].body)
            offered.append([tool for tool in tools if tool.endswith("todo")])

    assert [len(tools) for tools in offered] == [1] * starts, offered
