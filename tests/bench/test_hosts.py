"""What tildone adds to the requests of coding agents is found in each of their protocols."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.hosts import PLAN, STOPS, Cost, cost, script
from bench.wire import Piece, added_context, added_tools, conversation

NUDGE = "Your plan is not done:\nstarted 1 a\nGo on"
PROTOCOLS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("protocols.json").read_text())
"""The same conversation in the requests of each protocol."""
ANTHROPIC = PROTOCOLS["anthropic"]["messages"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_calls_results_and_nudges_are_found_in_every_protocol(protocol: str) -> None:
    """Calls of other tools and their results are not ours."""
    assert conversation(PROTOCOLS[protocol]) == [
        Piece("other", "Do it."),
        Piece("call", '{"name":"mcp__t__todo","arguments":{"done":1}}', "1"),
        Piece("result", "ok", "1"),
        Piece("other", '{"name":"Bash","arguments":{"command":"ls"}}', "2"),
        Piece("other", "a.py"),
        Piece("nudge", f"Stop hook feedback:\n{NUDGE}"),
    ]


def test_a_namespace_is_part_of_a_call() -> None:
    call = {"type": "function_call", "name": "todo", "namespace": "mcp__t", "arguments": "{}", "call_id": "1"}

    assert conversation({"input": [call]}) == [Piece("call", '{"name":"mcp__t.todo","arguments":{}}', "1")]


def test_only_what_a_plain_request_lacks_is_added() -> None:
    """Tools, also inside a list of declarations, and lines of instructions and messages."""
    plain = {"tools": [{"functionDeclarations": [{"name": "a"}]}], "system": "x", "messages": [{"content": "y\nz"}]}
    request = {
        "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "todo"}]}, {"name": "b"}],
        "system": [{"type": "text", "text": "x\nmore"}],
        "messages": [{"content": [{"type": "text", "text": "y\nYour plan:\nz"}]}],
    }

    assert added_tools(request, plain) == ['{"name":"todo"}', '{"name":"b"}']
    assert added_context(request, plain) == ["more", "Your plan:"]


def test_each_request_carries_what_came_before() -> None:
    """Counted in characters: the schema is sent twice, the call and its answer once."""
    tool = {"name": "todo", "description": ""}
    host_tool = {"name": "resources"}
    first = {"tools": [tool, host_tool], "messages": ANTHROPIC[:1]}
    second = {"tools": [tool, host_tool], "messages": ANTHROPIC[:3]}
    plain = {"tools": [], "messages": ANTHROPIC[:1]}

    counted = cost("claude", [first, second], plain, len)

    call = len('{"name":"mcp__t__todo","arguments":{"done":1}}')
    assert counted == Cost("claude", 32, 20, 0, call, 2, 0, input=2 * 52 + call + 2, requests=2)
    assert counted.total == 52 + call + 2


def test_the_workload_has_thirty_tasks_and_five_early_stops() -> None:
    turns = list(script())

    assert len(set(PLAN)) == 30
    assert turns[0]["args"]["add"] == PLAN
    assert sum("text" in turn for turn in turns[:-1]) == STOPS == 5
    assert len(turns) == 1 + 30 + 5 + 1
