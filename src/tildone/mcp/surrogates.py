"""Replacing lone surrogates: Python strings may contain them, but they cannot be encoded as UTF-8."""

from __future__ import annotations

import re
from typing import Any

from tildone.log import codec

_ESCAPE = r"\ud"
_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(data: Any) -> Any:
    """Return a copy of JSON data, keys included, with U+FFFD in place of every surrogate."""
    match data:
        case str():
            return data if data.isascii() else _SURROGATES.sub("\ufffd", data)
        case dict():
            return {replace_surrogates(key): replace_surrogates(item) for key, item in data.items()}
        case list() | tuple():
            return [replace_surrogates(item) for item in data]
        case _:
            return data


def encodable(details: dict[str, Any]) -> dict[str, Any]:
    """Return details without surrogates; they are copied only if their JSON contains an escape that may be one."""
    cleaned: dict[str, Any] = replace_surrogates(details) if _ESCAPE in codec.dump(details) else details
    return cleaned
