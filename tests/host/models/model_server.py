"""An HTTP server on loopback that answers model requests from a script, in the formats of OpenAI and Anthropic.

It serves OpenAI chat completions under `/v1/chat/completions` and Anthropic messages under `/v1/messages`. A script is
a list of turns, one per request:

    {"text": "…"}   {"tool": "NAME", "args": {…}}   {"tools": [["NAME", {…}], …], "text": "…"}   {"thinking": "…", …}
    {"error": 429, "kind": "…", "retry_after": 3, "message": "…"}

Arguments given as text are sent as they are, JSON or not. Any turn may have a `delay` (seconds before it is answered),
`cut` (the connection breaks after so many events), `hold` (after so many events it waits until `release` is called or
the client has disconnected), `breaks` (the type of an error event that replaces the end), `ends` (the stop reason, if
not the default), `usage` (counts that differ from the default), `model` (the name of the model) and, in the last turn,
`repeat`. After the end of the script every answer is "Done.".
"""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Turn = dict[str, Any]
Event = dict[str, Any]

HOLD_TIMEOUT_SECONDS = 10.0


@dataclass
class ReceivedRequest:
    """One request; `left` is set when the client disconnected before the end of the answer."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])


class ModelServer:
    """The server, which runs inside a `with` statement."""

    def __init__(self, *script: Turn) -> None:
        self.script = script
        self.requests: list[ReceivedRequest] = []
        self.models: list[str] | None = None
        self.held = threading.Event()
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def release(self) -> None:
        self._released.set()

    def next_turn(self, request: ReceivedRequest) -> Turn:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if number < len(self.script):
            return self.script[number]
        return self.script[-1] if self.script and self.script[-1].get("repeat") else {"text": "Done."}

    def hold(self, request: ReceivedRequest, connection: socket.socket) -> bool:
        """Wait for `release`; return False if the client disconnected first."""
        self.held.set()
        until = time.monotonic() + HOLD_TIMEOUT_SECONDS
        while not self._released.is_set() and time.monotonic() < until:
            readable, _, _ = select.select([connection], [], [], 0.005)
            if readable and not _peek(connection):
                request.left.set()
                return False
        return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, scripted: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.scripted = scripted


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an event is sent when it happens
    server: _Server

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        models = self.server.scripted.models
        if models is None or not self.path.startswith("/v1/models"):
            self._refuse({"error": 404})
            return
        listed = [{"id": name, "type": "model", "object": "model", "created": 0, "owned_by": "test"} for name in models]
        data = json.dumps({"object": "list", "data": listed, "has_more": False}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request = ReceivedRequest(self.path, dict(self.headers.items()), body)
        turn = self.server.scripted.next_turn(request)
        time.sleep(turn.get("delay", 0))
        try:
            if "error" in turn:
                self._refuse(turn)
            else:
                self._answer(request, turn, f"{len(self.server.scripted.requests)}")
        except OSError:
            request.left.set()
            self.close_connection = True

    def _refuse(self, turn: Turn) -> None:
        kind = turn.get("kind", "scripted_error")
        error = {"type": kind, "code": kind, "message": turn.get("message", "scripted")}
        data = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(turn["error"])
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if "retry_after" in turn:
            self.send_header("retry-after", str(turn["retry_after"]))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, request: ReceivedRequest, turn: Turn, name: str) -> None:
        if not request.body.get("stream"):
            self._answer_whole(turn, name)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        speak = anthropic_messages if self.path.startswith("/v1/messages") else chat_completions
        for number, event in enumerate(speak(turn, name)):
            if number == turn.get("cut"):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if number == turn.get("hold") and not self.server.scripted.hold(request, self.connection):
                self.close_connection = True
                return
            self._chunk(event.encode())
        self._chunk(b"")

    def _answer_whole(self, turn: Turn, name: str) -> None:
        encode = whole_anthropic_message if self.path.startswith("/v1/messages") else whole_chat_completion
        data = json.dumps(encode(turn, name)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def chat_completions(turn: Turn, name: str) -> Iterator[str]:
    base: Event = {"id": f"chatcmpl-{name}", "object": "chat.completion.chunk", "created": 1}
    base |= {"model": turn.get("model", "scripted")}
    calls = calls_of(turn)

    def said(delta: Event, ends: str | None = None) -> str:
        return f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': ends}]})}\n\n"

    yield said({"role": "assistant", "content": ""})
    for piece in split_words(turn.get("thinking", "")):
        yield said({"reasoning_content": piece})
    for piece in split_words(turn.get("text", "")):
        yield said({"content": piece})
    for index, (tool, arguments) in enumerate(calls):
        start = {"id": f"call_{name}_{index}", "type": "function", "function": {"name": tool, "arguments": ""}}
        yield said({"tool_calls": [{"index": index, **start}]})
        for half in split_in_half(arguments):
            yield said({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
    if kind := turn.get("breaks"):
        yield f"data: {json.dumps({'error': {'type': kind, 'message': kind}})}\n\n"
    yield said({}, turn.get("ends", "tool_calls" if calls else "stop"))
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, **turn.get("usage", {})}
    yield f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def anthropic_messages(turn: Turn, name: str) -> Iterator[str]:
    calls = calls_of(turn)
    usage = {"input_tokens": 10, "output_tokens": 5, **turn.get("usage", {})}
    message: Event = {"id": f"msg_{name}", "type": "message", "role": "assistant", "content": []}
    message |= {"model": turn.get("model", "scripted")}
    opening = {**message, "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield _named({"type": "message_start", "message": opening})
    for index, (start, deltas) in enumerate(anthropic_blocks(turn, calls, name)):
        yield _named({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})
    if kind := turn.get("breaks"):
        yield _named({"type": "error", "error": {"type": kind, "message": kind}})
    ends = {"stop_reason": turn.get("ends", "tool_use" if calls else "end_turn"), "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": ends, "usage": {"output_tokens": usage["output_tokens"]}})
    yield _named({"type": "message_stop"})


def anthropic_blocks(turn: Turn, calls: list[tuple[str, str]], name: str) -> Iterator[tuple[Event, list[Event]]]:
    """Return the blocks of a message: the start of each, and its deltas."""
    if thinking := turn.get("thinking"):
        thought: list[Event] = [{"type": "thinking_delta", "thinking": piece} for piece in split_words(thinking)]
        signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signature]
    if text := turn.get("text"):
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in split_words(text)]
    for index, (tool, arguments) in enumerate(calls):
        start = {"type": "tool_use", "id": f"toolu_{name}_{index}", "name": tool, "input": {}}
        yield start, [{"type": "input_json_delta", "partial_json": half} for half in split_in_half(arguments)]


def whole_chat_completion(turn: Turn, name: str) -> Event:
    calls = [
        {"id": f"call_{name}_{index}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        for index, (tool, arguments) in enumerate(calls_of(turn))
    ]
    message = {"role": "assistant", "content": turn.get("text"), **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, **turn.get("usage", {})}
    whole = {"id": f"chatcmpl-{name}", "object": "chat.completion", "created": 1, "model": "scripted"}
    return {**whole, "choices": [choice], "usage": usage}


def whole_anthropic_message(turn: Turn, name: str) -> Event:
    blocks: list[Event] = [{"type": "text", "text": turn["text"]}] if turn.get("text") else []
    calls = calls_of(turn)
    blocks += [
        {"type": "tool_use", "id": f"toolu_{name}_{index}", "name": tool, "input": json.loads(arguments)}
        for index, (tool, arguments) in enumerate(calls)
    ]
    whole = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": "scripted", "content": blocks}
    ends = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return {**whole, **ends, "usage": {"input_tokens": 10, "output_tokens": 5}}


def calls_of(turn: Turn) -> list[tuple[str, str]]:
    """Return the tool calls of a turn, each with its arguments as text."""
    calls = turn.get("tools") or ([[turn["tool"], turn.get("args", {})]] if "tool" in turn else [])
    return [(name, args if isinstance(args, str) else json.dumps(args)) for name, args in calls]


def split_words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*?(?=\s|$)", text)


def split_in_half(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


def _named(event: Event) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _peek(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""
