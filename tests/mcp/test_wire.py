"""The stdio protocol, byte for byte: schemas as they were written, and a response to every line."""

import asyncio
import json
from typing import Any

import apsw
import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.mcp.project import DIALECTS, TIMEOUT_SECONDS, Project
from tests.mcp.wire import INITIALIZED, MODERN, HeldCalls, Record, call, initialize, line, request, wired
from tildone.agents.mcp.json_rpc import MAX_MESSAGE_BYTES, result_line
from tildone.plan.dialects import dialect_named, tools_of

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
ADD = {"add": ["One"]}


@every_dialect
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28"])
async def test_a_schema_reaches_the_client_byte_for_byte(project: Project, dialect: str, version: str) -> None:
    """A schema is a prompt: no field is added, omitted or sorted, in any version of the protocol."""
    async with wired(project, greet=False, dialect=dialect) as wire:
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


INVALID: dict[str, tuple[bytes, int, object]] = {
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


@pytest.mark.parametrize("kind", INVALID)
async def test_an_invalid_line_gets_an_error_and_the_next_is_answered(project: Project, kind: str) -> None:
    """A client that waits for a response would wait for ever."""
    invalid, code, number = INVALID[kind]
    async with wired(project) as wire:
        refused = await wire.ask(invalid)
        next_response = await wire.ask(b"\r\n", b"\n", b" \t\n", request(6, "ping"))

    assert (refused["error"]["code"], refused["id"]) == (code, number)
    assert next_response == {"jsonrpc": "2.0", "id": 6, "result": {}}
    assert project.texts() == []


async def test_lines_may_end_with_crlf(project: Project) -> None:
    async with wired(project) as wire:
        answered = await wire.ask(line(request(1, "ping")).replace(b"\n", b"\r\n"))

    assert answered["result"] == {}


async def test_a_lone_surrogate_is_stored_and_sent_as_a_replacement(project: Project) -> None:
    """JavaScript may send one; most clients could not read it."""
    async with wired(project, dialect="indexed") as wire:
        todos = [{"text": "a\ud800b"}, {"text": "c"}]
        written = await wire.ask(call(1, "write_todos", {"mode": "replace", "todos": todos}))
        unknown = await wire.ask(call(2, "\ud800", {}))

    assert project.texts() == ["a\ud800b", "c"]
    assert written["result"]["content"][0]["text"].endswith("[0] a<U+D800>b\n– [1] c")
    assert written["result"]["structuredContent"]["todos"][0]["text"] == "a\ufffdb"
    assert "error" in unknown


def test_every_message_can_be_encoded() -> None:
    """Results and errors repeat parts of a request."""
    line = result_line(1, {"a\ud800": ["ü", "\udfff"]})

    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, "result": {"a\ufffd": ["ü", "\ufffd"]}}


@every_dialect
@pytest.mark.parametrize("depth", [150, 300, 900])
async def test_deeply_nested_arguments_are_refused(project: Project, dialect: str, depth: int) -> None:
    """No arguments can end the server."""
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    async with wired(project, dialect=dialect) as wire:
        refused = await wire.ask(call(1, tools_of(dialect)[0], {"add": deep, "ops": deep, "todos": deep, "mode": deep}))
        next_response = await wire.ask(request(2, "ping"))

    assert refused["result"]["isError"] or "error" in refused
    assert (next_response["result"], project.texts()) == ({}, [])


async def test_requests_before_end_of_file_are_answered(project: Project) -> None:
    """A script may send all its requests and close the pipe."""
    async with wired(project) as wire:
        wire.send(call(1, "todo", ADD), call(2, "todo", {"done": 1}), request(3, "tools/list"), request(4, "ping"))
        wire.close_input()
        answers = {answer["id"]: answer for answer in await wire.rest()}

    assert sorted(answers) == [1, 2, 3, 4]
    assert [answers[number]["result"]["content"][0]["text"] for number in (1, 2)] == ["1", "ok, all done"]


async def test_end_of_file_without_a_request_ends_the_server(project: Project) -> None:
    async with wired(project, greet=False) as wire:
        wire.close_input()

        assert await wire.rest() == []


