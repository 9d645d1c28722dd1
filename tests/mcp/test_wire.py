"""The stdio protocol, byte for byte.

Schemas as they were written, framing, notifications, and a response to every line.
"""

import asyncio
import json
import os
import threading
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.mcp.project import DIALECTS, TIMEOUT_SECONDS, Project
from tests.mcp.wire import INITIALIZED, MODERN, HeldCalls, Record, call, initialize, line, process, request, wired
from tildone.agents.mcp.connections import WAITING
from tildone.agents.mcp.json_rpc import MAX_MESSAGE_BYTES, InvalidMessage, SerialExecutor, decode, result_line
from tildone.agents.mcp.protocol import HANDSHAKE_METHODS, MODERN_METHODS
from tildone.log.session import Session
from tildone.plan.dialects import Reply, dialect_named, tools_of

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
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    async with wired(project, dialect=dialect) as wire:
        refused = await wire.ask(call(1, tools_of(dialect)[0], {"add": deep, "ops": deep, "todos": deep, "mode": deep}))
        next_response = await wire.ask(request(2, "ping"))

    assert refused["result"]["isError"] or "error" in refused
    assert (next_response["result"], project.texts()) == ({}, [])


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
    async with wired(project, dialect="indexed") as wire:
        todos = [{"text": f"{number} {'x' * 900}"} for number in range(100)]
        wire.send(call(1, "write_todos", {"mode": "replace", "todos": todos}))
        wire.send(*(call(number, "list_todos", {}) for number in range(2, 12)))
        answers = [await wire.answer() for _ in range(11)]

    assert {answer["id"] for answer in answers} == set(range(1, 12))
    assert all(len(text_of(answer)) > 30_000 for answer in answers)


def text_of(answer: Record) -> str:
    return str(answer["result"]["content"][0]["text"])


FORMS: dict[str, Any] = {"form": {}, "url": {}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {
        "name": "claude-code",
        "title": "Claude Code",
        "version": "2.1.325",
        "description": "Anthropic's agentic coding tool",
        "websiteUrl": "https://claude.com/claude-code",
    },
    "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": True}, "elicitation": FORMS},
}
DISCOVER = request("server-discover-probe-1", "server/discover", _meta=META)
LISTEN = request(
    "listen:0", "subscriptions/listen", _meta=META, notifications={"toolsListChanged": True, "promptsListChanged": True}
)
START = (
    *(DISCOVER, LISTEN),
    request(0, "server/discover", _meta=META),
    request(1, "prompts/list", _meta=META),
    request(2, "tools/list", _meta=META),
)


def bare_call(number: int, arguments: Record, **more: Any) -> Record:
    meta = {**META, "claudecode/toolUseId": f"toolu_{number}", "progressToken": number, **more}
    return request(number, "tools/call", name="todo", arguments=arguments, _meta=meta)


def test_a_whole_conversation_without_a_handshake(project: Project) -> None:
    """The ids are numbers and texts; the stream of notifications ends with the connection.

    Without resources, it needs no store: nothing that works on one is imported while the client waits for the tools.
    """
    asked = (*START, bare_call(3, {"add": ["Write the parser"]}), bare_call(4, {"done": 1}))
    with process(project) as running:
        out, err = running.communicate(b"".join(map(line, asked)), TIMEOUT_SECONDS)

    answers = [json.loads(answer) for answer in out.splitlines()]
    discovered, acknowledged, _, _, listed, added, done, ended = answers
    ids = [answer.get("id") for answer in answers]
    assert ids == ["server-discover-probe-1", None, 0, 1, 2, 3, 4, "listen:0"]
    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert "tools" in discovered["result"]["capabilities"]
    assert acknowledged["params"] == {
        "_meta": {"io.modelcontextprotocol/subscriptionId": "listen:0"},
        "notifications": {"toolsListChanged": True, "promptsListChanged": True},
    }
    assert [tool["name"] for tool in listed["result"]["tools"]] == [*tools_of("brief")]
    assert [text_of(added), text_of(done), ended["result"]["resultType"]] == ["1", "ok, all done", "complete"]
    assert (running.returncode, err, project.texts()) == (0, b"", ["Write the parser"])


async def test_a_stream_without_resources_can_be_cancelled(project: Project) -> None:
    """Then it gets no response, also if a store is open."""
    async with wired(project, greet=False) as wire:
        await wire.ask(LISTEN)
        await wire.ask(bare_call(1, {"add": ["One"]}))
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("jsonrpc", "id", "method", "params", "result", "error")


def outcome(line: bytes) -> object:
    try:
        return decode(line)
    except InvalidMessage as invalid:
        return invalid


@given(st.binary(max_size=60) | JSON.map(lambda data: json.dumps(data).encode()))
def test_any_line_is_a_message_or_is_refused(line: bytes) -> None:
    """No other error escapes, so the server answers whatever a client sends."""
    assert outcome(line) is not None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON | st.just("2.0"), max_size=6))
