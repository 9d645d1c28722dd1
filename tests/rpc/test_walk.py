"""A client's walk: every command of the protocol, its errors, and every record that a client can receive."""

import re
from pathlib import Path
from typing import Any, get_args

from tests.host.models.model_server import ModelServer, Turn
from tests.project.source import ROOT
from tests.rpc.client import EXTENSION, Client, first_message, rpc
from tests.suite.forking import starting
from tildone.run.events import CustomEvent, PublicEvent
from tildone.run.rpc import COMMANDS

PLAN = {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}}
FINISH = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}, "thinking": "Both."}
PAGE = (ROOT / "docs" / "reference" / "rpc.md").read_text(encoding="utf-8")

EVENTS = {event.type for event in get_args(PublicEvent) if event is not CustomEvent}
PROGRESS = {f"{kind}_{step}" for kind in ("text", "thinking", "toolcall") for step in ("start", "delta", "end")}
METHODS = {"setStatus", "setWidget", "notify", "select", "confirm", "input", "editor"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def named_in(section: str) -> set[str]:
    """Return the names in the first column of the table of a section of the page."""
    rows = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", rows, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_page_lists_every_command_event_and_question() -> None:
    assert named_in("Commands") == set(COMMANDS)
    assert named_in("Events") == EVENTS
    assert named_in("Requests to the user interface") == METHODS
    assert all(f"`{name}`" in PAGE for name in PROGRESS)


SCRIPT: list[Turn] = [
    *(PLAN, FINISH, {"text": "All done."}),
    *({"error": 529}, {"text": "Better now."}),
    {"tool": "obedient", "args": {}},
    *({"text": "slow", "hold": 1}, {"text": "Left."}, {"text": "Then right."}),
    {"text": "Another way."},
]


def test_a_client_walks_through_every_command_and_every_record(tmp_path: Path) -> None:
    with ModelServer(*SCRIPT) as model, starting(), rpc(tmp_path, model.url, "--extension", EXTENSION) as client:
        walk_an_empty_conversation(client)
        walk_turns(client)
        walk_queues(client, model)
        walk_questions(client)
        walk_conversations(client)

    responses = [record for record in client.records if record["type"] == "response"]
    assert all(response["success"] for response in responses)
    assert {response["command"] for response in responses} == set(COMMANDS)
    assert client.kinds() >= EVENTS | {"response", "extension_ui_request", "reported"}
    assert {record.get("method") for record in client.records} - {None} == METHODS
    updates = [record["assistantMessageEvent"] for record in client.records if record["type"] == "message_update"]
    assert {update["type"] for update in updates} == PROGRESS


def walk_an_empty_conversation(client: Client) -> None:
    state = client.get("get_state")
    assert (state["isStreaming"], state["isCompacting"], state["messageCount"]) == (False, False, 0)
    assert state["model"] == {"id": "scripted", "provider": "openai", "api": "openai-completions"}
    assert client.get("get_last_assistant_text") == {"text": None}
    commands = {command["name"]: command for command in client.get("get_commands")["commands"]}
    assert {"todo", "model", "compact", "clear", "help", "ask"} <= commands.keys()
    assert commands["fail"] == {"name": "fail", "description": "fail", "source": "extension"}


def walk_turns(client: Client) -> None:
    client.get("prompt", message="Go", images=[IMAGE])
    client.event("agent_settled")
    messages = client.get("get_messages")["messages"]
    roles = ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]
    assert [message["role"] for message in messages] == roles
    assert messages[0]["content"] == [{"type": "text", "text": "Go"}, IMAGE]
    assert client.get("get_last_assistant_text") == {"text": "All done."}
    stats = client.get("get_session_stats")
    counts = ("userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages")
    assert [stats[name] for name in counts] == [1, 3, 2, 2, 6]
    assert (stats["tokens"]["total"], stats["cost"]) == (45, 0)

    client.settle("A model that fails at first")
    assert client.get("get_last_assistant_text") == {"text": "Better now."}

    client.get("prompt", message="A tool")
    client.event("tool_execution_update")
    assert client.get("get_state")["isStreaming"]
    client.get("abort")
    assert not client.get("get_state")["isStreaming"]


