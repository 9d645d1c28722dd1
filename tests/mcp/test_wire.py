"""What goes over the pipes, to the byte: schemas as they were written, and an answer to whatever comes in."""

import asyncio
import json
import os
import select
import threading
from typing import Any

import apsw
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.mcp.room import DIALECTS, PATIENCE, Room
from tests.mcp.wire import INITIALIZED, MODERN, Record, call, initialize, line, request, wired
from tildone.dialects import dialect_named, tools_of
from tildone.mcp.json_rpc import MAX_MESSAGE_BYTES, encode
from tildone.mcp.stdio_streams import MessageWriter

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
ADD = {"add": ["One"]}


@every_dialect
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28"])
async def test_a_schema_reaches_the_client_byte_for_byte(room: Room, dialect: str, version: str) -> None:
    """A schema is a prompt: no field is added, left out or sorted, in any revision of the protocol."""
    async with wired(room, greet=False, dialect=dialect) as wire:
        if version in HANDSHAKE_PROTOCOL_VERSIONS:
            negotiated = (await wire.ask(initialize(version), INITIALIZED))["result"]["protocolVersion"]
            wire.send(request(1, "tools/list"))
        else:
            negotiated = version
            wire.send(request(1, "tools/list", _meta=MODERN))
        listed = (await wire.next()).decode()

    assert negotiated == version
    for tool in dialect_named(dialect).tools:
        assert f'"inputSchema":{json.dumps(tool.parameters, separators=(",", ":"), ensure_ascii=False)}' in listed
        assert json.dumps(tool.description, ensure_ascii=False) in listed
    assert [tool["name"] for tool in json.loads(listed)["result"]["tools"]] == list(tools_of(dialect))


UNREADABLE: dict[str, tuple[bytes, int, object]] = {
    "no JSON": (b"hello\n", PARSE_ERROR, None),
    "half of it": (b'{"jsonrpc":"2.0","id":5,"method":"ping"\n', PARSE_ERROR, None),
    "no UTF-8": (b"\xff\xfe\n", PARSE_ERROR, None),
    "deep": (b"[" * 200_000 + b"\n", PARSE_ERROR, None),
    "a batch": (line([request(5, "ping")]), INVALID_REQUEST, None),
    "a number": (b"7\n", INVALID_REQUEST, None),
    "no method": (line({"jsonrpc": "2.0", "id": 5}), INVALID_REQUEST, 5),
    "an odd id": (line({"jsonrpc": "2.0", "id": [5], "method": "ping"}), INVALID_REQUEST, None),
    "no id but true": (line({"jsonrpc": "2.0", "id": True, "method": 7}), INVALID_REQUEST, None),
    "odd params": (line({"jsonrpc": "2.0", "id": "five", "method": "ping", "params": 7}), INVALID_REQUEST, "five"),
    "too long": (line({**call(5, "todo", {"add": ["x" * MAX_MESSAGE_BYTES]}), "id": 5}), INVALID_REQUEST, 5),
}


@pytest.mark.parametrize("kind", UNREADABLE)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(room: Room, kind: str) -> None:
    """A client that waits for an answer would wait for ever."""
    unreadable, code, number = UNREADABLE[kind]
    async with wired(room) as wire:
        refused = await wire.ask(unreadable)
        went_on = await wire.ask(b"\r\n", b"\n", b" \t\n", request(6, "ping"))

    assert (refused["error"]["code"], refused["id"]) == (code, number)
    assert went_on == {"jsonrpc": "2.0", "id": 6, "result": {}}
    assert room.texts() == []


async def test_lines_may_end_as_windows_ends_them(room: Room) -> None:
    async with wired(room) as wire:
        answered = await wire.ask(line(request(1, "ping")).replace(b"\n", b"\r\n"))

    assert answered["result"] == {}


async def test_half_a_surrogate_pair_is_kept_and_told_as_something_that_can_be_sent(room: Room) -> None:
    """JavaScript writes such halves; most clients could not read one."""
    async with wired(room, dialect="indexed") as wire:
        todos = [{"text": "a\ud800b"}, {"text": "c"}]
        written = await wire.ask(call(1, "write_todos", {"mode": "replace", "todos": todos}))
        unknown = await wire.ask(call(2, "\ud800", {}))

    assert room.texts() == ["a\ud800b", "c"]
    assert written["result"]["content"][0]["text"].endswith("[0] a\ufffdb\n– [1] c")
    assert written["result"]["structuredContent"]["todos"][0]["text"] == "a\ufffdb"
    assert "error" in unknown


def test_whatever_is_to_be_said_can_be_written() -> None:
    """What the SDK itself repeats of a request is not ours to mend before."""
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result={"a\ud800": ["ü", "\udfff"]})

    assert json.loads(encode(message)) == {"jsonrpc": "2.0", "id": 1, "result": {"a\ufffd": ["ü", "\ufffd"]}}


@every_dialect
@pytest.mark.parametrize("depth", [150, 300, 900])
async def test_arguments_nested_beyond_reason_are_refused(room: Room, dialect: str, depth: int) -> None:
    """Nothing that a model can write ends the server."""
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    async with wired(room, dialect=dialect) as wire:
        refused = await wire.ask(call(1, tools_of(dialect)[0], {"add": deep, "ops": deep, "todos": deep, "mode": deep}))
        went_on = await wire.ask(request(2, "ping"))

    assert refused["result"]["isError"] or "error" in refused
    assert (went_on["result"], room.texts()) == ({}, [])


