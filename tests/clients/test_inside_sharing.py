"""Real clients in one folder, on one plan that is shared on purpose, and the claims of their agents."""

import json
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import pytest

from tests.clients.agents import TIMEOUT_SECONDS
from tests.clients.checked_plan import install_in_repository
from tests.clients.driving import FIRST, HEADLESS, SECOND, START, ActingModel, MakeSandbox, in_every_client, shell
from tests.clients.inside import (
    GO_ON,
    WAIT,
    InstalledClient,
    TwoAgentModel,
    completions,
    install,
    is_ready,
    last_message,
)
from tests.clients.model import SIDE_ANSWER, Model, offered_tools, with_offered_names
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.claims import AgentClaims
from tildone.app.settings import load
from tildone.plan.claims import Claim
from tildone.stores.agents import CLAIM_NOTE, AgentId, AgentRegistry
from tildone.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "other"), [("claude", "codex"), ("gemini", "claude"), ("pi", "gemini")])
def test_each_client_is_held_to_its_own_tasks_and_to_those_nobody_has_taken(
    name: str, other: str, make_sandbox: MakeSandbox
) -> None:
    """The second one stops twice: with a free task, to which it is held, and when only the first's is left."""
    scripts: dict[str, list[Turn]] = {
        FIRST: [
            {"tool": "todo", "args": {"add": ["Taken", "Free"]}},
            {"tool": "todo", "args": {"start": 1}},
            {"waits": True, "text": "Shall I go on?"},
        ],
        SECOND: [{"text": "I stop here."}, {"tool": "todo", "args": {"done": 2}}, {"text": "The rest is taken."}],
    }
    with TwoAgentModel(scripts, wait=WAIT.get(name) or WAIT.get(other)) as model:
        sandbox = make_sandbox(model)
        first, second = install(name, sandbox), install(other, sandbox)
        first.tildone("share", "on")
        with first.running(FIRST) as process:
            assert model.waits.wait(TIMEOUT_SECONDS)
            shown = first.tildone("todo").splitlines()
            result = second.run(SECOND)
            model.go.set()
            process.communicate()

    assert (process.returncode, result.code) == (0, 0), result
    nudges = [text for request in model.requests if GO_ON in (text := last_message(request))]
    assert [("Free" in text, "Taken" in text) for text in nudges] == [(True, False)]
    assert first.sessions() == {str(sandbox.work): [("Taken", "in_progress"), ("Free", "completed")]}
    assert shown[-1].startswith(f"shared by {name} ")
    assert shown[-1].endswith(" (#1)")


ADD: Turn = {"tool": "todo", "args": {"add": ["Lexer", "Grammar"]}}
ASK: Turn = {"text": "Shall I go on?"}
LEASE_SECONDS = 2


