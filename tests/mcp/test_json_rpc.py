"""JSON-RPC framing: every line is a message or an InvalidMessage, and every message survives its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import INVALID_REQUEST

from tildone.agents.mcp.json_rpc import MAX_MESSAGE_BYTES, InvalidMessage, decode, result_line

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("jsonrpc", "id", "method", "params", "result", "error")


def outcome(line: bytes) -> object:
    try:
        return decode(line)
    except InvalidMessage as invalid:
        return invalid


@given(st.binary(max_size=60) | JSON.map(lambda data: json.dumps(data).encode()))
def test_any_line_is_a_message_or_is_refused(line: bytes) -> None:
    """No other error escapes, so the server answers whatever a client sends."""
    assert outcome(line) is not None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON | st.just("2.0"), max_size=6))
def test_a_refusal_names_the_request_if_its_id_is_valid(record: dict[str, object]) -> None:
    result = outcome(json.dumps(record).encode())

    if isinstance(result, InvalidMessage):
        number = record.get("id")
        valid = isinstance(number, int | str) and not isinstance(number, bool)
        assert result.request == (number if valid else None)


@given(st.integers(0, 2**31) | st.text(max_size=8), JSON)
def test_a_response_survives_its_line(number: int | str, data: object) -> None:
    """Lone surrogates aside, which have no UTF-8."""
    line = result_line(number, {"data": data})

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "id": number, "result": {"data": data}}


def test_the_size_limit_is_exact() -> None:
    empty = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":""}}'
    longest = empty.replace(b'""', b'"%s"' % (b"x" * (MAX_MESSAGE_BYTES - len(empty))))

    assert (decode(longest).id, len(longest)) == (1, MAX_MESSAGE_BYTES)
    with pytest.raises(InvalidMessage, match="at most") as refused:
        decode(longest + b" ")
    assert (refused.value.code, refused.value.request) == (INVALID_REQUEST, 1)
