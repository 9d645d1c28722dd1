"""JSON-RPC: messages as lines of bytes, the requests of both sides that are still open, and the thread of a caller.

Validation is strict, and errors for invalid lines are precise.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import threading
from itertools import count
from queue import SimpleQueue
from time import monotonic

from tildone.base import TYPE_CHECKING, value
from tildone.plan.text.safe import escape_json, safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, BinaryIO

    Job = Callable[[], object]

    Elicit = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]

    """Shows the person a form in the client, and returns the result; None if there is none."""

    RequestId = int | str


class SerialExecutor:
    """One thread with a queue. Jobs that have not finished when the process exits are abandoned."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._left: list[threading.Thread] = []
        self._thread = self._begin()
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Run a job after those submitted before it. It handles its own errors: one that escapes ends the thread."""
        self._jobs.put(job)

    def hand_over(self) -> None:
        """Let another thread carry out the jobs that follow the one that calls this."""
        if threading.current_thread() is not self._thread:
            return
        self._left = [*(thread for thread in self._left if thread.is_alive()), self._thread]
        self._thread = self._begin()
        self._thread.start()

    def close(self) -> None:
        self._jobs.put(None)

    def join(self, timeout: float) -> bool:
        """Wait for the jobs accepted before `close`, and return whether all have finished."""
        deadline = monotonic() + timeout
        threads = (self._thread, *self._left)
        for thread in threads:
            thread.join(max(0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _begin(self) -> threading.Thread:
        return threading.Thread(target=self._work, name=self._name, daemon=True)

    def _work(self) -> None:
        while threading.current_thread() is self._thread and (job := self._jobs.get()) is not None:
            job()


class Pending:
    """A request without a response yet; a stream has one when it ends. `interrupt` ends what it waits for."""

    def __init__(self, number: RequestId, request: Request) -> None:
        self.id = number
        self.request = request
        self.is_stream = request.method == "subscriptions/listen"
        self.interrupt: Callable[[], None] | None = None


class PendingRequests:
    def __init__(self) -> None:
        self._taken = threading.Condition()
        self._requests: dict[RequestId, Pending] = {}

    def add(self, number: RequestId, request: Request) -> Pending:
        pending = Pending(number, request)
        with self._taken:
            self._requests[number] = pending
        return pending

    def is_open(self, pending: Pending) -> bool:
        return self._requests.get(pending.id) is pending

    def take(self, pending: Pending) -> bool:
        """Take a request in order to respond to it; return False if it was taken before."""
        with self._taken:
            if self._requests.get(pending.id) is not pending:
                return False
            del self._requests[pending.id]
            self._taken.notify()
            return True

    def cancel(self, number: object) -> Pending | None:
        """Take the request with an id; return None if there is none."""
        if not isinstance(number, int | str):
            return None
        with self._taken:
            pending = self._requests.pop(number, None)
            self._taken.notify()
            return pending

    def all(self) -> list[Pending]:
        with self._taken:
            return list(self._requests.values())

    def drain(self, timeout: float) -> list[Pending]:
        """Wait until all but streams are taken, up to the timeout. Take the rest and return it."""
        deadline = monotonic() + timeout
        with self._taken:
            while not all(pending.is_stream for pending in self._requests.values()):
                remaining = deadline - monotonic()
                if remaining <= 0:
                    break
                self._taken.wait(remaining)
            rest = list(self._requests.values())
            self._requests.clear()
        return rest


HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol in which a connection begins with `initialize`, oldest first."""

MODERN_VERSIONS = ("2026-07-28",)
"""The revisions in which every request says in its `_meta` which revision it uses, and who sends it."""


@value
class Request:
    """A request: its method and parameters, the revision of the protocol, and the client.

    `client` is the name that the client gave itself, in lower case; it is empty if the client gave none. `http` is the
    HTTP request, or None on standard input and output. `elicit` is None if the client shows no forms. `describe` says
    what the request waits for, in the progress notifications that the client asked for.
    """

    method: str
    params: Mapping[str, Any]
    version: str
    client: str = ""
    http: Any = None
    elicit: Elicit | None = None
    describe: Callable[[str], None] | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_modern(self) -> bool:
        """Whether the request uses a revision without `initialize`."""
        return self.version in MODERN_VERSIONS


