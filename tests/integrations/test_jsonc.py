"""Editing JSON with comments: everything but the edited entry keeps its bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.agents.install.jsonc import InvalidJson, append, get, prune, put, remove, scan

PATH = ("mcp Servers", "tildone")
ENTRY = {"command": "/bin/tildone", "args": ["mcp"]}

blanks = st.sampled_from(["", " ", "\n", "\n    ", "\r\n\t", " // why\n", "/* a\nb */", " /* } */ "])
scalars = st.sampled_from(["1", "-2.5e3", "true", "null", '"x"', '"\\u00e9 // not a comment"', '"a\\"b"'])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """The text of an object, with white space and comments wherever they are allowed."""

    def gap() -> str:
        return str(draw(blanks))

    def value(depth: int) -> str:
        kind = draw(st.sampled_from(["scalar", "object", "array"] if depth else ["scalar"]))
        return draw(scalars) if kind == "scalar" else container(kind, depth - 1)

    def container(kind: str, depth: int) -> str:
        opening, closing = "{}" if kind == "object" else "[]"
        names: list[str] = draw(st.lists(st.sampled_from("abcd"), max_size=3, unique=True))
        children = [f'{gap()}"{name}"{gap()}:{gap()}' if kind == "object" else gap() for name in names]
        text = ",".join(f"{child}{value(depth)}{gap()}" for child in children)
        trailing = f",{gap()}" if children and draw(st.sampled_from("yn")) == "y" else ""
        return f"{opening}{text}{trailing}{gap() if not children else ''}{closing}"

    return f"{gap()}{container('object', 2)}{gap()}"


def stripped(text: str) -> str:
    return "".join(text.split())


@given(documents())
def test_put_adds_the_value_and_keeps_every_character(text: str) -> None:
    """In order; and the data is the old data with ours added."""
    before = scan(text).data

    after = put(text, PATH, ENTRY)

    assert scan(after).data == before | {PATH[0]: {PATH[1]: ENTRY}}
    rest = iter(stripped(after))
    assert all(char in rest for char in stripped(text))
    assert put(after, PATH, ENTRY) == after


@given(documents())
def test_remove_undoes_put(text: str) -> None:
    """Except for white space."""
    after = append(put(text, PATH, ENTRY), ("hooks", "Stop"), ENTRY)

    back = prune(remove(after, PATH), PATH[:1])
    back = prune(remove(back, ("hooks", "Stop", 0)), ("hooks", "Stop"))

    assert scan(back).data == scan(text).data
    assert stripped(back) == stripped(text)


@given(documents(), st.sampled_from("abcd"))
def test_any_member_can_be_removed(text: str, name: str) -> None:
    """The rest is still JSON."""
    before = scan(text).data

    after = remove(text, (name,))

    assert scan(after).data == {key: item for key, item in before.items() if key != name}


@given(st.dictionaries(st.text(max_size=3), st.recursive(st.integers() | st.text(max_size=4), st.lists, max_leaves=4)))
def test_plain_json_is_parsed_as_json_does(data: dict[str, Any]) -> None:
    for indent in (None, 2):
        assert scan(json.dumps(data, indent=indent)).data == data


def test_invalid_json_is_refused() -> None:
    """The message names the line."""
    for text in (
        "",
        "{",
        "}",
        "{]",
        "[1, 2",
        '{"a" 1}',
        '{"a": }',
        "{a: 1}",
        '{"a": 1 "b": 2}',
        "{} {}",
        "/* {}",
        '{"a": "b\n"}',
        "[" * 999,
    ):
        with pytest.raises(InvalidJson, match="line "):
            scan(text)


def test_of_duplicate_members_the_last_counts() -> None:
    """As in `json`."""
    text = '{"a": 1, "a": 2}'

    assert get(text, ("a",)) == 2
    assert put(text, ("a",), 3) == '{"a": 1, "a": 3}'


def test_a_value_of_the_wrong_type_on_the_path_is_named() -> None:
    with pytest.raises(InvalidJson, match=r"a\.b is not an object"):
        put('{"a": {"b": 1}}', ("a", "b", "c"), 1)
    with pytest.raises(InvalidJson, match=r"a is not an array"):
        append('{"a": {}}', ("a",), 1)
