"""Commands of the RPC mode, several in one process."""

import json
from pathlib import Path

from tests.host.models.model_server import ModelServer
from tests.rpc.client import rpc
from tests.suite.forking import starting

PLAN = {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}}
FINISH = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}


def test_a_client_controls_a_conversation(tmp_path: Path) -> None:
    """State, messages, names, forks and switches."""
    with (
        ModelServer(PLAN, FINISH, {"text": "All done."}, {"text": "Another way."}) as model,
        starting(),
        rpc(tmp_path, model.url) as client,
    ):
        state = client.ask("get_state")["data"]
        assert (state["isStreaming"], state["messageCount"]) == (False, 0)
        assert state["model"]["id"] == "scripted"

        assert client.ask("prompt", message="Go")["success"]
        client.event("agent_settled")
        messages = client.ask("get_messages")["data"]["messages"]
        assert [message["role"] for message in messages] == [
            *["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]
        ]
        assert client.ask("get_last_assistant_text")["data"]["text"] == "All done."
        assert client.ask("get_session_stats")["data"]["toolCalls"] == 2

        assert client.ask("set_session_name", name="work")["success"]
        state = client.ask("get_state")["data"]
        assert state["sessionName"] == "work"
        first = state["sessionFile"]

        assert client.ask("new_session")["data"] == {"cancelled": False}
        assert client.ask("get_messages")["data"]["messages"] == []
        assert client.ask("switch_session", sessionPath=first)["success"]
        assert len(client.ask("get_messages")["data"]["messages"]) == 6

        entry = _first_user_entry(Path(first))
        forked = client.ask("fork", entryId=entry)["data"]
        assert forked == {"text": "Go", "cancelled": False}
        assert client.ask("get_state")["data"]["sessionFile"] != first
        assert client.ask("prompt", message="Again")["success"]
        client.event("agent_settled")
        assert client.ask("get_last_assistant_text")["data"]["text"] == "Another way."


def test_an_invalid_command_gets_an_error_and_the_host_continues(tmp_path: Path) -> None:
    """Invalid JSON, unknown commands, missing fields, a second prompt during a turn."""
    with ModelServer({"text": "slow", "hold": 1}, {"text": "ok"}) as model, rpc(tmp_path, model.url) as client:
        client.write(b"{nonsense")
        parse = client.until(lambda record: record["type"] == "response")
        assert (parse["command"], parse["success"]) == ("parse", False)
        client.write(b"[1]\r")
        assert client.until(lambda record: record["type"] == "response")["error"] == "expected a JSON object"

        unknown = client.ask("dance")
        assert "unknown command 'dance'; known are prompt" in unknown["error"]
        assert client.ask("prompt")["error"] == "message: expected a string, got NoneType"
        assert "streamingBehavior" in client.ask("prompt", message="x", streamingBehavior="now")["error"]
        assert not client.ask("switch_session", sessionPath=str(tmp_path / "none"))["success"]
        assert not client.ask("fork", entryId="nowhere")["success"]

        assert client.ask("prompt", message="Go")["success"]
        assert model.held.wait(20)
        assert "a turn is running" in client.ask("prompt", message="Hello?")["error"]
        assert client.ask("follow_up", message="And then?")["success"]
        assert client.ask("clear_queue")["data"] == {"steering": [], "followUp": ["And then?"]}
        assert client.ask("steer", message="Left")["success"]
        assert client.ask("abort")["success"]
        assert not client.ask("get_state")["data"]["isStreaming"]
        assert model.requests[0].left.wait(20)


def _first_user_entry(path: Path) -> str:

    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return next(str(entry["id"]) for entry in entries if entry.get("message", {}).get("role") == "user")
