"""Copies of schemas as plain JSON: what cannot be sent to a model is refused."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from tildone.host.wire import JsonValue
from tildone.kit.schema import child_path

MAX_DEPTH = 64
"""How deeply objects and arrays of a schema may be nested."""

TOO_DEEP = f"nested too deeply; {MAX_DEPTH} levels are the limit"


def plain_json(item: JsonValue, path: str = "", depth: int = 0) -> JsonValue:
    """Return a copy in which objects are dicts and arrays are lists.

    Raises:
        ValueError: JSON cannot represent it; the message names the place.
    """
    if depth > MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    match item:
        case None | bool() | int():
            return item
        case str():
            return _text(item, path)
        case float() if isfinite(item):
            return item
        case Mapping():
            return {
                _text(name, f"a name in {path or 'it'}"): plain_json(each, child_path(path, str(name)), depth + 1)
                for name, each in item.items()
            }
        case list() | tuple():
            return [plain_json(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(item)]
        case _:
            shown = str(item) if isinstance(item, float) else f"a {type(item).__name__}"
            raise ValueError(f"{path}: JSON cannot represent {shown}")


def _text(item: JsonValue, path: str) -> str:
    if not isinstance(item, str):
        raise ValueError(f"{path}: must be a text, not a {type(item).__name__}")  # noqa: TRY004  a value from outside
    try:
        item.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: UTF-8 cannot represent the text") from None
    return item
