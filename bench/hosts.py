"""What tildone costs in each coding agent: `python -m bench.hosts [AGENT …]`.

The real agents run offline, with a scripted model behind their own protocols. In one run tildone is installed: the
model writes a plan of thirty tasks, stops after every fifth one although tasks are left, is told to go on each time,
and ends when all are done. In the other run, tildone was uninstalled, and the model answers at once. The difference is
counted with the o200k encoding; `bench.wire` says what it consists of.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench.tokens import TASKS
from bench.wire import CALL, NUDGE, RESULT, Json, added_context, added_tools, conversation
from tests.clients.agents import Sandbox
from tests.clients.inside import CLIENTS, TASK, WAIT, InstalledClient, PatientModel, install, serving
from tests.host.models.model_server import Turn

MAX_SECONDS = 600.0
OUR_TOOL = 'todo","description":'
PARTS = ("lexer", "parser", "printer")
PLAN = [f"{task} of the {part}" for part in PARTS for task in TASKS]
STEPS_PER_TURN = 5
STOPS = len(PLAN) // STEPS_PER_TURN - 1
ALL_DONE: Turn = {"text": "All of it is done."}

HEADING = (
    f"{'agent':<10}{'schema':>8}{'its own':>9}{'context':>9}{'calls':>7}{'results':>9}"
    f"{f'{STOPS} nudges':>10}{'in all':>8}{'input':>9}  requests"
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The tokens that tildone adds: to each request, and in the course of the conversation.

    `own_tools` are tools that the agent adds by itself because there is an MCP server.
    """

    agent: str
    schema: int
    own_tools: int
    context: int
    calls: int
    results: int
    nudges: int
    input: int
    requests: int

    @property
    def total(self) -> int:
        """Everything, each thing once."""
        return self.schema + self.own_tools + self.context + self.calls + self.results + self.nudges

    @property
    def figures(self) -> dict[str, int]:
        """All numbers, by name."""
        return {name: getattr(self, name) for name in Cost.__slots__ if name != "agent"}

    def __str__(self) -> str:
        parts = f"{self.schema:>8}{self.own_tools:>9}{self.context:>9}{self.calls:>7}{self.results:>9}{self.nudges:>10}"
        return f"{self.agent:<10}{parts}{self.total:>8}{self.input:>9}  {self.requests}"


def script() -> Iterator[Turn]:
    """The answers of the model: the plan, one call for each task, and stops in between."""
    yield {"tool": "todo", "args": {"add": PLAN, "do": "start 1"}}
    for number in range(1, len(PLAN) + 1):
        yield {"tool": "todo", "args": {"do": f"done {number}"}}
        if number % STEPS_PER_TURN == 0 and number < len(PLAN):
            yield {"text": f"{number} steps are done; that is enough for now."}
    yield ALL_DONE


def measured(agent: str) -> Cost:
    """Run an agent with tildone and without it, and count the difference."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "sandbox")
        plain = requests_of(agent, folder, [ALL_DONE], installed=False)
        requests = requests_of(agent, folder, list(script()), stops=1 + STOPS)
    return cost(agent, requests, plain[0], openai.o200k_base().count)


def cost(agent: str, requests: Sequence[Json], plain: Json, tokens: Callable[[str], int]) -> Cost:
    """Count what the requests of one conversation carry beyond a plain request of the same agent."""
    tools = added_tools(requests[0], plain)
    schema = sum(tokens(tool) for tool in tools if OUR_TOOL in tool)
    own_tools = sum(map(tokens, tools)) - schema
    context = sum(map(tokens, added_context(requests[0], plain)))
    by_kind = dict.fromkeys((CALL, RESULT, NUDGE), 0)
    for piece in conversation(requests[-1]):
        if piece.kind in by_kind:
            by_kind[piece.kind] += tokens(piece.text)
    carried = sum(
        tokens(piece.text) for request in requests for piece in conversation(request) if piece.kind in by_kind
    )
    total_input = carried + len(requests) * (schema + own_tools + context)
    calls, results, nudges = by_kind.values()
    return Cost(agent, schema, own_tools, context, calls, results, nudges, total_input, len(requests))


def requests_of(
    agent: str, folder: Path, turns: Sequence[Turn], *, stops: int = 1, installed: bool = True
) -> list[Json]:
    """Run an agent in an empty home until it has stopped so often, and return its requests.

    The path is the same each time, because it is part of the requests.
    """
    shutil.rmtree(folder, ignore_errors=True)
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    with PatientModel(*turns, wait=WAIT.get(agent)) as model:
        client = install(agent, Sandbox(home, work, model.url))
        if not installed:
            client.tildone("uninstall", agent)
        _run(client, stops)
        assert all(status == "completed" for _, status in client.tasks), client.tasks
        return [request.body for request in model.requests]


def _run(client: InstalledClient, stops: int) -> None:
    if client.name != "opencode":
        result = client.run(seconds=MAX_SECONDS)
        assert result.code == 0, result
        return
    # `opencode run` ends at the first stop; its other clients use a server, which the gate can continue.
    with serving(client) as server:
        server.say(TASK)
        for _ in range(stops):
            server.until("session.idle")


def main(agents: Sequence[str]) -> None:
    """Print the table."""
    print(HEADING)
    for agent in agents or CLIENTS:
        try:
            print(measured(agent), flush=True)
        except pytest.skip.Exception as skipped:
            print(f"{agent:<10}skipped: {skipped}")


if __name__ == "__main__":
    main(sys.argv[1:])
