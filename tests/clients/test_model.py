"""The scripted model: one script, whichever way a client speaks to it."""

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

in_every_way = pytest.mark.parametrize("path", TOOLS)


@in_every_way
def test_a_tool_is_called_by_the_name_that_was_offered(path: str) -> None:
    """A script knows the end of it."""
    with Model({"tool": "todo", "args": {"word": "one"}}) as model:
        answer = asked(model, path, tools=TOOLS[path])

    name = "todo" if path == RESPONSES else model_name(path)
    assert f'"name": "{name}"' in answer
    assert "one" in answer
    assert ('"namespace": "mcp__plans"' in answer) == (path == RESPONSES)


@in_every_way
def test_turns_are_for_requests_that_offer_tools(path: str) -> None:
    """Others are answered with a word; the last turn may be repeated, or all is done."""
    with Model({"text": "First"}) as model, Model({"text": "First"}, {"text": "Last", "repeat": True}) as untiring:
        told = [asked(model, path), *(asked(model, path, tools=TOOLS[path]) for _ in range(2))]
        repeated = [asked(untiring, path, tools=TOOLS[path]) for _ in range(3)]

    assert [word in answer for word, answer in zip(("ok", "First", "Done."), told, strict=True)] == [True] * 3
    assert [word in answer for word, answer in zip(("First", "Last", "Last"), repeated, strict=True)] == [True] * 3
    assert (len(model.asked), len(model.aside)) == (2, 1)


def test_what_is_not_there_is_said() -> None:
    """Rather than answered with something that no client can read."""
    with Model() as model, pytest.raises(urllib.error.HTTPError, match="404"):
        asked(model, "/v1/embeddings")


def asked(model: Model, path: str, **body: Any) -> str:
    """What the model answers, as it came."""
    request = urllib.request.Request(model.url + path, json.dumps(body).encode())  # noqa: S310  loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  loopback
        text: str = answer.read().decode()
    return text


def model_name(path: str) -> str:
    return "mcp__plans__todo" if path == MESSAGES else "mcp_plans_todo"
