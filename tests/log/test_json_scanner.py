"""JSON without the package: the same values, the same texts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.log.json_scanner import parse, quoted

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES, st.sampled_from(["", " ", "\r\n\t"]))
def test_what_the_package_writes_is_read(value: object, space: str) -> None:
    assert parse(f"{space}{json.dumps(value)}{space}") == value


@given(st.text())
def test_what_is_quoted_is_read_by_the_package(text: str) -> None:
    """Half a surrogate pair included."""
    assert json.loads(quoted(text)) == text
    assert quoted(text).isascii()
    assert quoted("\ud800") == '"\\ud800"'


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,]", '{"a" 1}', '"open', "1 2", "nul", "{} x", "[" * 100_000, "1" * 5000, '"\\x"', "\ufeff{}"],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="this is not JSON"):
        parse(text)


def test_what_is_no_number_is_nothing() -> None:
    """Some hosts write it where a number is missing."""
    assert parse('{"a": NaN, "b": -Infinity}') == {"a": None, "b": None}
