"""A model that answers real agents from a script, on loopback, in the four ways they speak to one.

It streams OpenAI chat completions (`/v1/chat/completions`), OpenAI responses (`/v1/responses`), Anthropic messages
(`/v1/messages`) and Gemini content (`…:streamGenerateContent`, and whole as `…:generateContent`). A script is a list of
turns, one for each request that offers tools:

    {"text": "…"}   {"tool": "NAME", "args": {…}}   {"tools": [["NAME", {…}], …], "text": "…"}

The last may have `repeat`; after the script is used up every answer is "Done.". Requests without tools, by which some
clients ask for a title, are answered with a word. NAME may be the end of a name, because clients prefix the tools of
MCP servers in their own ways: the first offered tool that ends with it is called.
"""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.host.models.wire import Asked, Event, Turn, anthropic_messages, calls_of, chat_completions

DONE: Turn = {"text": "Done."}
ASIDE: Turn = {"text": "ok"}
Speak = Callable[[Turn, str], Iterator[str]]


class Model:
    """The server, while it is entered."""

    def __init__(self, *script: Turn) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.aside: list[Asked] = []
        self._lock = threading.Lock()
        self._server = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, asked: Asked) -> Turn:
        """Note a request; the turn that answers it, with its calls under the names that were offered."""
        names = offered(asked.body)
        with self._lock:
            noted = self.asked if names else self.aside
            number = len(noted)
            noted.append(asked)
        if not names:
            return ASIDE
        last = self.script[-1] if self.script and self.script[-1].get("repeat") else DONE
        turn = self.script[number] if number < len(self.script) else last
        return spoken(turn, names)


def spoken(turn: Turn, names: list[str]) -> Turn:
    """A turn with its calls under the names that were offered."""
    return {**turn, "tools": [(_meant(name, names), arguments) for name, arguments in calls_of(turn)]}


def offered(body: dict[str, Any]) -> list[str]:
    """The names of the tools in a request; one in a namespace is called `SPACE/NAME`."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        if "functionDeclarations" in tool:
            names += [function["name"] for function in tool["functionDeclarations"]]
        elif "tools" in tool:
            names += [f"{tool['name']}/{inner['name']}" for inner in tool["tools"]]
        else:
            names.append(tool.get("name") or tool.get("function", {}).get("name") or tool["type"])
    return names


def _meant(name: str, names: list[str]) -> str:
    return next((one for one in names if one.endswith(name)), name)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.model = model

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that is killed leaves in mid-sentence."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Be there: some clients look first."""
        self._reply(200, "text/plain", "")

    def do_GET(self) -> None:
        """No models to choose from, in every client's words."""
        self._reply(200, "application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        speak = next((speak for end, speak in FORMATS.items() if path.endswith(end)), None)
        if speak is None:
            self._reply(404, "application/json", json.dumps({"error": {"message": f"nothing is at {path}"}}))
            return
        asked = Asked(path, dict(self.headers.items()), body)
        turn = self.server.model.take(asked)
        answer = "".join(speak(turn, str(len(self.server.model.asked))))
        self._reply(200, "application/json" if speak is gemini_whole else "text/event-stream", answer)

    def _reply(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def responses(turn: Turn, name: str) -> Iterator[str]:
    """A turn as the events of an OpenAI response."""
    items = [_said(turn["text"], name)] if turn.get("text") else []
    items += [_called(index, call, name) for index, call in enumerate(calls_of(turn))]
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    whole = {"id": f"resp_{name}", "object": "response", "model": "scripted", "output": items, "usage": usage}
    stream: list[Event] = [{"type": "response.created", "response": {"id": whole["id"]}}]
    stream += [{"type": "response.output_item.done", "output_index": i, "item": item} for i, item in enumerate(items)]
    stream += [{"type": "response.completed", "response": {**whole, "status": "completed"}}]
    for event in stream:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _said(text: str, name: str) -> Event:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}


def _called(index: int, call: tuple[str, str], name: str) -> Event:
    space, _, tool = call[0].rpartition("/")
    item: Event = {"type": "function_call", "id": f"fc_{name}_{index}", "call_id": f"call_{name}_{index}"}
    item |= {"name": tool, "arguments": call[1], "status": "completed"}
    return item | ({"namespace": space} if space else {})


def gemini(turn: Turn, name: str) -> Iterator[str]:
    """A turn as the one event of a Gemini stream."""
    for whole in gemini_whole(turn, name):
        yield f"data: {whole}\r\n\r\n"


def gemini_whole(turn: Turn, _name: str) -> Iterator[str]:
    """A turn as Gemini's answer to a request that does not stream."""
    parts: list[Event] = [{"text": turn["text"]}] if turn.get("text") else []
    parts += [{"functionCall": {"name": tool, "args": json.loads(given)}} for tool, given in calls_of(turn)]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    yield json.dumps({"candidates": [candidate], "usageMetadata": usage})


FORMATS: dict[str, Speak] = {
    "/chat/completions": chat_completions,
    "/responses": responses,
    "/messages": anthropic_messages,
    ":streamGenerateContent": gemini,
    ":generateContent": gemini_whole,
}
