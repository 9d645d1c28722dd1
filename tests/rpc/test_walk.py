"""A client's walk: every command of the protocol, its errors and its records.

Recordings of the real pi are the same.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
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


OWN_COMMANDS = [
    *("todo", "undo", "redo", "log", "pause", "resume", "export", "model", "compact", "use", "new", "clear", "help")
]


def test_the_page_lists_every_command_event_and_question() -> None:
    assert named_in("Commands") == set(COMMANDS)
    assert named_in("Events") == EVENTS
    assert named_in("Requests to the user interface") == METHODS
    assert all(f"`{name}`" in PAGE for name in PROGRESS)


SCRIPT: list[Turn] = [
    *(PLAN, FINISH, {"text": "All done."}),
    *({"error": 529}, {"text": "Better now."}),
    {"tools": [["ask_person", {}], ["obedient", {}]]},
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
    assert [*commands] == [*OWN_COMMANDS, "ask", "fail", "report", "hang"]
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
    client.answer("confirm", confirmed=True)
    client.event("tool_execution_asks")
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
    said = [[each["content"] for each in request.messages if each["role"] == "user"] for request in model.requests]
    assert [texts[-1] for texts in said[-3:]] == ["A slow answer", "Left", "Then right"]


QUESTIONS: list[tuple[str, dict[str, Any], str]] = [
    *(("select", {"value": "b"}, "'b'"), ("confirm", {"confirmed": True}, "True")),
    *(("input", {"value": "Ada"}, "'Ada'"), ("editor", {"value": "new"}, "'new'")),
    *(("confirm", {"cancelled": True}, "False"), ("select", {"cancelled": True}, "None")),
]


def walk_questions(client: Client) -> None:
    for command in ("/fail", "/report", "/todo", "/log", "/model"):
        client.get("prompt", message=command)
    for kind, answer, heard in QUESTIONS:
        client.send(id="ask", type="prompt", message=f"/ask {kind}")
        client.answer(kind, **answer)
        assert client.until(lambda record: record.get("method") == "notify")["message"] == f"answered {heard}"
    notices = [record["message"] for record in client.records if record.get("method") == "notify"]
    assert any("openai-chat:scripted" in notice for notice in notices)


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


Json = dict[str, Any]
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))
WITH_LONG_PAUSES = {"abort", "errors", "resume"}


@pytest.mark.parametrize(
    "trace",
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem in WITH_LONG_PAUSES else []) for path in TRACES],
    ids=lambda path: path.stem,
)
def test_the_same_script_gives_the_same_conversation(trace: Path, tmp_path: Path) -> None:
    """The requests to the model, the status and widget calls, and the results of the tools are equal."""
    recorded = json.loads(trace.read_text(encoding="utf-8"))

    with ModelServer(*recorded["script"]) as model:
        for run in recorded["runs"]:
            first = len(model.requests)
            with rpc(tmp_path, model.url, *(["--continue"] if run["resume"] else [])) as client:
                replay(client, run["acts"])

            assert_same([conversation_in(request) for request in model.requests[first:]], run["llm"])
            assert_same(ui_calls(client), run["ui"])
            assert_same(results(client.records), results(run["events"]))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_session_that_pi_wrote_is_continued_with_the_same_list(trace: Path, tmp_path: Path) -> None:
    """Our first status line is the last one of pi."""
    recorded = json.loads(trace.read_text(encoding="utf-8"))
    (tmp_path / "sessions").mkdir()
    for number, file in enumerate(recorded["session_files"]):
        lines = "".join(f"{json.dumps(entry)}\n" for entry in file["entries"])
        (tmp_path / "sessions" / f"{number}.jsonl").write_text(lines, encoding="utf-8")
    calls = [call for call in recorded["runs"][-1]["ui"] if call["method"] == "setStatus"]
    last = {call["key"]: call.get("text") for call in calls}

    with ModelServer() as model, rpc(tmp_path, model.url, "--continue") as client:
        client.ask("get_state")

    first = {call["key"]: call.get("text") for call in ui_calls(client) if call["method"] == "setStatus"}
    assert first == last


def replay(client: Client, acts: list[Json]) -> None:
    """Repeat the actions of the recording, with its pauses."""
    for action in acts:
        if "send" in action:
            client.send(**action["send"])
        elif "until" in action:
            for _ in range(action.get("n", 1)):
                client.event(action["until"])
        else:
            time.sleep(action["sleep"])


def conversation_in(request: ReceivedRequest) -> list[Json]:
    return [simple(message) for message in request.messages if message["role"] not in {"system", "developer"}]


def simple(message: Json) -> Json:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(block.get("text", "") for block in content if block.get("type") == "text")
    calls = [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls") or ()
    ]
    simplified: Json = {"role": message["role"]}
    if content:
        simplified["text"] = content
    if calls:
        simplified["tool_calls"] = calls
    return simplified


def ui_calls(client: Client) -> list[Json]:
    requests = [record for record in client.records if record["type"] == "extension_ui_request"]
    fields = {"statusText": "text", "widgetLines": "lines", "widgetPlacement": "placement"}
    return [
        {"method": request["method"], "key": request.get("statusKey") or request.get("widgetKey")}
        | {name: request[field] for field, name in fields.items() if field in request}
        for request in requests
    ]


def results(records: list[Json]) -> list[Json]:
    ended = [record for record in records if record["type"] == "tool_execution_end"]
    return [{"tool": record.get("toolName") or record["tool"], "result": record["result"]} for record in ended]


def assert_same(got: Any, wanted: Any, path: str = "") -> None:
    """Compare recursively; where the recording has `$own`, any text of ours is accepted."""
    if isinstance(wanted, dict) and wanted.get("$own"):
        assert isinstance(got, str), path
        assert got.strip(), path
    elif isinstance(wanted, dict):
        assert isinstance(got, dict), path
        assert got.keys() == wanted.keys(), path
        for key, item in wanted.items():
            assert_same(got[key], item, f"{path}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(got, list), path
        assert len(got) == len(wanted), (path, got, wanted)
        for index, item in enumerate(wanted):
            assert_same(got[index], item, f"{path}[{index}]")
    else:
        assert got == wanted, path
