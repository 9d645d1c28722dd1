"""Parse and write JSON with the C functions of the standard library, without importing `json`.

Importing `json` takes longer than a hook takes to run, because it imports `re`. Code that hooks do not load uses
`parse_strictly`, whose errors say where a text is not JSON.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_encoder, make_scanner

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    R = TypeVar("R")

    FieldTypes = Mapping[str, type | tuple[type, ...]]


WHITESPACE = " \t\n\r"

quoted = encode_basestring_ascii
"""Return a text as a JSON string, in ASCII."""


class _Defaults:
    """The settings that the scanner reads from its context."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(lambda _: None)


_scan = make_scanner(_Defaults())  # type: ignore[arg-type]  # the stub expects a JSONDecoder


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is not a JSON type")


# The arguments: no check for circular values, which ours never are and which would take a third of the time; no
# indentation; no white space; keys in their order; keys of other types are refused; NaN is allowed.
_encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, True)  # noqa: FBT003  positional


def dump(value: object) -> str:
    """Return a value as JSON text, in ASCII and without white space.

    Raises TypeError if the value has a type that JSON does not have.
    """
    return quoted(value) if isinstance(value, str) else "".join(_encode(value, 0))


def parse(text: str) -> Any:
    """Return the value of a JSON text. NaN and Infinity become None. Raises ValueError if the text is not JSON."""
    begin = len(text) - len(text.lstrip(WHITESPACE))
    try:
        value, end = _scan(text, begin)
    # The scanner raises `json.JSONDecodeError`, or a SystemError if it cannot import it.
    except (StopIteration, RecursionError, SystemError, ValueError) as error:
        raise ValueError("this is not JSON") from error
    if text[end:].strip(WHITESPACE):
        raise ValueError("this is not JSON")
    return value


def parse_strictly(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError if the text is not JSON; the message says where."""
    # Late, because hooks decode events only.
    import json

    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def pretty(value: object) -> str:
    """Return a value as indented JSON for people, with non-ASCII letters unescaped.

    Unpaired surrogates stay escaped, so that the text can be encoded as UTF-8.
    """
    # Late, because few commands print JSON for people.
    import json
    import re

    text = json.dumps(value, indent=2, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def decode_record(kind: Callable[..., R], types: FieldTypes, text: object) -> R | None:
    """Return the record of a JSON text; None if the text is something else, as only a damaged store has it."""
    try:
        found = parse(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    given = ((name, found[name]) for name in types if found.get(name) is not None)
    fields = {name: tuple(map(str, each)) if isinstance(each, list) else each for name, each in given}
    try:
        return kind(**fields) if all(isinstance(fields[name], types[name]) for name in fields) else None
    except TypeError:
        # A field without a default is missing.
        return None
