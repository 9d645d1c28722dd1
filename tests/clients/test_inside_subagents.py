"""In a real client, a subagent has a list of its own below the plan of the agent that started it."""

import json
import re
from collections.abc import Mapping, Sequence

import pytest

from tests.clients.driving import MakeSandbox, conversation, in_both_modes, install_in, wait_in
from tests.clients.inside import TASK, WAIT, TwoAgentModel, install, last_message, serving
from tests.clients.situations import proves
from tests.host.models.model_server import ReceivedRequest, Turn

pytestmark = pytest.mark.slow

SUBTASK = "Look around in this folder."
MAIN, SUB = ["Main one", "Main two"], ["Sub one", "Sub two"]
WAITS_FOR_SUBAGENT = "wait for the subagent"

STARTS: Mapping[str, Sequence[Turn]] = {
    "claude": [
        {"tool": "Agent", "args": {"description": "look", "prompt": SUBTASK, "subagent_type": "general-purpose"}},
        # Newer versions run it in the background, and wake the agent when the subagent has ended.
        {"text": "I wait for it."},
    ],
    "codex": [{"tool": "spawn_agent", "args": {"message": SUBTASK}}, {"text": WAITS_FOR_SUBAGENT}],
    "opencode": [{"tool": "task", "args": {"description": "look", "prompt": SUBTASK, "subagent_type": "general"}}],
}
"""How a model starts a subagent and waits for it."""

KINDS = {"claude": "general-purpose", "codex": "default", "opencode": "general"}


class FamilyModel(TwoAgentModel):
    """A model for an agent and its subagent, which records what each was last told before each of its turns."""

    def __init__(self, main: Sequence[Turn], sub: Sequence[Turn], wait: Turn | None) -> None:
        super().__init__({TASK: main, SUBTASK: sub}, wait)
        self.told: dict[str, list[str]] = {TASK: [], SUBTASK: []}

    def respond(self, request: ReceivedRequest) -> Turn:
        # Recorded, because the ids of tool calls are made from the number of requests.
        self.requests.append(request)
        text = json.dumps(request.body)
        who = next((task for task in self.told if task in text), None)
        if who is not None:
            self.told[who].append(last_message(request))
        turn = super().respond(request)
        if turn.get("text") != WAITS_FOR_SUBAGENT:
            return turn
        [subagent] = re.findall(r'agent_id\W+"([0-9a-f-]+)', text.replace("\\", ""))[-1:]
        return {"tools": [("multi_agent_v1/wait_agent", json.dumps({"targets": [subagent], "timeout_ms": 60_000}))]}


@pytest.mark.parametrize("name", STARTS)
@in_both_modes
@proves("subagents")
def test_a_subagent_has_a_list_of_its_own_and_cannot_close_the_tasks_of_the_plan(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """Its task number 1 is not the plan's. Where the client can be told, it is held to its own list."""
    nudged: Sequence[Turn] = () if name == "opencode" else ({"text": "I stop."},)
    main: list[Turn] = [
        {"tool": "todo", "args": {"add": MAIN}},
        *STARTS[name],
        {"text": "I stop."},
        {"tool": "todo", "args": {"done": [1, 2]}},
        {"text": "All of it is done."},
    ]
    sub: list[Turn] = [
        {"tool": "todo", "args": {"add": SUB}},
        {"tool": "todo", "args": {"done": [1]}},
        *nudged,
        {"tool": "todo", "args": {"done": [2]}},
        {"text": "I looked around."},
    ]
    with FamilyModel(main, sub, wait_in(mode, name)) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, "All of it is done.")
        listed = client.tildone("todo")
        status = client.tildone("status")

    [(child, tasks)] = [each for each in client.sessions().items() if each[0] != str(client.sandbox.work)]
    assert child.startswith(f"{client.sandbox.work}#sub:")
    assert tasks == [(text, "completed") for text in SUB]
    assert client.tasks == [(text, "completed") for text in MAIN]
    told = "".join(model.told[TASK])
    assert "1 Main one" in told
    assert not any("Sub one" in text or "Sub two" in text for text in model.told[TASK])
    nudges = [text for text in model.told[SUBTASK] if "is not done" in text]
    assert [("Sub two" in text, "Main" in text) for text in nudges] == [(True, False)] * len(nudged)
    assert f"subagent {KINDS[name]}: 2/2 (ended)" in listed
    assert "✓ #1 Sub one" in status


NATIVE: Mapping[str, Turn] = {
    "claude": {"tool": "TaskCreate", "args": {"subject": "Sub one", "description": "x", "activeForm": "x"}},
    "codex": {"tool": "update_plan", "args": {"plan": [{"step": "Sub one", "status": "pending"}]}},
    "opencode": {
        "tool": "todowrite",
        "args": {"todos": [{"content": "Sub one", "status": "pending", "priority": "high"}]},
    },
}


@pytest.mark.parametrize("name", NATIVE)
@proves("subagents")
def test_a_subagents_own_todo_tool_writes_to_its_own_list_too(name: str, make_sandbox: MakeSandbox) -> None:
    start, *waits = STARTS[name]
    if name == "claude":
        # Subagents in the background have no todo tool of the client's own.
        start = {**start, "args": {**start["args"], "run_in_background": False}}
        waits = []
    main: list[Turn] = [
        {"tool": "todo", "args": {"add": MAIN}},
        start,
        *waits,
        {"tool": "todo", "args": {"done": [1, 2]}},
        {"text": "All of it is done."},
    ]
    sub: list[Turn] = [NATIVE[name], {"text": "Which one first?"}]
    with FamilyModel(main, sub, WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        if name == "codex":
            client.rewrite('model = "scripted"', 'model = "scripted"\ntools.update_plan = {enabled = true}')
        if name == "opencode":
            with serving(client) as server:
                server.say(TASK)
                server.until("session.idle")
        else:
            client.run()

    [(_, tasks)] = [each for each in client.sessions().items() if each[0] != str(client.sandbox.work)]
    assert tasks == [("Sub one", "pending")]
    assert client.tasks == [(text, "completed") for text in MAIN]
