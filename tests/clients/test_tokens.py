"""What tildone adds to each request of a real client."""

import json
from pathlib import Path

import pytest
from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench.hosts import ALL_DONE, cost, requests_of
from tests.clients.driving import in_every_client
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

SCRIPT: list[Turn] = [
    {"tool": "todo", "args": {"add": ["Write it", "Test it", "Tag it", "Ship it", "Rest"], "do": "start 1"}},
    {"tool": "todo", "args": {"done": 1}},
    {"tool": "todo", "args": {"done": [2, 3]}},
    {"tool": "todo", "args": {"do": "done 4,5"}},
    ALL_DONE,
]
"""With ids in every form that models write: none is refused by a client's own check of the arguments."""

MAX_SCHEMA = {"claude": 96, "codex": 126, "gemini": 151, "opencode": 104, "pi": 95, "copilot": 104, "qwen": 102}
"""Gemini CLI adds a parameter to every tool, and Codex a namespace."""

MAX_CONTEXT = {"copilot": 100}
"""Copilot CLI tells the model the time and the folder of the conversation, which differ."""

OWN_TOOLS = ("codex",)
"""Clients that add tools for resources because of any MCP server, whether it has resources or not."""


@in_every_client
def test_a_client_adds_our_tool_to_its_requests_and_little_else(name: str, tmp_path: Path) -> None:
    plain = requests_of(name, tmp_path / "sandbox", [ALL_DONE], installed=False)
    requests = requests_of(name, tmp_path / "sandbox", SCRIPT)

    added = cost(name, requests, plain[0], openai.o200k_base().count)

    assert 0 < added.schema <= MAX_SCHEMA[name]
    assert (added.own_tools > 0) == (name in OWN_TOOLS)
    assert added.context <= MAX_CONTEXT.get(name, 15)
    assert (added.nudges, added.requests) == (0, 5)
    assert "all done" in json.dumps(requests[-1])