def test_a_refusal_names_the_request_if_its_id_is_valid(record: dict[str, object]) -> None:
    result = outcome(json.dumps(record).encode())

    if isinstance(result, InvalidMessage):
        number = record.get("id")
        valid = isinstance(number, int | str) and not isinstance(number, bool)
        assert result.request == (number if valid else None)


@given(st.integers(0, 2**31) | st.text(max_size=8), JSON)
def test_a_response_survives_its_line(number: int | str, data: object) -> None:
    """Lone surrogates aside, which have no UTF-8."""
    line = result_line(number, {"data": data})

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "id": number, "result": {"data": data}}


def test_the_size_limit_is_exact() -> None:
    empty = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":""}}'
    longest = empty.replace(b'""', b'"%s"' % (b"x" * (MAX_MESSAGE_BYTES - len(empty))))

    assert (decode(longest).id, len(longest)) == (1, MAX_MESSAGE_BYTES)
    with pytest.raises(InvalidMessage, match="at most") as refused:
        decode(longest + b" ")
    assert (refused.value.code, refused.value.request) == (INVALID_REQUEST, 1)


def test_join_tells_whether_all_jobs_have_finished() -> None:
    executor, proceed = SerialExecutor("test executor"), threading.Event()
    executor.submit(lambda: proceed.wait(TIMEOUT_SECONDS))
    executor.close()

    assert not executor.join(0)
    proceed.set()
    assert executor.join(TIMEOUT_SECONDS)


PARAMETER_NAMES = (
    *("name", "arguments", "uri", "cursor", "ref", "argument", "type", "value", "level", "notifications", "task"),
    *("resourceSubscriptions", "toolsListChanged", "protocolVersion", "capabilities", "clientInfo", "version", "_meta"),
)
METHODS = sorted(HANDSHAKE_METHODS | MODERN_METHODS)
ODD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "todo", "plan", "plan://current", "error"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(PARAMETER_NAMES), inner, max_size=3),
    max_leaves=6,
)
ENVELOPES = st.sampled_from([{}, {"_meta": MODERN}, {"_meta": {}}])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    asked=st.lists(st.tuples(st.sampled_from(METHODS), ODD_JSON, ENVELOPES), min_size=1, max_size=4),
    opening=st.sampled_from([(), (initialize(), INITIALIZED)]),
)
def test_every_request_gets_exactly_one_response(
    project: Project, asked: list[tuple[str, Any, Record]], opening: tuple[Record, ...]
) -> None:
    """Whatever its parameters are; and none of them is the server's own fault."""
    records = [
        request(number, method, **((params if isinstance(params, dict) else {}) | envelope))
        for number, (method, params, envelope) in enumerate(asked)
    ]
    with project.pipes() as (to_server, from_server):
        with os.fdopen(to_server, "wb") as stdin:
            stdin.writelines(map(line, (*opening, *records)))
        with os.fdopen(os.dup(from_server), "rb") as stdout:
            answers = [json.loads(answer) for answer in stdout]

    responses = [answer for answer in answers if "method" not in answer]
    expected = [str(record["id"]) for record in (*opening, *records) if "id" in record]
    assert sorted(str(answer["id"]) for answer in responses) == sorted(expected)
    assert [answer for answer in responses if answer.get("error", {}).get("code") == INTERNAL_ERROR] == []


async def test_a_call_that_takes_long_reports_progress(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the client asked for it, again and again, and no longer once the call is answered."""
    monkeypatch.setattr("tildone.agents.mcp.connections.INTERVAL_SECONDS", 0.05)
    held = HeldCalls(monkeypatch)
    async with wired(project) as wire:
        wire.send(call(1, "todo", ADD))
        wire.send(request(2, "tools/call", name="todo", arguments={}, _meta={"progressToken": "t"}))
        notices = [await wire.answer() for _ in range(3)]
        held.proceed.set()
        answers = [answer for answer in [await wire.answer() for _ in range(2)] if "id" in answer]
        wire.close_input()
        answers += [answer for answer in await wire.rest() if "id" in answer]

    assert {notice["method"] for notice in notices} == {"notifications/progress"}
    assert [notice["params"]["progress"] for notice in notices] == [1, 2, 3]
    assert {(notice["params"]["progressToken"], notice["params"]["message"]) for notice in notices} == {("t", WAITING)}
    assert [answer["id"] for answer in answers] == [1, 2]


async def test_a_client_that_set_a_level_gets_errors_as_log_messages(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Reply:
        raise ZeroDivisionError

    monkeypatch.setattr(Session, "call", broken)
    async with wired(project) as wire:
        silent = await wire.ask(call(1, "todo", ADD))
        await wire.ask(request(2, "logging/setLevel", level="critical"))
        above = await wire.ask(call(3, "todo", ADD))
        await wire.ask(request(4, "logging/setLevel", level="info"))
        logged = await wire.ask(call(5, "todo", ADD))
        answered = await wire.answer()

    assert (silent["id"], above["id"], answered["id"]) == (1, 3, 5)
    told = {"level": "error", "logger": "tildone", "data": "tildone itself is at fault: ZeroDivisionError"}
    assert logged == {"jsonrpc": "2.0", "method": "notifications/message", "params": told}
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError()\n" * 3
