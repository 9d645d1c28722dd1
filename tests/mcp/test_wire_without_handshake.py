"""What Claude Code 2.1.325 sends, over real pipes: no `initialize`, and the client in the `_meta` of each request."""

import json
from typing import Any, BinaryIO, cast

import pytest

from tests.mcp.project import TIMEOUT_SECONDS, Project
from tests.mcp.wire import MODERN, Record, Wire, line, process, request, wired
from tildone.plan.dialects import dialect_named

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {
        "name": "claude-code",
        "title": "Claude Code",
        "version": "2.1.325",
        "description": "Anthropic's agentic coding tool",
        "websiteUrl": "https://claude.com/claude-code",
    },
    "io.modelcontextprotocol/clientCapabilities": {
        "roots": {"listChanged": True},
        "elicitation": {"form": {}, "url": {}},
    },
}
DISCOVER = request("server-discover-probe-1", "server/discover", _meta=META)
LISTEN = request(
    "listen:0", "subscriptions/listen", _meta=META, notifications={"toolsListChanged": True, "promptsListChanged": True}
)
START = (
    DISCOVER,
    LISTEN,
    request(0, "server/discover", _meta=META),
    request(1, "prompts/list", _meta=META),
    request(2, "tools/list", _meta=META),
)


def call(number: int, arguments: Record, **more: Any) -> Record:
    meta = {**META, "claudecode/toolUseId": f"toolu_{number}", "progressToken": number, **more}
    return request(number, "tools/call", name="todo", arguments=arguments, _meta=meta)


async def test_a_whole_conversation_without_a_handshake(project: Project) -> None:
    """The ids are numbers and texts; the stream of notifications ends with the connection."""
    with process(project) as running:
        wire = Wire(cast("BinaryIO", running.stdin), cast("BinaryIO", running.stdout))
        started = await wire.ask(DISCOVER), await wire.ask(LISTEN)
        listed = [await wire.ask(asked) for asked in START[2:]]
        called = [await wire.ask(call(3, {"add": ["Write the parser"]})), await wire.ask(call(4, {"done": 1}))]
        wire.close_input()
        rest = await wire.rest()
        running.wait(TIMEOUT_SECONDS)
        assert running.stderr
        complaints = running.stderr.read()

    discovered, acknowledged = started
    assert discovered["id"] == "server-discover-probe-1"
    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert "tools" in discovered["result"]["capabilities"]
    assert acknowledged["params"] == {
        "_meta": {"io.modelcontextprotocol/subscriptionId": "listen:0"},
        "notifications": {"toolsListChanged": True, "promptsListChanged": True},
    }
    assert [answer["id"] for answer in listed] == [0, 1, 2]
    assert [tool["name"] for tool in listed[2]["result"]["tools"]] == [
        tool.name for tool in dialect_named("brief").tools
    ]
    assert [answer["result"]["content"][0]["text"] for answer in called] == ["1", "ok, all done"]
    assert [(answer["id"], answer["result"]["resultType"]) for answer in rest] == [("listen:0", "complete")]
    assert (running.returncode, complaints, project.texts()) == (0, b"", ["Write the parser"])


def test_a_stream_without_resources_is_acknowledged_before_the_tools_are_listed(project: Project) -> None:
    """It needs no store, so nothing that works on one is imported while the client waits for the tools."""
    with process(project) as running:
        out, err = running.communicate(b"".join(map(line, START)), TIMEOUT_SECONDS)

    answers = [json.loads(answer) for answer in out.splitlines()]

    assert [answer.get("id") for answer in answers] == ["server-discover-probe-1", None, 0, 1, 2, "listen:0"]
    assert (running.returncode, err) == (0, b"")


async def test_a_stream_without_resources_can_be_cancelled(project: Project) -> None:
    """Then it gets no response, also if a store is open."""
    async with wired(project, greet=False) as wire:
        await wire.ask(LISTEN)
        await wire.ask(call(1, {"add": ["One"]}))
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "listen:0"}})
        await wire.ask(request(2, "tools/list", _meta=MODERN))
        wire.close_input()
        rest = await wire.rest()

    assert rest == []


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
async def test_a_request_without_a_part_of_the_envelope_is_refused(project: Project, missing: str) -> None:
    meta = {key: part for key, part in META.items() if not key.endswith(missing)}
    async with wired(project, greet=False) as wire:
        await wire.ask(DISCOVER)
        refused = await wire.ask(request(1, "tools/list", _meta=meta))

    assert missing in refused["error"]["message"]
