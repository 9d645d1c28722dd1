"""Whatever a hook reads, it prints a JSON object or nothing, and exits with 0."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.person import Answer
from tests.hooks.agent import OPEN, WITH_HOOKS, Workspace, hooks_of, in_process, in_subprocess, to_json
from tests.hooks.golden import FILES, PROJECT_PLACEHOLDER, golden
from tildone.agents.integrations import HookPoint, Integration

EVENTS = sorted(
    {event for integration in WITH_HOOKS.values() for event in hooks_of(integration).points}
    | {"", "Odd", "stop\n", "SubagentStop"}
)
FIELDS = sorted(
    {
        path.split(".")[0]
        for integration in WITH_HOOKS.values()
        for paths in hooks_of(integration).fields.values()
        for path in paths.split()
    }
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
PAYLOAD = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), JSON, max_size=8)

CORPUS = {
    "nothing": b"",
    "space": b" \r\n\t ",
    "garbage": b"\x00\xff\xfe\x80 not json",
    "half": b'{"session_id": "s1", "hook_ev',
    "null": b"null",
    "list": b"[1, 2, 3]",
    "text": b'"Stop"',
    "number": b"1e999",
    "two": b'{"a": 1}{"b": 2}',
    "not a number": b'{"session_id": NaN, "cost": {"total_cost_usd": Infinity}}',
    "deep": b'{"tool_input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deeper": b'{"a":' * 100_000,
    "wide": b'{"a": [' + b"{}," * 100_000 + b"{}]}",
    "twice": b'{"session_id": "a", "session_id": {"b": 1}, "hook_event_name": "Stop"}',
    "invalid utf-8": b'{"session_id": "\xc3\x28", "hook_event_name": "Stop", "last_assistant_message": "\xff\xff"}',
    "half a pair": b'{"session_id": "\\ud800", "hook_event_name": "Stop", "cwd": "\\udfff"}',
    "utf-16": '{"session_id": "s1"}'.encode("utf-16"),
    "a mark": b'\xef\xbb\xbf{"hook_event_name": "Stop"}',
    "wrong kinds": b'{"session_id": 7, "cwd": [], "hook_event_name": "Stop", "last_assistant_message": {"a": 1}}',
    "another version": b'{"session_id": "s", "hook_event_name": "Stop", "v": 9, "agents": [{"status": null}]}',
    "another event": b'{"session_id": "s", "hook_event_name": "PostQuantumUse"}',
    "huge": b'{"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "' + b"x" * 5_000_000 + b'"}',
    "huge number": b'{"session_id": "s", "at": ' + b"1" * 100_000 + b"}",
    "a huge name": b'{"session_id": "' + b"s" * 1_000_000 + b'", "hook_event_name": "Stop"}',
}


def is_fine(answer: Answer, *, line: bool = False) -> bool:
    """Return whether an answer is as every hook's, whatever its input."""
    if answer.code or answer.err.count("\n") > 1 or "Traceback" in answer.err:
        return False
    return line or answer.out == "" or isinstance(json.loads(answer.out), dict)


def test_malformed_input_does_no_harm(workspace: Workspace) -> None:
    """Each in a real process for Claude Code, and in this one for all others."""
    workspace.plan(*OPEN)
    answers = {(name, "claude"): in_subprocess(["claude", "Stop"], CORPUS[name], workspace.environ) for name in CORPUS}
    for agent, integration in WITH_HOOKS.items():
        event = next(iter(hooks_of(integration).points))
        for name, given_bytes in CORPUS.items():
            answers[name, f"{agent} {event}"] = in_process([agent, event], given_bytes, workspace.environ)

    assert {name: answer for name, answer in answers.items() if not is_fine(answer)} == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(integration=st.sampled_from(sorted(WITH_HOOKS)), event=st.sampled_from(EVENTS), payload=PAYLOAD)
def test_any_json_does_no_harm(workspace: Workspace, integration: str, event: str, payload: dict[str, Any]) -> None:
    """Any event of any coding agent, with any fields of any type."""
    workspace.plan(*OPEN)
    in_project = {**payload, hooks_of(WITH_HOOKS[integration]).fields["cwd"].split()[0]: str(workspace.project)}

    answer = in_process([integration, event], to_json(in_project), workspace.environ)

    assert is_fine(answer, line=hooks_of(WITH_HOOKS[integration]).points.get(event) == HookPoint.STATUS_LINE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(integration=st.sampled_from(sorted(WITH_HOOKS)), given_bytes=st.binary(max_size=200))
def test_any_bytes_do_no_harm(workspace: Workspace, integration: str, given_bytes: bytes) -> None:
    assert is_fine(in_process([integration], given_bytes, workspace.environ))


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_real_events_with_changed_fields_and_bytes_do_no_harm(workspace: Workspace, integration: Integration) -> None:
    """Reproducible: the seed is the name of the coding agent."""
    chance = random.Random(integration.name)  # noqa: S311  it is to be repeatable
    files = [golden(path) for path in FILES if path.parent.name == integration.name]
    for each in chance.sample(files, min(len(files), 12)):
        payload = json.loads(json.dumps(each.case["stdin"]).replace(PROJECT_PLACEHOLDER, str(workspace.project)))
        event = each.event
        for name in chance.sample(sorted(payload), min(len(payload), 3)):
            payload[name] = chance.choice([None, 7, "", [], {}, [payload[name]], {"x": payload[name]}])
        changed = bytearray(to_json(payload))
        for _ in range(chance.choice([0, 0, 1, 3])):
            changed[chance.randrange(len(changed))] = chance.randrange(256)

        answer = in_process([integration.name, event], bytes(changed), workspace.environ)

        assert is_fine(answer, line=hooks_of(integration).points.get(event) == HookPoint.STATUS_LINE)
