"""The coding agents as MCP clients: what their integrations say does not contradict itself."""

import itertools

import pytest

from tildone.agents.mcp.protocol import CLIENTS, has_resource_tools, is_another, is_text_only


def test_no_client_name_can_be_taken_for_that_of_another_coding_agent() -> None:
    """Names are prefixes, so none may begin with another."""
    names = [name for client in CLIENTS.values() for name in client.names]

    clashes = [pair for pair in itertools.permutations(names, 2) if pair[0].startswith(pair[1])]

    assert (clashes, [name for name in names if name != name.lower() or not name]) == ([], [])


def test_two_coding_agents_never_use_the_same_variable_or_key() -> None:
    """Otherwise a conversation could be attributed to either."""
    places = [
        place
        for client in CLIENTS.values()
        for place in (client.conversation_variable, client.process_variable, *client.conversation_meta)
        if place
    ]

    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    ("name", "text_only"),
    [("claude-code", True), ("codex-mcp-client", True), ("claude-ai", False), ("opencode", False), ("", False)],
)
def test_text_only_clients_are_recognised_by_name(name: str, *, text_only: bool) -> None:
    assert is_text_only(name) is text_only


@pytest.mark.parametrize(
    ("name", "has_tools"),
    [("claude-code", True), ("opencode", True), ("codex-mcp-client", False), ("claude-ai", False), ("", False)],
)
def test_clients_with_tools_for_resources_are_recognised_by_name(name: str, *, has_tools: bool) -> None:
    assert has_resource_tools(name) is has_tools


def test_a_client_without_a_known_name_may_be_any_coding_agent() -> None:
    assert not is_another("", "claude")
    assert not is_another("something new", "claude")
    assert not is_another("claude-code", "claude")
    assert is_another("opencode", "claude")
