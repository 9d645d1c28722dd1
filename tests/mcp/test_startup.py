"""What the stdio server imports before its first answers: agents wait for these, or start without the tools."""

import json
import subprocess
import sys

from tests.mcp.project import Project
from tests.mcp.wire import INITIALIZED, call, initialize, line, request

SLOW = ("asyncio", "typing", "dataclasses", "inspect", "logging", "pydantic", "mcp", "anyio", "socket", "subprocess")
NEVER = (
    "tildone.agents.integrations.claude",
    "tildone.cli.fleet",
    "tildone.cli.plan",
    "tildone.plan.formats",
    "tildone.plan.history",
)
FOR_CALLS = ("apsw", "tildone.agents.mcp.server", "tildone.stores.sqlite.store", "urllib.parse")
"""Modules that only requests need that work on the store."""

PROGRAM = """
import json, sys
from tildone.cli import main
code = main(["mcp", "--session", "s"])
json.dump([name for name in sys.argv[1:] if name in sys.modules], sys.stderr)
"""


def imported(project: Project, *asked: object) -> set[str]:
    """Those of the modules above that a server has imported after these requests."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *SLOW, *NEVER, *FOR_CALLS],
        cwd=project.folder,
        env=project.environment(),
        input=b"".join(map(line, asked)),
        capture_output=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == sum("id" in json.loads(line(record)) for record in asked)
    return set(json.loads(done.stderr))


def test_the_first_answers_import_nothing_that_they_do_not_need(project: Project) -> None:
    assert imported(project, initialize(), INITIALIZED, request(1, "tools/list"), request(2, "prompts/list")) == set()


def test_a_call_imports_the_store_and_nothing_slow(project: Project) -> None:
    used = imported(project, initialize(), INITIALIZED, call(1, "todo", {"add": ["One"]}))

    assert "apsw" in used
    assert used.isdisjoint((*SLOW, *NEVER))


def test_nothing_is_written_before_the_first_call(project: Project) -> None:
    """Not even a store: an agent may have the server and never use it."""
    imported(project, initialize(), INITIALIZED, request(1, "tools/list"))

    assert [path for path in project.home.rglob("*") if path.is_file()] == []
