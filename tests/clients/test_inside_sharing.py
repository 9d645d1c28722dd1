"""Real clients in one folder, on one plan that is shared on purpose, and the claims of their agents."""

import shlex
from collections.abc import Sequence

import pytest

from tests.clients.agents import TIMEOUT_SECONDS
from tests.clients.checked_plan import install_in_repository
from tests.clients.driving import (
    ALL,
    ASKS,
    DONE,
    FINISH,
    FIRST,
    HEADLESS,
    PLAN,
    SECOND,
    START,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    install_in,
    shell,
)
from tests.clients.inside import (
    GO_ON,
    TASK,
    WAIT,
    InstalledClient,
    TwoAgentModel,
    install,
    last_message,
    without_tools,
)
from tests.clients.situations import proves
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.claims import AgentClaims
from tildone.app.settings import load
from tildone.plan.claims import Claim
from tildone.plan.text.safe import short_agent
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


@in_every_client
@in_both_modes
@proves("left over")
def test_a_plan_that_another_conversation_left_holds_nobody_until_it_is_taken_up(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """It is shown in one line. Of its tasks, an agent is held to the one that it has started."""
    with ActingModel(name, mode, PLAN, ASKS, {"text": "It is 4."}, START, STOP, FINISH, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ASKS["text"])
        with conversation(client, mode, again=True) as say:
            say("What is 2 + 2?", "It is 4.")
            say("Work on the parser.", ALL["text"])

    assert [GO_ON in last_message(request) for request in model.requests] == [False] * 5 + [True, False]
    line = "Left open by an earlier conversation, not yours: 1 Write the parser; 2 Wire it up."
    assert [without_tools(request).count(line) for request in model.requests[1:3]] == [0, 1]
    assert "Wire it up" not in last_message(model.requests[5])
    assert client.tasks == DONE


ADD: Turn = {"tool": "todo", "args": {"add": ["Lexer", "Grammar"]}}
ASK: Turn = {"text": "Shall I go on?"}
LEASE_SECONDS = 2


@in_every_client
def test_a_tool_call_renews_the_claims_of_an_agent_and_its_end_gives_them_back(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """Half of the lease is over, as far as the note says that tells hooks when to renew it.

    All that the agent does, from its first call on, is done under one name: that of its conversation.
    """
    client: InstalledClient
    ends: list[int] = []

    def half_of_it_is_over() -> None:
        [claim] = claims(client)
        ends.append(claim.until)
        registry(client).set_note(AgentId.parse(claim.agent), CLAIM_NOTE, "1")

    work = shell(name, f"{shlex.quote(str(PROGRAM))} todo note 1 found", do=half_of_it_is_over)
    asks = {**ASK, "do": lambda: ends.extend(claim.until for claim in claims(client))}
    with ActingModel(name, HEADLESS, ADD, START, work, asks) as model:
        client = install(name, make_sandbox(model))
        result = client.run()

    assert result.code == 0, result
    before, after = ends
    assert before < after
    [author] = {event.author.agent for event in client.events()}
    assert author.startswith(f"{name}:")
    assert ":pid:" not in author
    settings = load({}, {**client.environ, "XDG_DATA_HOME": str(client.data.parent)}, str(client.sandbox.work))
    left = claims(client)
    # `opencode run` and `qwen -p` end no conversation: that the process has ended is enough.
    assert len(left) == (1 if name in ("opencode", "qwen") else 0)
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
    assert f"#1 “Lexer” was begun by {short_agent(claim.agent)} in {sandbox.work} on branch main." in taken_over
    assert "note: the tokens are done" in taken_over
    late = [text for text in model.told[FIRST] if "has passed to" in text]
    assert len(late) == 1
    assert f"#1 “Lexer” has passed to {other} " in late[0]
    assert ", because yours was silent for too long" in late[0]
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