def walk_queues(client: Client, model: ModelServer) -> None:
    client.get("prompt", message="A slow answer")
    assert model.held.wait(20)
    client.get("follow_up", message="forget this")
    assert client.get("clear_queue") == {"steering": [], "followUp": ["forget this"]}
    client.get("steer", message="Left")
    client.get("prompt", message="Then right", streamingBehavior="followUp")
    assert client.get("get_state")["pendingMessageCount"] == 2
    model.release()
    client.event("agent_settled")
    said = [
        [message["content"] for message in request.messages if message["role"] == "user"] for request in model.requests
    ]
    assert [texts[-1] for texts in said[-3:]] == ["A slow answer", "Left", "Then right"]


QUESTIONS: list[tuple[str, dict[str, Any], str]] = [
    *(("select", {"value": "b"}, "'b'"), ("confirm", {"confirmed": True}, "True")),
    *(("input", {"value": "Ada"}, "'Ada'"), ("editor", {"value": "new"}, "'new'")),
    *(("confirm", {"cancelled": True}, "False"), ("select", {"cancelled": True}, "None")),
]


def walk_questions(client: Client) -> None:
    for command in ("/fail", "/report", "/todo"):
        client.get("prompt", message=command)
    for kind, answer, heard in QUESTIONS:
        client.send(id="ask", type="prompt", message=f"/ask {kind}")
        client.answer(kind, **answer)
        assert client.until(lambda record: record.get("method") == "notify")["message"] == f"answered {heard}"


def walk_conversations(client: Client) -> None:
    client.get("set_session_name", name=" work ")
    state = client.get("get_state")
    assert state["sessionName"] == "work"
    client.get("new_session", parentSession=state["sessionFile"])
    assert client.get("get_messages") == {"messages": []}
    client.get("switch_session", sessionPath=state["sessionFile"])
    assert client.get("get_state")["messageCount"] == state["messageCount"]
    assert client.get("fork", entryId=first_message(state["sessionFile"])) == {"text": "Go", "cancelled": False}
    assert client.get("get_state")["sessionFile"] != state["sessionFile"]
    client.settle("Again")
    assert client.get("get_last_assistant_text") == {"text": "Another way."}


MISSING = "expected a string, got NoneType"
ERRORS: list[tuple[str, dict[str, Any], str]] = [
    ("dance", {}, "unknown command 'dance'; known are prompt, steer"),
    ("prompt", {}, f"message: {MISSING}"),
    ("prompt", {"message": "x", "streamingBehavior": "now"}, "streamingBehavior: expected one of steer, followUp"),
    *(
        ("prompt", {"message": "x", "images": images}, "images: expected a list of images")
        for images in (3, ["x"], [{**IMAGE, "data": "x!"}], [{**IMAGE, "data": ""}], [{"type": "text", "text": "x"}])
    ),
    ("steer", {"message": 7}, "message: expected a string, got int"),
    ("follow_up", {}, f"message: {MISSING}"),
    ("new_session", {"parentSession": 7}, "parentSession: expected a string, got int"),
    ("switch_session", {}, f"sessionPath: {MISSING}"),
    ("switch_session", {"sessionPath": "none"}, "no session file none"),
    ("switch_session", {"sessionPath": "."}, "cannot read .: Is a directory"),
    ("switch_session", {"sessionPath": "\0"}, "ValueError: embedded null byte"),
    ("fork", {}, f"entryId: {MISSING}"),
    ("fork", {"entryId": "none"}, "none"),
    ("set_session_name", {}, f"name: {MISSING}"),
]
WITHOUT_FIELDS = {"abort", "clear_queue", *(name for name in COMMANDS if name.startswith("get_"))}
"""Commands that always succeed."""


def test_a_wrong_command_gets_an_error_and_nothing_has_changed(tmp_path: Path) -> None:
    """Lines that are no JSON objects, unknown commands, wrong fields, and a prompt in the middle of a turn."""
    assert {command for command, _, _ in ERRORS} | WITHOUT_FIELDS == {*COMMANDS, "dance"}

    with ModelServer({"text": "slow", "hold": 1}) as model, rpc(tmp_path, model.url) as client:
        before = client.get("get_state")
        for line, error in ((b"{nonsense", "Failed to parse command: "), (b"[1]\r", "expected a JSON object")):
            client.write(line)
            response = client.event("response")
            assert (response["command"], response["success"]) == ("parse", False)
            assert response["error"].startswith(error)
        for command, fields, error in ERRORS:
            response = client.ask(command, **fields)
            assert (response["success"], error in response["error"]) == (False, True), response
        assert client.get("get_state") == before

        client.get("prompt", message="Go")
        assert model.held.wait(20)
        assert "a turn is running" in client.ask("prompt", message="Hello?")["error"]
        model.release()
        client.event("agent_settled")

    assert len(model.requests) == 1
