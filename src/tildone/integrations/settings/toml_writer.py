"""TOML text for data: inline values, and tables as statements on lines of their own."""

from __future__ import annotations

import json
import re

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def key_text(key: str) -> str:
    """Return a key, quoted if it has to be."""
    return key if _BARE_KEY.fullmatch(key) else value_text(key)


def value_text(data: Any) -> str:
    """Return data as an inline value."""
    match data:
        case bool():
            return "true" if data else "false"
        case str():
            # TOML's basic strings have the same escapes as JSON's strings, and do not allow DEL.
            return json.dumps(data, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            pairs = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in data.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(map(value_text, data))}]"
        case _:
            return str(data)


def table_lines(path: Sequence[str], data: Mapping[str, Any], brackets: int = 1) -> Iterator[str]:
    """Yield the lines of a table: its header, its own keys, then the tables and arrays of tables inside it.

    Two brackets make it an item of an array of tables.
    """
    yield f"{'[' * brackets}{'.'.join(map(key_text, path))}{']' * brackets}"
    inner = {key: item for key, item in data.items() if is_table(item) or is_array_of_tables(item)}
    for key, item in data.items():
        if key not in inner:
            yield f"{key_text(key)} = {value_text(item)}"
    for key, item in inner.items():
        for each in item if isinstance(item, list) else [item]:
            yield from table_lines((*path, key), each, 2 if isinstance(item, list) else 1)


def is_table(data: object) -> bool:
    """Return whether data is written as a table of its own."""
    return isinstance(data, dict)


def is_array_of_tables(data: object) -> bool:
    """Return whether data is written as an array of tables."""
    return isinstance(data, list) and bool(data) and all(isinstance(item, dict) for item in data)