class Locked:
    """A write lock on the store, held by another connection."""

    def __init__(self, project: Project) -> None:
        project.add("Before")
        self._connection = apsw.Connection(project.settings().store.location)
        self._connection.execute("BEGIN IMMEDIATE")

    def unlock(self) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


async def test_a_call_that_waits_for_the_store_does_not_delay_others(project: Project) -> None:
    """Other requests are answered meanwhile, and the call once the store is free."""
    async with wired(project) as wire:
        locked = Locked(project)
        wire.send(call(1, "todo", ADD))
        meanwhile = await wire.ask(request(2, "ping"))
        locked.unlock()
        at_last = await wire.answer()

    assert (meanwhile["id"], at_last["id"]) == (2, 1)
    assert project.texts() == ["Before", "One"]


def cancelled(number: int | str) -> Record:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


async def test_a_cancelled_call_gets_no_response(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has begun is completed; one that is still queued never begins."""
    held = HeldCalls(monkeypatch)
    async with wired(project) as wire:
        wire.send(call(1, "todo", ADD), call(2, "todo", {"add": ["Never"]}))
        assert await asyncio.to_thread(held.begun.acquire, timeout=TIMEOUT_SECONDS)
        wire.send(cancelled(1), cancelled(2), cancelled("unknown"), cancelled([]))  # type: ignore[arg-type]  # invalid
        meanwhile = await wire.ask(request(3, "ping"))
        held.proceed.set()
        afterwards = await wire.ask(call(4, "todo", {}))

    assert (meanwhile["id"], afterwards["id"]) == (3, 4)
    assert project.texts() == ["One"]


async def test_an_id_can_be_used_again_after_a_cancellation(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response is that of the second request."""
    held = HeldCalls(monkeypatch)
    async with wired(project) as wire:
        wire.send(call(1, "todo", ADD))
        assert await asyncio.to_thread(held.begun.acquire, timeout=TIMEOUT_SECONDS)
        wire.send(cancelled(1), call(1, "todo", {"add": ["Two"]}))
        await wire.ask(request(2, "ping"))
        held.proceed.set()
        answered = await wire.answer()

    assert (answered["id"], text_of(answered), project.texts()) == (1, "2", ["One", "Two"])


async def test_an_endless_line_is_not_kept_in_memory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read up to a limit, answered and skipped."""
    monkeypatch.setattr("tildone.agents.mcp.server.MAX_LINE_BYTES", 1000)
    async with wired(project) as wire:
        refused = await wire.ask(b'{"id":5' + b" " * 5000 + b"}\n")
        next_response = await wire.ask(request(6, "ping"))

    assert (refused["id"], refused["error"]["code"]) == (None, INVALID_REQUEST)
    assert (next_response["id"], next_response["result"]) == (6, {})


async def test_a_call_that_waits_for_the_store_does_not_keep_the_server_running(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After end of file the server ends although the store is locked."""
    monkeypatch.setattr("tildone.agents.mcp.server.DRAIN_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr("tildone.agents.mcp.server.CLOSE_TIMEOUT_SECONDS", 0.2)
    async with wired(project) as wire:
        locked = Locked(project)
        wire.send(call(1, "todo", ADD))
        await wire.ask(request(2, "ping"))
        wire.close_input()
        rest = await wire.rest()
    locked.unlock()

    assert [record["error"]["message"] for record in rest] == ["Connection closed"]


async def test_responses_larger_than_the_pipe_buffer_arrive(project: Project) -> None:
    """While the client sends more requests."""
    async with wired(project, dialect="indexed") as wire:
        todos = [{"text": f"{number} {'x' * 900}"} for number in range(100)]
        wire.send(call(1, "write_todos", {"mode": "replace", "todos": todos}))
        wire.send(*(call(number, "list_todos", {}) for number in range(2, 12)))
        answers = [await wire.answer() for _ in range(11)]

    assert {answer["id"] for answer in answers} == set(range(1, 12))
    assert all(len(text_of(answer)) > 30_000 for answer in answers)


def text_of(answer: Record) -> str:
    return str(answer["result"]["content"][0]["text"])
