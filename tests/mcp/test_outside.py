"""The protocol authors' own programs: their inspector on stdio, and their conformance tests over HTTP."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Sandbox, environment
from tests.clients.supervisor import supervised
from tests.mcp.project import TIMEOUT_SECONDS, Project
from tests.mcp.web import serving
from tests.suite.forking import PROGRAM
from tildone.plan.dialects import dialect_named

pytestmark = pytest.mark.slow

GENERAL_SCENARIOS = {
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
"""Scenarios that need only the protocol; all others use tools and resources of a server made for these tests."""


@pytest.fixture
def sandbox(project: Project) -> Sandbox:
    return Sandbox(project.home, project.folder, "")


def test_the_inspector_lists_and_calls_the_tool(project: Project, sandbox: Sandbox) -> None:
    """It is an independent implementation, and checks results against the listed schema."""
    [tool] = dialect_named("brief").tools

    [listed] = inspected(sandbox, "tools/list")["tools"]
    called = inspected(sandbox, "tools/call", "--tool-name", "todo", "--tool-arg", 'add=["One","Two"]')

    assert (listed["name"], listed["inputSchema"]) == (tool.name, tool.parameters)
    assert called["structuredContent"] == {"say": "1-2"}
    assert project.texts() == ["One", "Two"]


def test_the_general_conformance_scenarios_pass(project: Project, sandbox: Sandbox) -> None:
    with serving(project, "--no-token") as server:
        output = run(sandbox, "conformance", "conformance", "server", "--url", server.url)

    assert GENERAL_SCENARIOS - set(re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", output)) == set()


def inspected(sandbox: Sandbox, method: str, *words: str) -> dict[str, Any]:
    """The inspector's output for a server that it has started."""
    output: dict[str, Any] = json.loads(
        run(sandbox, "inspector", "mcp-inspector", "--cli", str(PROGRAM), "mcp", "--method", method, *words)
    )
    return output


def run(sandbox: Sandbox, package: str, *command: str) -> str:
    """The output of a program; skips the test if it is not installed."""
    env = environment(package, sandbox) | {"XDG_DATA_HOME": str(sandbox.home), "XDG_CONFIG_HOME": str(sandbox.home)}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with supervised(
        command, seconds=TIMEOUT_SECONDS, cwd=Path(sandbox.work), env=env, stdin=null, stdout=pipe
    ) as process:
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    return out.decode()
