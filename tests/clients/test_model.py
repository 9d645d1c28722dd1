"""The scripted model: the same script works in every protocol."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.clients.model import Model

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
STREAM, WHOLE = "/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:generateContent"
TOOLS: dict[str, list[Any]] = {
    CHAT: [{"type": "function", "function": {"name": "mcp_plans_todo"}}],
    RESPONSES: [{"type": "web_search"}, {"type": "namespace", "name": "mcp__plans", "tools": [{"name": "todo"}]}],
    MESSAGES: [{"name": "mcp__plans__todo"}],
    STREAM: [{"functionDeclarations": [{"name": "mcp_plans_todo"}]}],
    WHOLE: [{"functionDeclarations": [{"name": "mcp_plans_todo"}]}],
}

in_every_protocol = pytest.mark.parametrize("path", TOOLS)


@in_every_protocol
def test_a_tool_is_called_by_the_name_that_was_offered(path: str) -> None:
    with Model({"tool": "todo", "args": {"word": "one"}}) as model:
        answer = request(model, path, tools=TOOLS[path])

    name = "todo" if path == RESPONSES else model_name(path)
    assert f'"name": "{name}"' in answer
    assert "one" in answer
    assert ('"namespace": "mcp__plans"' in answer) == (path == RESPONSES)


@in_every_protocol
def test_only_requests_that_offer_tools_use_turns_of_the_script(path: str) -> None:
    """Other requests are answered with "ok". After the script, the last turn is repeated, or the answer is "Done."."""
    with Model({"text": "First"}) as model, Model({"text": "First"}, {"text": "Last", "repeat": True}) as repeating:
        answers = [request(model, path), *(request(model, path, tools=TOOLS[path]) for _ in range(2))]
        repeated = [request(repeating, path, tools=TOOLS[path]) for _ in range(3)]

    assert [word in answer for word, answer in zip(("ok", "First", "Done."), answers, strict=True)] == [True] * 3
    assert [word in answer for word, answer in zip(("First", "Last", "Last"), repeated, strict=True)] == [True] * 3
    assert (len(model.requests), len(model.side_requests)) == (2, 1)


def test_an_unknown_path_is_not_found() -> None:
    with Model() as model, pytest.raises(urllib.error.HTTPError, match="404") as caught:
        request(model, "/v1/embeddings")

    # The error holds the response, whose connection the garbage collector would report as unclosed.
    caught.value.close()


def request(model: Model, path: str, **body: Any) -> str:
    http_request = urllib.request.Request(model.url + path, json.dumps(body).encode())  # noqa: S310  loopback
    with urllib.request.urlopen(http_request, timeout=10) as answer:  # noqa: S310  loopback
        text: str = answer.read().decode()
    return text


def model_name(path: str) -> str:
    return "mcp__plans__todo" if path == MESSAGES else "mcp_plans_todo"