@in_every_client
def test_a_tool_call_renews_the_claims_of_an_agent_and_its_end_gives_them_back(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """Half of the lease is over, as far as the note says that tells hooks when to renew it."""
    client: InstalledClient
    ends: list[int] = []

    def half_of_it_is_over() -> None:
        [claim] = claims(client)
        ends.append(claim.until)
        registry(client).set_note(AgentId.parse(claim.agent), CLAIM_NOTE, "1")

    work = shell(name, "true", do=half_of_it_is_over)
    asks = {**ASK, "do": lambda: ends.extend(claim.until for claim in claims(client))}
    with ActingModel(name, HEADLESS, ADD, START, work, asks) as model:
        client = install(name, make_sandbox(model))
        result = client.run()

    assert result.code == 0, result
    before, after = ends
    assert before < after
    settings = load({}, {**client.environ, "XDG_DATA_HOME": str(client.data.parent)}, str(client.sandbox.work))
    left = claims(client)
    # `opencode run` ends no conversation: that its process has ended is enough.
    assert len(left) == (1 if name == "opencode" else 0)
    assert all(AgentClaims(settings).is_gone(claim, "claude:other") for claim in left)


@pytest.mark.parametrize(("name", "other"), [("claude", "codex"), ("codex", "claude"), ("pi", "gemini")])
def test_the_task_of_a_silent_agent_is_taken_over_and_its_late_change_is_refused(
    name: str, other: str, make_sandbox: MakeSandbox
) -> None:
    """The first one waits for its model until its lease is over, and then drops a task that the second one has done."""
    scripts: dict[str, list[Turn]] = {
        FIRST: [
            ADD,
            START,
            {"tool": "todo", "args": {"note": "1 the tokens are done"}},
            {"waits": True, "tool": "todo", "args": {"drop": 1}},
            {"tool": "todo", "args": {"note": "2 still to do"}},
            ASK,
        ],
        SECOND: [START, {"tool": "todo", "args": {"done": 1}}, ASK],
    }
    with TwoAgentModel(scripts, WAIT.get(name) or WAIT.get(other)) as model:
        sandbox = make_sandbox(model)
        first = install_in_repository(HEADLESS, name, sandbox)
        second = install(other, sandbox)
        settings = sandbox.home / ".config" / "tildone" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f"claim_seconds = {LEASE_SECONDS}\n", encoding="utf-8")
        first.tildone("share", "on")
        with first.running(FIRST) as process:
            assert model.waits.wait(TIMEOUT_SECONDS)
            [claim] = until_lapsed(first)
            result = second.run(SECOND)
            model.go.set()
            process.communicate()

    assert (process.returncode, result.code) == (0, 0), result
    taken_over = next(text for text in model.told[SECOND] if "was begun by" in text)
    assert f"#1 “Lexer” was begun by {claim.agent} in {sandbox.work} on branch main." in taken_over
    assert "note: the tokens are done" in taken_over
    late = [text for text in model.told[FIRST] if "has passed to" in text]
    assert len(late) == 1
    assert f"#1 “Lexer” has passed to {other}:" in late[0]
    assert "yours was silent for too long. Your change of it was not made." in late[0]
    assert first.tasks[0] == ("Lexer", "completed")


def claims(client: InstalledClient) -> Sequence[Claim]:
    """The claims on the tasks of the project's plan that were not given back."""
    store = SqliteStore(str(client.data / "tildone.db"))
    try:
        return store.records.claims(str(client.sandbox.work))
    finally:
        store.close()


def until_lapsed(client: InstalledClient) -> Sequence[Claim]:
    until(lambda: not any(claim.is_held for claim in claims(client)), seconds=TIMEOUT_SECONDS)
    return claims(client)


def registry(client: InstalledClient) -> AgentRegistry:
    return AgentRegistry(str(client.data / "agents"), str(client.sandbox.work))


ERRANDS = {"claude": "First errand.", "codex": "Second errand.", "run": "Third errand."}
TASKS = ("Lexer", "Grammar", "Printer", "Manual", "Release")
"""The second comes after the first, so three agents that start get the first, the third and the fourth."""


class Worker:
    """The model of one agent: it starts the first task, stops, and then does what it is told to, one task each time."""

    def __init__(self, meet: threading.Barrier) -> None:
        self._meet = meet
        self._requests = 0
        self.own = 0
        self.answer = ""
        self.nudges: list[str] = []

    def turn(self, message: str) -> Turn:
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
    listed = {nudge.find(text): number for number, text in enumerate(TASKS, 1) if text in nudge}
    return listed[min(listed)]


def run_command(model: Model, errand: str) -> list[str]:
    provider = [f"OPENAI_BASE_URL={model.url}/v1", "OPENAI_API_KEY=none"]
    options = ["--model", CHAT, "--mode", "print", "--dialect", "brief", *ALLOW_ALL]
    return ["env", *provider, str(PROGRAM), "run", errand, *options]


def ended(processes: Iterable["subprocess.Popen[bytes]"]) -> list[tuple[bytes, bytes]]:
    return [process.communicate() for process in processes]


def store_of(client: InstalledClient) -> SqliteStore:
    return SqliteStore(str(client.data / "tildone.db"))
