"""What a tool returned, made safe to store and to publish: a tool may be other people's code, without types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import isfinite

from tildone.host.wire import JsonValue
from tildone.kit.definition import ImageContent, TextContent, ToolResult, error_result
from tildone.value import replace

MAX_DETAILS_DEPTH = 64


def result_problem(result: object) -> str:
    """Return why something is not the result of a tool; empty if it is one."""
    if not isinstance(result, ToolResult):
        return f"a tool must return a ToolResult, not a {type(result).__name__}"
    content: object = result.content
    if isinstance(content, str) or not isinstance(content, Iterable) or not all(map(_is_block, content)):
        return "the content of a result must be a tuple of TextContent and ImageContent"
    return ""


def sound_result(result: object) -> ToolResult:
    """Return the result, or a failed one if it is not a result.

    Details that JSON cannot represent are converted: the work of the tool is done, so the call has not failed.
    """
    problem = result_problem(result)
    if problem or not isinstance(result, ToolResult):
        return error_result(f"Error: {problem}")
    return result if _is_json(result.details) else replace(result, details=_as_json(result.details))


def _is_block(block: object) -> bool:
    match block:
        case TextContent() | ImageContent():
            return all(isinstance(getattr(block, name), str) for name in block.__match_args__)
        case _:
            return False


def _is_json(details: JsonValue) -> bool:
    try:
        json.dumps(details, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _as_json(item: JsonValue, depth: int = 0) -> JsonValue:
    if depth > MAX_DETAILS_DEPTH:
        return "…"
    match item:
        case None | bool() | int() | str():
            return item
        case float():
            return item if isfinite(item) else None
        case Mapping():
            return {str(name): _as_json(each, depth + 1) for name, each in item.items()}
        case list() | tuple() | AbstractSet():
            return [_as_json(each, depth + 1) for each in item]
        case _:
            return str(item)
