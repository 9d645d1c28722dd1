"""In a real client at a terminal, the plan outlives a compaction of the conversation."""

import pytest

from tests.clients.driving import TERMINAL, ActingModel, MakeSandbox, install_in, needs_tmux
from tests.clients.inside import CLIENTS, TASK, without_tools
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
    with ActingModel(name, TERMINAL, PLAN, ASKS, FINISH, ALL) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until(TURN_ENDED.get(name) or str(ASKS["text"]))
            screen.say(command)
            screen.until(compacted)
            screen.send(CLEAR_LINE)
            asked_before = len(model.requests)
            screen.say("Now do the rest.")
            screen.until(ALL["text"])

    assert len(model.summaries) == 1
    assert asked_before == 2
    assert "Wire it up" in without_tools(model.requests[2])
    assert client.tasks == DONE