class Output:
    """Lines to the client. `on_broken` is called once, when the client turns out to have closed its end."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self.is_broken = False

    def send(self, line: bytes, _about: RequestId | None = None) -> None:
        """Write a line. A client that does not read blocks its own server; one that is gone gets nothing."""
        with self._lock:
            if self.is_broken:
                return
            try:
                remaining = memoryview(line)
                while remaining:
                    remaining = remaining[os.write(self._descriptor, remaining) :]
            except OSError:
                self.is_broken = True
        if self.is_broken:
            self._on_broken()

    def respond(self, _number: RequestId, line: bytes | None, _error: int = 0) -> None:
        if line is not None:
            self.send(line)


def claim_standard_streams() -> tuple[BinaryIO, int]:
    """Return standard input and output for the protocol. A stray `print` goes to standard error from now on."""
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, out


_SURROGATES = "[\ud800-\udfff]"
"""Compiled by `re` on first use: most servers never meet text that is not ASCII."""


def replace_surrogates(data: Any) -> Any:
    """Return a copy of JSON data, keys included, with U+FFFD in place of every surrogate."""
    match data:
        case str():
            return data if data.isascii() else re.sub(_SURROGATES, "\ufffd", data)
        case dict():
            return {replace_surrogates(key): replace_surrogates(item) for key, item in data.items()}
        case list() | tuple():
            return [replace_surrogates(item) for item in data]
        case _:
            return data


PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000

MAX_MESSAGE_BYTES = 1_048_576

# Results are never circular, and the check would take a third of the time.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class RequestError(Exception):
    """A request cannot be answered with a result: the error of its response."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(safe_text(message))
        self.code = code
        self.data = data


class InvalidMessage(ValueError):
    """A line that is not a message. `request` is the id found in it, if any, for the error response."""

    def __init__(self, code: int, reason: str, request: RequestId | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.request = request


@value
class RpcMessage:
    """A request, a notification (no id), or a response (no method), with its id and result as `params`."""

    id: RequestId | None
    method: str
    params: Mapping[str, Any]


def decode(line: bytes) -> RpcMessage:
    try:
        data = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(PARSE_ERROR, "this is not JSON, or it is nested too deeply") from error
    named = data.get("id") if isinstance(data, dict) else None
    number = named if isinstance(named, int | str) and not isinstance(named, bool) else None
    if len(line) > MAX_MESSAGE_BYTES:
        reason = f"a message has at most {MAX_MESSAGE_BYTES} bytes, not {len(line)}"
        raise InvalidMessage(INVALID_REQUEST, reason, number)
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        raise InvalidMessage(INVALID_REQUEST, "this is no message of JSON-RPC 2.0", number)
    method, params = data.get("method"), data.get("params")
    is_response = isinstance(data.get("result"), dict) or isinstance(data.get("error"), dict)
    if method is None and number is not None and is_response:
        return RpcMessage(None, "", {"id": number, "result": data.get("result")})
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise InvalidMessage(INVALID_REQUEST, "this is no message of JSON-RPC 2.0", number)
    if number is None and named is not None:
        raise InvalidMessage(INVALID_REQUEST, "an id is a number or some text")
    return RpcMessage(number, method, params or {})


def result_line(request: RequestId, result: Mapping[str, Any]) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": request, "result": result})


def error_line(request: RequestId | None, code: int, message: str, data: object = None) -> bytes:
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return _encoded({"jsonrpc": "2.0", "id": request, "error": error})


def notification_line(method: str, params: Mapping[str, Any]) -> bytes:
    return _encoded({"jsonrpc": "2.0", "method": method, "params": params})


def _encoded(message: dict[str, Any]) -> bytes:
    line = _dump(message)
    try:
        encoded = f"{line}\n".encode()
    except UnicodeEncodeError:
        line = _dump(replace_surrogates(message))
        encoded = f"{line}\n".encode()
    safe = escape_json(line)
    return encoded if safe is line else f"{safe}\n".encode()


ANSWER_SECONDS = 600.0
"""How long a person may take to answer."""


class _Waiting:
    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.answered = threading.Event()
        self.result: Mapping[str, Any] | None = None


class ClientRequests:
    """Sends requests, and passes each response to the thread that waits for it."""

    def __init__(self, send: Callable[[bytes, RequestId], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[str, _Waiting] = {}

    def ask(self, call: RequestId, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Send a request that belongs to a call, and wait for its result; None if there is none in time."""
        name, waiting = f"tildone-{next(self._numbers)}", _Waiting()
        self._waiting[name] = waiting
        try:
            self._send(_encoded({"jsonrpc": "2.0", "id": name, "method": method, "params": params}), call)
            if not waiting.answered.wait(ANSWER_SECONDS) or waiting.result is None:
                self._send(notification_line("notifications/cancelled", {"requestId": name}), call)
            return waiting.result
        finally:
            self._waiting.pop(name, None)

    def receive(self, number: object, result: Mapping[str, Any] | None) -> None:
        """Pass on the result of a request; None if it has an error."""
        waiting = self._waiting.get(number) if isinstance(number, str) else None
        if waiting is not None:
            waiting.result = result
            waiting.answered.set()

    def interrupt(self, thread: int | None = None) -> None:
        """Wait no longer for the responses that this thread waits for, or any."""
        for waiting in tuple(self._waiting.values()):
            if thread in (None, waiting.thread):
                waiting.answered.set()
