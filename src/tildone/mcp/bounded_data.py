"""Structured content of a limited size: what is too long is cut, in a form that the output schema still describes."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.views.limits import MAX_RESOURCE, clipped

if TYPE_CHECKING:
    from typing import Any

_ITEM = 20
"""What an item takes besides its texts."""


def bounded_data(data: Any, max_characters: int = MAX_RESOURCE) -> Any:
    """Return JSON data as it is if it fits; else with long texts cut, and with only the first items of its lists."""
    if _size(data) <= max_characters:
        return data
    return _cut(data, [max_characters])


def _size(data: Any) -> int:
    match data:
        case str():
            return len(data)
        case dict():
            return sum(len(key) + _ITEM + _size(item) for key, item in data.items())
        case list() | tuple():
            return sum(_ITEM + _size(item) for item in data)
        case _:
            return _ITEM


def _cut(data: Any, room: list[int]) -> Any:
    """Return a copy that takes from `room` what it needs. The fields of an object stay; their texts may be empty."""
    match data:
        case str():
            text = clipped(data)
            text = text if len(text) <= room[0] else ""
            room[0] -= len(text)
            return text
        case dict():
            room[0] -= sum(len(key) + _ITEM for key in data)
            return {key: _cut(item, room) for key, item in data.items()}
        case list() | tuple():
            items = []
            for item in data:
                room[0] -= _ITEM
                if room[0] < 0:
                    break
                items.append(_cut(item, room))
            return items
        case _:
            return data
