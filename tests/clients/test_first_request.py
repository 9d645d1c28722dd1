"""In a real client, the first request to the model carries our tool, at every start."""

from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox
from tests.clients.inside import CLIENTS, install
from tests.clients.model import Model, offered_tools
from tests.clients.situations import proves

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

STARTS = 6
"""How often the client is started: a server that is sometimes too slow would be missing in some of them."""


@pytest.mark.parametrize("name", CLIENTS)
@proves("first request")
def test_the_first_request_of_every_start_offers_the_tool(name: str, make_sandbox: MakeSandbox) -> None:
    """The model needs no turn to wait for the tool, or to search for it."""
    offered = []
    for _ in range(STARTS):
        with Model({"text": "Hello."}) as model:
            result = install(name, make_sandbox(model)).run("Say hello.")
            assert model.requests, result
        offered.append([tool for tool in offered_tools(model.requests[0].body) if tool.endswith("todo")])

    assert [len(tools) for tools in offered] == [1] * STARTS, offered
