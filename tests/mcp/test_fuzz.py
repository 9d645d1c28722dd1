"""Requests with any parameters on stdio: each gets exactly one response."""

import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types import INTERNAL_ERROR

from tests.mcp.project import Project
from tests.mcp.wire import INITIALIZED, MODERN, Record, initialize, line, request
from tildone.agents.mcp.protocol import HANDSHAKE_METHODS, MODERN_METHODS

FIELDS = (
    *("name", "arguments", "uri", "cursor", "ref", "argument", "type", "value", "level", "notifications", "task"),
    *("resourceSubscriptions", "toolsListChanged", "protocolVersion", "capabilities", "clientInfo", "version", "_meta"),
)
METHODS = sorted(HANDSHAKE_METHODS | MODERN_METHODS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "todo", "plan", "plan://current", "error"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=6,
)
ENVELOPES = st.sampled_from([{}, {"_meta": MODERN}, {"_meta": {}}])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    asked=st.lists(st.tuples(st.sampled_from(METHODS), JSON, ENVELOPES), min_size=1, max_size=4),
    opening=st.sampled_from([(), (initialize(), INITIALIZED)]),
)
def test_every_request_gets_exactly_one_response(
    project: Project, asked: list[tuple[str, Any, Record]], opening: tuple[Record, ...]
) -> None:
    """Whatever its parameters are; and none of them is the server's own fault."""
    records = [
        request(number, method, **((params if isinstance(params, dict) else {}) | envelope))
        for number, (method, params, envelope) in enumerate(asked)
    ]
    with project.pipes() as (to_server, from_server):
        with os.fdopen(to_server, "wb") as stdin:
            stdin.writelines(map(line, (*opening, *records)))
        with os.fdopen(os.dup(from_server), "rb") as stdout:
            answers = [json.loads(answer) for answer in stdout]

    responses = [answer for answer in answers if "method" not in answer]
    expected = [str(record["id"]) for record in (*opening, *records) if "id" in record]
    assert sorted(str(answer["id"]) for answer in responses) == sorted(expected)
    assert [answer for answer in responses if answer.get("error", {}).get("code") == INTERNAL_ERROR] == []
