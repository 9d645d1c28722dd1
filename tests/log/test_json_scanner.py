"""The JSON scanner agrees with the `json` package."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.base.json import dump, parse, quoted

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES, st.sampled_from(["", " ", "\r\n\t"]))
def test_the_output_of_json_is_parsed(value: object, space: str) -> None:
    assert parse(f"{space}{json.dumps(value)}{space}") == value


@given(st.text())
def test_quoted_text_is_parsed_by_json(text: str) -> None:
    """Including unpaired surrogates."""
    assert json.loads(quoted(text)) == text
    assert quoted(text).isascii()
    assert quoted("\ud800") == '"\\ud800"'


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,]", '{"a" 1}', '"open', "1 2", "nul", "{} x", "[" * 100_000, "1" * 5000, '"\\x"', "\ufeff{}"],
)
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="this is not JSON"):
        parse(text)


def test_nan_and_infinity_become_none() -> None:
    """Some coding agents write them for a missing number."""
    assert parse('{"a": NaN, "b": -Infinity}') == {"a": None, "b": None}


@pytest.mark.parametrize("value", ["a \ud83d ü", {"a": [1, 2.5, None, True], "b": {"c": ()}}, [], 7])
def test_a_value_is_written_like_json_does(value: object) -> None:
    """In ASCII and without white space."""
    assert dump(value) == json.dumps(value, separators=(",", ":"))


def test_a_value_of_another_type_is_not_written() -> None:
    with pytest.raises(TypeError, match="set is not a JSON type"):
        dump({"a": {1}})
