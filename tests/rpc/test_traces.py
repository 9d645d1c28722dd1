"""Recordings of the real pi with the real pi-til-done: our host has the same conversation and the same display."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.model_server import ModelServer, ReceivedRequest
from tests.rpc.client import Client, rpc

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
