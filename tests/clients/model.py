"""A scripted model on loopback that answers real agents in the four protocols they use.

It streams OpenAI chat completions (`/v1/chat/completions`), OpenAI responses (`/v1/responses`), Anthropic messages
(`/v1/messages`) and Gemini content (`…:streamGenerateContent`, and whole as `…:generateContent`). A script is a list of
turns, one for each request that offers tools:

    {"text": "…"}   {"tool": "NAME", "args": {…}}   {"tools": [["NAME", {…}], …], "text": "…"}

`usage` contains counts of tokens that differ from the default, by their names in the client's protocol. If the last
turn has `repeat`, it is repeated; otherwise every answer after the script is "Done.". Requests without
tools, which some clients send to get a title, are answered with "ok". NAME may be the end of a tool's name, because
clients prefix the tools of MCP servers differently: the first offered tool that ends with it is called.
"""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.host.models.model_server import Event, ReceivedRequest, Turn, anthropic_messages, calls_of, chat_completions

DONE: Turn = {"text": "Done."}
SIDE_ANSWER: Turn = {"text": "ok"}
Encode = Callable[[Turn, str], Iterator[str]]


class Model:
    """The server; it runs while the context manager is entered."""

    def __init__(self, *script: Turn) -> None:
        self.script = script
        self.requests: list[ReceivedRequest] = []
        self.side_requests: list[ReceivedRequest] = []
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
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def respond(self, request: ReceivedRequest) -> Turn:
        """Record a request, and return the turn that answers it."""
        names = offered_tools(request.body)
        with self._lock:
            noted = self.requests if names else self.side_requests
            number = len(noted)
            noted.append(request)
        if not names:
            return SIDE_ANSWER
        last = self.script[-1] if self.script and self.script[-1].get("repeat") else DONE
        turn = self.script[number] if number < len(self.script) else last
        return with_offered_names(turn, names)


def with_offered_names(turn: Turn, names: list[str]) -> Turn:
    """Return a turn that calls tools by the full names that were offered."""
    return {**turn, "tools": [(_offered_name(name, names), arguments) for name, arguments in calls_of(turn)]}


def offered_tools(body: dict[str, Any]) -> list[str]:
    """Return the names of the tools in a request; a tool in a namespace is named `SPACE/NAME`."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        if "functionDeclarations" in tool:
            names += [function["name"] for function in tool["functionDeclarations"]]
        elif "tools" in tool:
            names += [f"{tool['name']}/{inner['name']}" for inner in tool["tools"]]
        else:
            names.append(tool.get("name") or tool.get("function", {}).get("name") or tool["type"])
    return names


def _offered_name(name: str, names: list[str]) -> str:
    return next((offered for offered in names if offered.endswith(name)), name)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _RequestHandler)
        self.model = model

    def handle_error(self, *_: object) -> None:
        """Print nothing: a client that is killed breaks its connection."""


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Answer: some clients check first whether the server is there."""
        self._reply(200, "text/plain", "")

    def do_GET(self) -> None:
        """List no models, in a form that every client accepts."""
        self._reply(200, "application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        encode = next((encode for end, encode in FORMATS.items() if path.endswith(end)), None)
        if encode is None:
            self._reply(404, "application/json", json.dumps({"error": {"message": f"unknown path {path}"}}))
            return
        request = ReceivedRequest(path, dict(self.headers.items()), body)
        turn = self.server.model.respond(request)
        answer = "".join(encode(turn, str(len(self.server.model.requests))))
        self._reply(200, "application/json" if encode is gemini_whole else "text/event-stream", answer)

    def _reply(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def responses(turn: Turn, name: str) -> Iterator[str]:
    """Encode a turn as the events of an OpenAI response."""
    items = [_message_item(turn["text"], name)] if turn.get("text") else []
    items += [_call_item(index, call, name) for index, call in enumerate(calls_of(turn))]
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **turn.get("usage", {})}
    whole = {"id": f"resp_{name}", "object": "response", "model": "scripted", "output": items, "usage": usage}
    stream: list[Event] = [{"type": "response.created", "response": {"id": whole["id"]}}]
    stream += [{"type": "response.output_item.done", "output_index": i, "item": item} for i, item in enumerate(items)]
    stream += [{"type": "response.completed", "response": {**whole, "status": "completed"}}]
    for event in stream:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _message_item(text: str, name: str) -> Event:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}


def _call_item(index: int, call: tuple[str, str], name: str) -> Event:
    space, _, tool = call[0].rpartition("/")
    item: Event = {"type": "function_call", "id": f"fc_{name}_{index}", "call_id": f"call_{name}_{index}"}
    item |= {"name": tool, "arguments": call[1], "status": "completed"}
    return item | ({"namespace": space} if space else {})


def gemini(turn: Turn, name: str) -> Iterator[str]:
    """Encode a turn as the only event of a Gemini stream."""
    for whole in gemini_whole(turn, name):
        yield f"data: {whole}\r\n\r\n"


def gemini_whole(turn: Turn, _name: str) -> Iterator[str]:
    """Encode a turn as Gemini's answer to a request that does not stream."""
    parts: list[Event] = [{"text": turn["text"]}] if turn.get("text") else []
    parts += [{"functionCall": {"name": tool, "args": json.loads(given)}} for tool, given in calls_of(turn)]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15, **turn.get("usage", {})}
    yield json.dumps({"candidates": [candidate], "usageMetadata": usage})


FORMATS: dict[str, Encode] = {
    "/chat/completions": chat_completions,
    "/responses": responses,
    "/messages": anthropic_messages,
    ":streamGenerateContent": gemini,
    ":generateContent": gemini_whole,
}
