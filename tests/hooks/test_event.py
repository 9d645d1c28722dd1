"""Reading events: every field of every coding agent is read from its own place, whatever else is in the JSON."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hooks.agent import WITH_HOOKS, hooks_of
from tildone.agents.hooks.event import CHUNK_BYTES, MAX_STDIN_BYTES, HookEvent, read
from tildone.agents.integrations import HookPoint, Integration
from tildone.agents.integrations.claude import INTEGRATION as CLAUDE
from tildone.agents.integrations.cursor import INTEGRATION as CURSOR
from tildone.agents.integrations.gemini import INTEGRATION as GEMINI
from tildone.stores.agents import AgentId

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def event(
    payload: object, integration: Integration = CLAUDE, point: HookPoint = HookPoint.STOP, **environ: str
) -> HookEvent:
    return HookEvent(
        integration, hooks_of(integration), "", point, payload if isinstance(payload, dict) else {}, environ
    )


@given(integration=st.sampled_from([*WITH_HOOKS.values()]), data=st.data())
def test_whatever_an_agent_sends_every_field_has_a_value(integration: Integration, data: st.DataObject) -> None:
    """Also with wrong types, missing fields, and fields of other versions."""
    names = [path.split(".")[0] for paths in hooks_of(integration).fields.values() for path in paths.split()]
    payload = data.draw(st.dictionaries(st.sampled_from(names) | st.text(max_size=3), JSON, max_size=6))
    hook_event = event(payload, integration)

    texts = [hook_event.text(field) for field in hooks_of(integration).fields]

    assert all(isinstance(text, str) for text in texts)
    assert (hook_event.will_wake, hook_event.in_plan_mode, hook_event.from_person)[0] in (True, False)
    assert hook_event.agent_id(7).integration == integration.name


def test_a_field_may_be_nested_and_have_several_names() -> None:
    line = event({"workspace": {"current_dir": "/here"}, "cost": {"total_cost_usd": 1.5}})
    cursor = event({"workspace_roots": ["/there"], "session_id": "s"}, CURSOR)

    assert (line.text("cwd"), line.get("cost")) == ("/here", 1.5)
    assert (cursor.text("cwd"), cursor.agent_id(7)) == ("/there", AgentId("cursor", "s"))


def test_a_missing_field_is_empty() -> None:
    for roots in ([], "x", [1]):
        assert event({"workspace_roots": roots}, CURSOR).text("cwd") == "", roots


def test_an_agent_without_a_conversation_id_is_identified_by_its_process() -> None:
    """Some versions send an empty id; agents must not share it."""
    assert event({"session_id": ""}).agent_id(7) == AgentId("claude", pid=7)
    assert event({}, CLAUDE_CODE_SESSION_ID="x").agent_id(7) == AgentId("claude", "x")
    assert event({}, GEMINI, GEMINI_SESSION_ID="y").agent_id(7) == AgentId("gemini", "y")


def test_a_long_conversation_id_is_shortened() -> None:
    assert len(str(event({"session_id": "x" * 10_000}).agent_id(7))) < 100


def test_an_agent_in_a_subfolder_works_on_the_project(tmp_path: Path) -> None:
    """Also if that folder is a repository of its own; outside the project, the working folder counts."""
    below = tmp_path / "project" / "vendored"
    below.mkdir(parents=True)
    (tmp_path / "project2").mkdir()
    project = str(tmp_path / "project")

    folders = [event({"cwd": str(cwd)}, CLAUDE_PROJECT_DIR=project).folder for cwd in (below, tmp_path / "project2")]

    assert folders == [project, str(tmp_path / "project2")]


def test_a_prompt_may_not_come_from_a_person() -> None:
    """It may come from a timer or a background task, or be empty: some agents report a prompt at every step."""

    def from_person(**payload: str) -> bool:
        return event(payload, point=HookPoint.PROMPT).from_person

    assert from_person(prompt="Go on")
    assert from_person(prompt="Go on", source="user")
    assert not from_person(prompt="Go on", source="loop_wakeup")
    assert not from_person(prompt="<task-notification>\n<task-id>a1</task-id>\n</task-notification>")
    assert not from_person(prompt="  ")
    assert not from_person()


def pipe(*pieces: bytes, close: bool = True) -> int:
    """A pipe that holds these bytes, and may stay open."""
    ours, theirs = os.pipe()
    for piece in pieces:
        os.write(theirs, piece)
    if close:
        os.close(theirs)
    return ours


def test_reading_ends_with_the_object_even_if_the_pipe_stays_open() -> None:
    payload: list[object] = []
    reading = threading.Thread(
        target=lambda: payload.append(read(pipe(b'{"a": {"b": 1}}\n', close=False))), daemon=True
    )

    reading.start()
    reading.join(10)

    assert payload == [{"a": {"b": 1}}]


def test_an_object_may_arrive_in_chunks_that_look_complete(tmp_path: Path) -> None:
    """If parsing fails at the end of a chunk, reading continues."""
    file = tmp_path / "payload"
    brace = b'{"a": "' + b"x" * (CHUNK_BYTES - 8) + b"}"
    file.write_bytes(brace + b'"}')
    opened = os.open(file, os.O_RDONLY)

    payload = read(opened)

    os.close(opened)
    assert payload is not None
    assert len(payload["a"]) == CHUNK_BYTES - 7


def test_empty_input_is_no_event() -> None:
    assert read(pipe(b"")) is None
    assert read(pipe(b" \r\n")) is None


def test_input_that_is_not_a_json_object_is_refused() -> None:
    for given_bytes in (b"{", b"[1]", b"null", b"}", b"{} {}", b"\xff\xfe", b"{" * 60_000):
        with pytest.raises(ValueError, match="JSON"):
            read(pipe(given_bytes))


def test_a_byte_order_mark_and_invalid_utf_8_are_accepted() -> None:
    assert read(pipe(b'\xef\xbb\xbf{"a": "\xff"}')) == {"a": "\ufffd"}


def test_input_that_is_too_long_is_read_to_its_end_and_refused(tmp_path: Path) -> None:
    """So that the writer does not fail on a closed pipe."""
    file = tmp_path / "payload"
    with file.open("wb") as out:
        out.truncate(MAX_STDIN_BYTES + 1)
    opened = os.open(file, os.O_RDONLY)

    with pytest.raises(ValueError, match="longer than"):
        read(opened)

    assert os.read(opened, 1) == b""
    os.close(opened)
