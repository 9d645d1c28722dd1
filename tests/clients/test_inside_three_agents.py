"""Claude Code, Codex and `tildone run` at work on one plan at the same time, each held to its own and free tasks."""

import json
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import pytest

from tests.clients.agents import TIMEOUT_SECONDS
from tests.clients.driving import MakeSandbox
from tests.clients.inside import GO_ON, WAIT, InstalledClient, install, is_ready, last_message
from tests.clients.model import SIDE_ANSWER, Model, offered_tools, with_offered_names
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT
from tests.suite.forking import PROGRAM
from tildone.plan.claims import Claim
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Status
from tildone.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

ERRANDS = {"claude": "First errand.", "codex": "Second errand.", "run": "Third errand."}
TASKS = ("Lexer", "Grammar", "Printer", "Manual", "Release")
"""The second comes after the first, so three agents that start get the first, the third and the fourth."""

START: Turn = {"tool": "todo", "args": {"start": 1}}


class Worker:
    """The model of one agent: it starts the first task, stops, and then does what it is told to, one task each time."""

    def __init__(self, meet: threading.Barrier) -> None:
        self._meet = meet
        self._requests = 0
        self.own = 0
        self.answer = ""
        self.nudges: list[str] = []

    def turn(self, message: str) -> Turn:
        """The next turn, after the last message of a request."""
        self._requests += 1
        if self._requests == 1:
            return START
        if self._requests == 2:
            self.answer = message
            instead = re.search(r"Started instead: #(\d)", message)
            self.own = int(instead[1]) if instead else 1
            # Every agent has a task when each of them stops.
            self._meet.wait(TIMEOUT_SECONDS)
            return {"text": "I stop here."}
        if GO_ON not in message:
            return {"text": f"I stop after {self._requests} requests."}
        self.nudges.append(message.partition(GO_ON)[2])
        if len(self.nudges) == 1:
            # Every agent has been told to go on when each of them does.
            self._meet.wait(TIMEOUT_SECONDS)
        return {"tool": "todo", "args": {"done": first_task(self.nudges[-1])}}


class Trio(Model):
    """A model for all three, told apart by their errands; `claims` are those while all of them were at work."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: Sequence[Claim] = ()
        self.client: InstalledClient | None = None
        meet = threading.Barrier(len(ERRANDS), self._note_claims)
        self.workers = {name: Worker(meet) for name in ERRANDS}

    def respond(self, request: ReceivedRequest) -> Turn:
        names, text = offered_tools(request.body), json.dumps(request.body)
        name = next((name for name, errand in ERRANDS.items() if errand in text), None)
        if not names or name is None:
            return SIDE_ANSWER
        # Recorded, because the ids of tool calls are made from the number of requests.
        self.requests.append(request)
        if not is_ready(request, START):
            return WAIT[name]
        return with_offered_names(self.workers[name].turn(last_message(request)), names)

    def _note_claims(self) -> None:
        assert self.client is not None
        store = store_of(self.client)
        self.claims = self.claims or store.records.claims(str(self.client.sandbox.work))
        store.close()


def test_three_agents_share_a_plan_and_each_task_is_done_once(make_sandbox: MakeSandbox) -> None:
    """All of them start the first task: two hear who has it, and get the next ones that are ready."""
    with Trio() as model:
        sandbox = make_sandbox(model)
        claude, codex = install("claude", sandbox), install("codex", sandbox)
        model.client = claude
        claude.tildone("share", "on")
        claude.tildone("todo", "add", *TASKS)
        claude.tildone("todo", "after", "2", "1")
        with ExitStack() as stack:
            processes = [
                stack.enter_context(claude.running(ERRANDS["claude"])),
                stack.enter_context(codex.running(ERRANDS["codex"])),
                stack.enter_context(claude.supervised(run_command(model, ERRANDS["run"]))),
            ]
            outputs = ended(processes)

    workers = list(model.workers.values())
    assert sorted(worker.own for worker in workers) == [1, 3, 4], outputs
    holders = {claim.task: claim.agent for claim in model.claims if claim.is_held}
    assert (sorted(holders), len(set(holders.values()))) == ([1, 3, 4], 3)
    for worker in workers:
        has_first = worker.own == 1
        assert (f"“Lexer” is with {holders[1]} (for 10 min unless it goes on)" in worker.answer) is not has_first
        # Held to its own task, to the free one, and only after its own to the one that comes after it.
        held = [number for number, text in enumerate(TASKS, 1) if text in worker.nudges[0]]
        assert held == ([1, 2, 5] if has_first else [worker.own, 5]), worker.nudges
    assert claude.sessions() == {str(sandbox.work): [(text, "completed") for text in TASKS]}
    store = store_of(claude)
    assert completions(store.events(str(sandbox.work))) == Counter(range(1, 6)), outputs
    store.close()
    # `tildone run` reports tasks that others had not finished when it ended.
    assert [process.returncode for process in processes[:2]] == [0, 0], outputs
    assert processes[2].returncode in (0, 1), outputs


def first_task(nudge: str) -> int:
    """The number of the task that an agent is to go on with."""
    listed = {nudge.find(text): number for number, text in enumerate(TASKS, 1) if text in nudge}
    return listed[min(listed)]


def run_command(model: Model, errand: str) -> list[str]:
    """The command line of `tildone run` with this model."""
    provider = [f"OPENAI_BASE_URL={model.url}/v1", "OPENAI_API_KEY=none"]
    options = ["--model", CHAT, "--mode", "print", "--dialect", "brief", *ALLOW_ALL]
    return ["env", *provider, str(PROGRAM), "run", errand, *options]


def ended(processes: Iterable["subprocess.Popen[bytes]"]) -> list[tuple[bytes, bytes]]:
    """Wait for all processes at once, and return what they printed."""
    return [process.communicate() for process in processes]


def completions(events: Iterable[Event]) -> Counter[int]:
    """How often each task became completed."""
    counts: Counter[int] = Counter()
    before: frozenset[int] = frozenset()
    for event in events:
        if isinstance(event.fact, PlanChanged):
            tasks = event.fact.plan.tasks
            after = frozenset(task.number for task in tasks if task.status is Status.COMPLETED)
            counts.update(after - before)
            before = after
    return counts


def store_of(client: InstalledClient) -> SqliteStore:
    return SqliteStore(str(client.data / "tildone.db"))
