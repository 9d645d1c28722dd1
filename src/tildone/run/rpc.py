"""The commands of pi's RPC protocol, each a method of the same name."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import json
import os
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, BinaryIO

from tildone.base import TildoneError, UsageError
from tildone.run.codec import decode_blocks, encode_event, encode_message
from tildone.run.events import MessageEntry
from tildone.run.extension import UI, PermissionReply, PermissionRequest, answer_labels
from tildone.run.host import CLOSE_TIMEOUT_SECONDS, Host, asking
from tildone.run.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    ToolResultMessage,
    Usage,
    UserMessage,
    add_usage,
    last_answer,
    text_of,
    tool_calls,
)
from tildone.run.subagents import usage_of_subagents
from tildone.run.tools.commands import on_signals
from tildone.run.transcript import Conversations, Transcript
from tildone.run.turn_loop import Delivery

Record = dict[str, Any]
COMMANDS = (
    *("prompt", "steer", "follow_up", "abort", "clear_queue"),
    *("get_state", "get_messages", "get_last_assistant_text", "get_commands", "get_session_stats"),
    *("new_session", "switch_session", "fork", "set_session_name"),
)
BEHAVIORS: dict[str, Delivery] = {"steer": Delivery.STEER, "followUp": Delivery.FOLLOW_UP}


class Commands:
    """The commands of one client on one host."""

    def __init__(self, host: Host, conversations: Conversations) -> None:
        self.host = host
        self.conversations = conversations

    async def execute(self, record: Record) -> Record | None:
        """Execute a command, and return the data of its response, if it has any."""
        name = record.get("type")
        if name not in COMMANDS:
            raise UsageError(f"unknown command {name!r}; known are {', '.join(COMMANDS)}")
        command: Callable[[Record], Awaitable[Record | None]] = getattr(self, name)
        return await command(record)

    async def prompt(self, record: Record) -> None:
        wanted = record.get("streamingBehavior")
        if wanted is not None and wanted not in BEHAVIORS:
            raise UsageError(f"streamingBehavior: expected one of {', '.join(BEHAVIORS)}, got {wanted!r}")
        behavior = BEHAVIORS.get(str(wanted))
        await self.host.prompt(_text(record, "message"), _images(record), behavior)

    async def steer(self, record: Record) -> None:
        await self.host.steer(_text(record, "message"))

    async def follow_up(self, record: Record) -> None:
        await self.host.follow_up(_text(record, "message"))

    async def abort(self, _record: Record) -> None:
        await self.host.abort()

    async def clear_queue(self, _record: Record) -> Record:
        steering, following = await self.host.clear_queues()
        return {"steering": steering, "followUp": following}

    async def get_state(self, _record: Record) -> Record:
        host, transcript = self.host, self.host.transcript
        state = {
            "model": {"id": host.model.id, "provider": host.model.provider, "api": host.model.api},
            "thinkingLevel": "off",
            "isStreaming": host.is_running and not host.is_compacting,
            "isCompacting": host.is_compacting,
            "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time",
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "sessionName": transcript.name,
            "autoCompactionEnabled": False,
            "messageCount": len(transcript.messages()),
            "pendingMessageCount": sum(map(len, host.queues.texts())),
        }
        return {key: item for key, item in state.items() if item is not None}

    async def get_messages(self, _record: Record) -> Record:
        return {"messages": [encode_message(message) for message in self.host.transcript.messages()]}

    async def get_last_assistant_text(self, _record: Record) -> Record:
        messages = self.host.transcript.messages()
        nonempty = [message for message in messages if not isinstance(message, AssistantMessage) or message.content]
        last = last_answer(nonempty)
        return {"text": None if last is None else text_of(last)}

    async def get_commands(self, _record: Record) -> Record:
        commands = self.host.commands.values()
        return {"commands": [{"name": c.name, "description": c.description, "source": "extension"} for c in commands]}

    async def get_session_stats(self, _record: Record) -> Record:
        transcript = self.host.transcript
        bodies = [entry.body for entry in transcript.entries]
        messages: list[Message] = [body.message for body in bodies if isinstance(body, MessageEntry)]
        answers = [message for message in messages if isinstance(message, AssistantMessage)]
        usage = Usage()
        for answer in answers:
            usage = add_usage(usage, answer.usage)
        results = [message for message in messages if isinstance(message, ToolResultMessage)]
        for result in results:
            usage = add_usage(usage, usage_of_subagents(result))
        return {
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "userMessages": sum(isinstance(message, UserMessage) for message in messages),
            "assistantMessages": len(answers),
            "toolCalls": sum(len(tool_calls(answer)) for answer in answers),
            "toolResults": len(results),
            "totalMessages": len(messages),
            "tokens": {
                "input": usage.input,
                "output": usage.output,
                "cacheRead": usage.cache_read,
                "cacheWrite": usage.cache_write,
                "total": usage.total_tokens,
            },
            "cost": usage.cost.total if usage.cost else 0,
        }

    async def new_session(self, record: Record) -> Record:
        parent = None if record.get("parentSession") is None else _text(record, "parentSession")
        return await self._open(self.conversations.new(parent), "new")

    async def switch_session(self, record: Record) -> Record:
        return await self._open(self.conversations.load(_text(record, "sessionPath")), "resume")

    async def fork(self, record: Record) -> Record:
        transcript, text = self.conversations.fork(self.host.transcript, _text(record, "entryId"))
        return {"text": text, **await self._open(transcript, "fork")}

    async def set_session_name(self, record: Record) -> None:
        await self.host.rename(_text(record, "name").strip())

    async def _open(self, transcript: Transcript, reason: str) -> Record:
        await self.host.open(transcript, reason)
        return {"cancelled": False}


def _images(record: Record) -> list[ImageBlock]:
    """Return the images of a prompt. One that cannot be decoded would make every later request fail."""
    given = [] if record.get("images") is None else record["images"]
    blocks = decode_blocks(given)
    images = [block for block in blocks if isinstance(block, ImageBlock) and _is_base64(block.data)]
    if not isinstance(given, list) or len(images) != len(given):
        raise UsageError("images: expected a list of images, each with mimeType and data in base64")
    return images


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except ValueError:
        return False


def _text(record: Record, field: str) -> str:
    given = record.get(field)
    if not isinstance(given, str):
        raise UsageError(f"{field}: expected a string, got {type(given).__name__}")
    return given


class RpcUI(UI):
    """Sends extensions' output and questions as `extension_ui_request` records."""

    has_ui = True

    def __init__(self, send: Callable[[Record], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._open: dict[str, asyncio.Future[Record]] = {}

    def set_status(self, key: str, text: str | None) -> None:
        self._request("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        widget = list(lines) if lines is not None else None
        self._request("setWidget", widgetKey=key, widgetLines=widget, widgetPlacement=placement)

    def notify(self, message: str, kind: str = "info") -> None:
        self._request("notify", message=message, notifyType=kind)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        answer = await self._ask(timeout, "select", title=title, options=list(options))
        return answer.get("value")

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        answer = await self._ask(timeout, "confirm", title=title, message=message)
        return bool(answer.get("confirmed"))

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return (await self._ask(None, "input", title=title, placeholder=placeholder)).get("value")

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return (await self._ask(None, "editor", title=title, prefill=prefill)).get("value")

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask whether a tool may do something, as a choice between labels that say what each answer covers."""
        labels = answer_labels(request)
        lines = [request.question, *request.details, *filter(None, [request.caution])]
        chosen = await self.select("\n".join(lines), list(labels))
        answer = labels.get(chosen or "")
        return PermissionReply(answer) if answer is not None else None

    def accept_answer(self, record: Record) -> None:
        waiting = self._open.pop(str(record.get("id")), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(record)

    def cancel_requests(self) -> None:
        """Cancel every open question: the client is gone."""
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_result({"cancelled": True})
        self._open.clear()

    async def _ask(self, seconds: float | None, method: str, **fields: Any) -> Record:
        milliseconds = None if seconds is None else int(seconds * 1000)
        request_id = self._request(method, **fields, timeout=milliseconds)
        waiting: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._open[request_id] = waiting
        try:
            with asking():
                return await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            return {"cancelled": True}
        finally:
            self._open.pop(request_id, None)

    def _request(self, method: str, **fields: Any) -> str:
        request_id = f"ui-{next(self._ids)}"
        present = {key: item for key, item in fields.items() if item is not None}
        self._send({"type": "extension_ui_request", "id": request_id, "method": method, **present})
        return request_id


class ClientStreams:
    """The streams of one client. A thread reads, because asyncio cannot wait for a file or a terminal."""

    def __init__(self, source: BinaryIO, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._has_left = False

    def send(self, record: Record) -> None:
        """Write a record on one line. When nobody reads them any more, records are dropped, and the lines end."""
        if self._has_left:
            return
        try:
            self._out.write(json.dumps(record).encode() + b"\n")
            self._out.flush()
        except BrokenPipeError:
            self._has_left = True
            self._lines.put_nowait(None)

    async def lines(self, closed: Callable[[], object] = lambda: None) -> AsyncIterator[bytes]:
        """Yield the lines of the client until it leaves. `closed` is called by the thread that reads."""

        def read() -> None:
            for line in self._source:
                if line.strip():
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
            closed()

        threading.Thread(target=read, daemon=True).start()
        while (line := await self._lines.get()) is not None:
            yield line


async def serve(
    host: Host,
    conversations: Conversations,
    ui: RpcUI,
    client: ClientStreams,
    closed: Callable[[], object] = lambda: None,
) -> None:
    host.listen(lambda event: client.send(encode_event(event)))
    await host.start()
    commands = Commands(host, conversations)
    running: set[asyncio.Task[None]] = set()
    async for line in client.lines(closed):
        record = _parse(line, client.send)
        if record is None:
            continue
        if record.get("type") == "extension_ui_response":
            ui.accept_answer(record)
            continue
        task = asyncio.create_task(_answer(commands, record, client.send))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(0)
    ui.cancel_requests()
    await host.close()
    if running:
        await asyncio.wait(running, timeout=CLOSE_TIMEOUT_SECONDS)


async def _answer(commands: Commands, record: Record, send: Callable[[Record], None]) -> None:
    response: Record = {"type": "response", "command": record.get("type"), "success": True}
    if "id" in record:
        response = {"id": record["id"], **response}
    try:
        data = await commands.execute(record)
    except TildoneError as error:
        send({**response, "success": False, "error": str(error)})
    except Exception as error:  # noqa: BLE001  the client waits for a response, whatever went wrong
        traceback.print_exc()
        send({**response, "success": False, "error": f"{type(error).__name__}: {error}"})
    else:
        send(response if data is None else {**response, "data": data})


def _parse(line: bytes, send: Callable[[Record], None]) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        send({"type": "response", "command": "parse", "success": False, "error": f"Failed to parse command: {error}"})
        return None
    if not isinstance(record, dict):
        send({"type": "response", "command": "parse", "success": False, "error": "expected a JSON object"})
        return None
    return record


def standard_streams() -> ClientStreams:
    """Return standard input and output as the streams of a client. Then `sys.stdout` writes to standard error."""
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return ClientStreams(source, out)


MAX_END_SECONDS = 4 * CLOSE_TIMEOUT_SECONDS
"""How long the process may outlive its client. More than the end of a turn, of the extensions and of commands take."""

KILLED = 1


async def run(conversations: Conversations, open_host: Callable[[UI], Host]) -> int:
    """Serve one client on standard input and output until it closes them, and return the exit code."""
    client, ended = standard_streams(), threading.Event()
    ui = RpcUI(client.send)
    host = open_host(ui)

    def end_in_time() -> None:
        """End the process if the event loop does not: a tool blocks it, or output that the client does not read."""
        if not ended.wait(MAX_END_SECONDS):
            os._exit(KILLED)

    serving = asyncio.ensure_future(serve(host, conversations, ui, client, end_in_time))
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        serving.cancel()

    try:
        with on_signals(end):
            await serving
    except asyncio.CancelledError:
        if not received:
            raise
        await host.close()
    finally:
        await host.model.close()
        ended.set()
    return 128 + received[0] if received else 0
