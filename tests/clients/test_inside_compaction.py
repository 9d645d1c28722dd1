"""In a real client, the plan outlives a compaction of the conversation that a person asks for."""

import pytest

from tests.clients.agents import talking
from tests.clients.conversations import compact_early, prompt_and_wait
from tests.clients.driving import HEADLESS, TERMINAL, ActingModel, MakeSandbox, install_in, needs_tmux
from tests.clients.inside import CLIENTS, TASK, install, without_tools
from tests.clients.situations import proves
from tests.clients.tui import at_terminal
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}
ALL: Turn = {"text": "All of it is done."}
DONE = [("Write the parser", "completed"), ("Wire it up", "completed")]

COMPACT = {
    "claude": ("/compact", "Compacted"),
    "codex": ("/compact", "Context compacted"),
    "gemini": ("/compress", "compressed"),
    "opencode": ("/compact", "Compaction"),
    "pi": ("/compact", "[compaction]"),
}
"""The command that compacts a conversation, and what the screen shows afterwards."""

LONG: dict[str, Turn] = {"gemini": {"usage": {"promptTokenCount": 100_000, "totalTokenCount": 100_005}}}
"""Gemini CLI keeps a conversation that would not become shorter."""

SUMMARIES = {"gemini": 2}
"""How many summaries a client asks for, if not one."""

TURN_ENDED: dict[str, str] = {"codex": "Worked for"}
"""What the screen shows when the client accepts a command, if that is not the model's last text."""

CLEAR_LINE = "\x15"
"""Claude Code leaves the command in its input."""


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.long
@needs_tmux
@proves("compaction by the person", tui=True)
def test_a_plan_is_known_after_the_person_compacts_the_conversation(name: str, make_sandbox: MakeSandbox) -> None:
    """The compaction itself is not the end of a turn: the agent is not continued."""
    command, compacted = COMPACT[name]
    with ActingModel(name, TERMINAL, PLAN, {**ASKS, **LONG.get(name, {})}, FINISH, ALL) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        if name == "pi":
            compact_early(client.sandbox)
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until(TURN_ENDED.get(name) or str(ASKS["text"]))
            screen.say(command)
            screen.until(compacted)
            screen.send(CLEAR_LINE)
            asked_before = len(model.requests)
            screen.say("Now do the rest.")
            screen.until(ALL["text"])

    assert len(model.summaries) == SUMMARIES.get(name, 1)
    assert asked_before == 2
    assert "Wire it up" in without_tools(model.requests[2])
    assert client.tasks == DONE


@proves("compaction by the person", client="pi")
def test_a_plan_is_known_after_a_compaction_of_pi_without_a_terminal(make_sandbox: MakeSandbox) -> None:
    """Over pi's RPC protocol; what pi keeps of the conversation does not contain the plan."""
    with ActingModel("pi", HEADLESS, PLAN, {"text": f"{'A long answer. ' * 50}Which one?"}, FINISH, ALL) as model:
        client = install("pi", make_sandbox(model))
        compact_early(client.sandbox)
        command = [word for word in client.start.command if word not in ("-p", TASK)]
        with talking([*command, "--approve", "--mode", "rpc"], cwd=client.sandbox.work, env=client.environ) as pi:
            prompt_and_wait(pi, TASK)
            compacted = pi.ask("compact")
            asked_before = len(model.requests)
            prompt_and_wait(pi, "Now do the rest.")

    assert compacted["success"], compacted
    assert (asked_before, len(model.summaries)) == (2, 1)
    assert without_tools(model.requests[2]).count("2 Wire it up") == 1
    assert client.tasks == DONE
