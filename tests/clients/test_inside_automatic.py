"""In a real client, the plan outlives a compaction that the client makes by itself."""

import json

import pytest

from tests.clients.conversations import compact_early
from tests.clients.driving import (
    TERMINAL,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    install_in,
    needs_tmux,
    shell,
)
from tests.clients.inside import GO_ON, TASK, InstalledClient, last_message, without_tools
from tests.clients.situations import proves
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}
STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
DONE = [("Write the parser", "completed"), ("Wire it up", "completed")]

FULL: dict[str, dict[str, int]] = {
    "claude": {"input_tokens": 190_000},
    "codex": {"input_tokens": 260_000, "total_tokens": 260_005},
    "gemini": {"promptTokenCount": 700_000, "totalTokenCount": 700_005},
    "opencode": {"prompt_tokens": 200_000, "total_tokens": 200_005},
    "pi": {"prompt_tokens": 200_000, "total_tokens": 200_005},
}
"""The usage that each client takes for a context that is nearly full, with the names of its protocol."""

LIMITS = {"limit": {"context": 100_000, "output": 4000}}


@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "pi"])
@in_both_modes
@proves("automatic compaction")
def test_a_plan_is_known_after_a_compaction_in_the_middle_of_a_turn(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The next request contains it, although the summary does not; a compaction is no stop, and the agent is held."""
    # It separates the call that made the plan from the last messages, which a client may keep as they are.
    work = shell(name, f"echo {'word ' * 40}")
    with ActingModel(name, mode, PLAN, work, shell(name, "true", usage=FULL[name]), STOP, FINISH, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        compact_automatically(client)
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    assert len(model.summaries) == 1
    check_held_after_compaction(client, model, compacted=3, told=4)


@pytest.mark.long
@needs_tmux
@proves("automatic compaction", tui=True, client="gemini")
def test_a_plan_is_known_after_gemini_compresses_the_conversation_before_a_prompt(make_sandbox: MakeSandbox) -> None:
    """It compresses what precedes a prompt, asks twice for a summary, and the hook that announces it comes too late."""
    with ActingModel("gemini", TERMINAL, PLAN, {**ASKS, "usage": FULL["gemini"]}, STOP, FINISH, ALL) as model:
        client = install_in(TERMINAL, "gemini", make_sandbox(model))
        with conversation(client, TERMINAL) as say:
            say(TASK, ASKS["text"])
            say("Begin with the first.", ALL["text"])

    assert len(model.summaries) == 2
    check_held_after_compaction(client, model, compacted=2, told=3)


@in_both_modes
@proves("automatic compaction", client="gemini")
def test_a_plan_is_known_after_gemini_compresses_the_conversation_before_a_nudge(
    mode: str, make_sandbox: MakeSandbox
) -> None:
    """Without a terminal, no other message follows one on which the client could compress."""
    with ActingModel("gemini", mode, PLAN, {**STOP, "usage": FULL["gemini"]}, FINISH, ALL) as model:
        client = install_in(mode, "gemini", make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    assert len(model.summaries) == 2
    check_held_after_compaction(client, model, compacted=2, told=2)


def check_held_after_compaction(client: InstalledClient, model: ActingModel, *, compacted: int, told: int) -> None:
    """Check the request after a compaction, and that one request told the agent to go on; both by their numbers."""
    assert "A summary of the conversation." in without_tools(model.requests[compacted])
    assert "Wire it up" in without_tools(model.requests[compacted])
    nudged = [number for number, request in enumerate(model.requests) if GO_ON in last_message(request)]
    assert nudged == [told]
    assert client.tasks == DONE


def compact_automatically(client: InstalledClient) -> None:
    """Tell the client what it does not know of its model: how large the context is, and that little of it is kept."""
    if client.name == "claude":
        client.start.environ["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    if client.name == "opencode":
        settings = client.sandbox.work / "opencode.json"
        known = settings.read_text(encoding="utf-8").replace('"scripted": {}', f'"scripted": {json.dumps(LIMITS)}')
        settings.write_text(known, encoding="utf-8")
    if client.name == "pi":
        compact_early(client.sandbox)