async def test_what_was_asked_before_hanging_up_is_answered(room: Room) -> None:
    """A script may send all it has to say and close the pipe."""
    async with wired(room) as wire:
        wire.send(call(1, "todo", ADD), call(2, "todo", {"done": 1}), request(3, "tools/list"), request(4, "ping"))
        wire.hang_up()
        answers = {answer["id"]: answer for answer in await wire.rest()}

    assert sorted(answers) == [1, 2, 3, 4]
    assert [answers[number]["result"]["content"][0]["text"] for number in (1, 2)] == ["1", "ok, all done"]


async def test_a_client_that_says_nothing_is_let_go(room: Room) -> None:
    async with wired(room, greet=False) as wire:
        wire.hang_up()

        assert await wire.rest() == []


class Locked:
    """The store, held by another who writes."""

    def __init__(self, room: Room) -> None:
        room.add("Before")
        self._connection = apsw.Connection(room.settings().store.location)
        self._connection.execute("BEGIN IMMEDIATE")

    def unlock(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


async def test_a_call_that_has_to_wait_holds_up_nobody_else(room: Room) -> None:
    """The store is busy; the client still gets answers, and in the end that one, too."""
    async with wired(room) as wire:
        locked = Locked(room)
        wire.send(call(1, "todo", ADD))
        meanwhile = await wire.ask(request(2, "ping"))
        locked.unlock()
        at_last = await wire.answer()

    assert (meanwhile["id"], at_last["id"]) == (2, 1)
    assert room.texts() == ["Before", "One"]


async def test_a_call_that_is_cancelled_is_not_answered_and_one_not_begun_is_not_carried_out(room: Room) -> None:
    async with wired(room) as wire:
        locked = Locked(room)
        wire.send(call(1, "todo", ADD), call(2, "todo", {"add": ["Never"]}))
        wire.send(
            *({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}} for n in (1, 2))
        )
        meanwhile = await wire.ask(request(3, "ping"))
        locked.unlock()
        afterwards = await wire.ask(call(4, "todo", {}))

    assert (meanwhile["id"], afterwards["id"]) == (3, 4)
    assert room.texts() == ["Before", "One"]


async def test_a_client_that_hangs_up_on_a_call_that_waits_is_not_waited_for(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends although the store is not to be had."""
    monkeypatch.setattr("tildone.mcp.stdio_streams.DRAIN_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr("tildone.mcp.connections.CLOSE_TIMEOUT_SECONDS", 0.2)
    async with wired(room) as wire:
        locked = Locked(room)
        wire.send(call(1, "todo", ADD))
        await wire.ask(request(2, "ping"))
        wire.hang_up()
        rest = await wire.rest()
    locked.unlock()

    assert [record["error"]["message"] for record in rest] == ["Connection closed"]


async def test_a_plan_longer_than_a_pipe_holds_gets_through(room: Room) -> None:
    """While the client goes on asking."""
    async with wired(room, dialect="indexed") as wire:
        todos = [{"text": f"{number} {'x' * 900}"} for number in range(100)]
        wire.send(call(1, "write_todos", {"mode": "replace", "todos": todos}))
        wire.send(*(call(number, "list_todos", {}) for number in range(2, 12)))
        answers = [await wire.answer() for _ in range(11)]

    assert {answer["id"] for answer in answers} == set(range(1, 12))
    assert all(len(text_of(answer)) > 90_000 for answer in answers)


class Halting(MessageWriter):
    """Holds back the second half of every long line until it is let go on, as a slow client would."""

    def __init__(self, out: int) -> None:
        super().__init__(out, lambda: None)
        self.halfway, self.go_on = threading.Event(), threading.Event()

    def _write(self, data: bytes) -> None:
        half = len(data) // 2 if len(data) > select.PIPE_BUF else len(data)
        super()._write(data[:half])
        if data[half:]:
            self.halfway.set()
            self.go_on.wait(PATIENCE)
            super()._write(data[half:])


@pytest.mark.skipif(os.name == "nt", reason="Windows lets every line be written by the thread that writes long ones")
async def test_a_line_that_nobody_waits_for_any_more_is_not_torn_by_the_next() -> None:
    """The answer was cancelled in the middle of it, and another is ready."""
    source, out = os.pipe()
    writer = Halting(out)
    long, short = (
        SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": "x" * size}))
        for number, size in ((1, 10_000), (2, 1))
    )
    given_up = asyncio.create_task(writer.send(long))
    await asyncio.to_thread(writer.halfway.wait, PATIENCE)
    given_up.cancel()
    await asyncio.wait({given_up})
    after = asyncio.create_task(writer.send(short))
    await asyncio.sleep(0)
    writer.go_on.set()
    await after
    with os.fdopen(source, "rb") as ear:
        writer.close()
        os.close(out)
        lines = ear.read().splitlines()

    assert [json.loads(each)["id"] for each in lines] == [1, 2]


def text_of(answer: Record) -> str:
    return str(answer["result"]["content"][0]["text"])
