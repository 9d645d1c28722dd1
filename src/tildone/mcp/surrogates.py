"""Replacing lone surrogates: Python strings may contain them, but they cannot be encoded as UTF-8."""

from __future__ import annotations

import re

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_SURROGATES = "[\ud800-\udfff]"
"""Compiled by `re` on first use: most servers never meet text that is not ASCII."""


def replace_surrogates(data: Any) -> Any:
    """Return a copy of JSON data, keys included, with U+FFFD in place of every surrogate."""
    match data:
        case str():
            return data if data.isascii() else re.sub(_SURROGATES, "\ufffd", data)
        case dict():
            return {replace_surrogates(key): replace_surrogates(item) for key, item in data.items()}
        case list() | tuple():
            return [replace_surrogates(item) for item in data]
        case _:
            return data
