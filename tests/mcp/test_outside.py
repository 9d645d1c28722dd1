"""Programs by those who made the protocol: their inspector on pipes, and their conformance tests over HTTP."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Desk, environment
from tests.clients.leash import leashed
from tests.mcp.room import PATIENCE, PROGRAM, Room
from tests.mcp.web import serving
from tildone.dialects import dialect_named

pytestmark = pytest.mark.slow

MEANT_FOR_ALL = {
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
"""Scenarios that ask for nothing but the protocol; all others call tools and read resources that only a server made for
the tests has."""


@pytest.fixture
def desk(room: Room) -> Desk:
    return Desk(room.home, room.project, "")


def test_the_inspector_sees_and_calls_what_there_is(room: Room, desk: Desk) -> None:
    """It speaks by itself, in another language, and checks results against the schema that was listed."""
    [tool] = dialect_named("brief").tools

    [listed] = inspected(desk, "tools/list")["tools"]
    called = inspected(desk, "tools/call", "--tool-name", "todo", "--tool-arg", 'add=["One","Two"]')

    assert (listed["name"], listed["inputSchema"]) == (tool.name, tool.parameters)
    assert called["structuredContent"] == {"say": "1-2"}
    assert room.texts() == ["One", "Two"]


def test_whatever_is_meant_for_every_server_holds_here(room: Room, desk: Desk) -> None:
    with serving(room, "--no-token") as server:
        told = run(desk, "conformance", "conformance", "server", "--url", server.url)

    assert MEANT_FOR_ALL - set(re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", told)) == set()


def inspected(desk: Desk, method: str, *words: str) -> dict[str, Any]:
    """What the inspector shows of a server that it has started."""
    shown: dict[str, Any] = json.loads(
        run(desk, "inspector", "mcp-inspector", "--cli", PROGRAM, "mcp", "--method", method, *words)
    )
    return shown


def run(desk: Desk, package: str, *command: str) -> str:
    """What a program prints; skipped where it is not installed."""
    env = environment(package, desk) | {"XDG_DATA_HOME": str(desk.home), "XDG_CONFIG_HOME": str(desk.home)}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with leashed(command, seconds=PATIENCE, cwd=Path(desk.work), env=env, stdin=null, stdout=pipe) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    return out.decode()
