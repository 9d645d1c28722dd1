"""What the tried versions of the clients send to hooks and MCP servers is what is kept of it."""

import json
import os
from pathlib import Path

import pytest

from tests.clients.driving import ALL, HEADLESS, STOP, ActingModel, MakeSandbox, conversation, in_every_client, shell
from tests.clients.inside import TASK, install
from tests.clients.payloads import differences, load, record, schema
from tests.host.models.model_server import Turn

KEEP = "KEEP_PAYLOADS_IN"
"""A variable that names a folder: what was sent is kept there instead of being compared."""

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser"]}}
FINISH: Turn = {"tool": "todo", "args": {"done": 1}}


@pytest.mark.slow
@in_every_client
def test_a_client_sends_what_it_sent_before(name: str, make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """In a conversation with a call of our tool, a call of the client's own, an early stop and an end."""
    with ActingModel(name, HEADLESS, PLAN, shell(name, "true"), STOP, FINISH, ALL) as model:
        client = install(name, make_sandbox(model))
        copies = record(client, tmp_path)
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    sent = schema(copies)
    if folder := os.environ.get(KEEP):
        Path(folder, f"{name}.json").write_text(json.dumps(sent), encoding="utf-8")
        return
    assert differences(load()[name], sent) == []


def test_differences_name_events_and_fields() -> None:
    before = {"Stop": ["cwd", "session_id"], "Notification": ["cwd"]}
    after = {"Stop": ["session_id", "turn_id"], "PreCompact": ["cwd", "trigger"]}

    assert differences(before, after) == [
        "Stop: cwd has disappeared",
        "Stop: turn_id is new",
        "event Notification has disappeared",
        "event PreCompact is new: cwd, trigger",
    ]


def test_a_schema_has_no_values_and_none_of_the_fields_of_a_tool(tmp_path: Path) -> None:
    """Hooks are sent one object, servers several."""
    hook = {"hook_event_name": "PostToolUse", "cwd": "/", "tool_input": {"command": "true"}}
    server = [{"method": "initialize", "params": {"clientInfo": {"name": "x"}}}, {"method": "tools/list"}]
    (tmp_path / "1").write_text(json.dumps(hook), encoding="utf-8")
    (tmp_path / "2").write_text("\n".join(map(json.dumps, server)) + "\n", encoding="utf-8")

    assert schema(tmp_path) == {
        "PostToolUse": ["cwd", "hook_event_name", "tool_input"],
        "initialize": ["method", "params.clientInfo.name"],
    }
