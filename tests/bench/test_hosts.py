"""What tildone adds to the requests of coding agents is found in each of their protocols."""

from typing import Any

import pytest

from bench.hosts import PLAN, STOPS, Cost, cost, script
from bench.wire import Piece, added_context, added_tools, conversation

NUDGE = "Your plan is not done:\n1> a\nGo on"
ARGUMENTS: dict[str, Any] = {"done": 1}

ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "mcp__t__todo", "input": ARGUMENTS}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "ok"}]}],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "Bash", "input": {"command": "ls"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2", "content": "a.py"}]},
    {"role": "user", "content": f"Stop hook feedback:\n{NUDGE}"},
]
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Do it."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "mcp__t__todo", "arguments": '{"done": 1}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "ok"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "2", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "2", "content": "a.py"},
    {"role": "user", "content": [{"type": "text", "text": f"Stop hook feedback:\n{NUDGE}"}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]},
    {"type": "function_call", "name": "mcp__t__todo", "arguments": '{"done": 1}', "call_id": "1"},
    {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "ok"}]},
    {"type": "function_call", "name": "Bash", "arguments": '{"command":"ls"}', "call_id": "2"},
    {"type": "function_call_output", "call_id": "2", "output": "a.py"},
    {"type": "message", "role": "user", "content": [{"text": f"Stop hook feedback:\n{NUDGE}"}]},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Do it."}]},
    {"role": "model", "parts": [{"functionCall": {"name": "mcp__t__todo", "args": ARGUMENTS, "id": "1"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "todo", "id": "1", "response": {"output": "ok"}}}]},
    {"role": "model", "parts": [{"functionCall": {"name": "Bash", "args": {"command": "ls"}, "id": "2"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "Bash", "id": "2", "response": {"output": "a.py"}}}]},
    {"role": "user", "parts": [{"text": f"Stop hook feedback:\n{NUDGE}"}]},
]


@pytest.mark.parametrize(
    "request_body",
    [{"messages": ANTHROPIC}, {"messages": CHAT}, {"input": RESPONSES}, {"contents": GEMINI}],
    ids=["anthropic", "chat", "responses", "gemini"],
)
def test_calls_results_and_nudges_are_found_in_every_protocol(request_body: dict[str, Any]) -> None:
    """Calls of other tools and their results are not ours."""
    assert conversation(request_body) == [
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
