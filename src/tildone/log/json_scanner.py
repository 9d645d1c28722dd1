"""JSON read and written by the same scanner as the standard library's, without the packages that it comes with.

Those take longer to load than a hook takes to run; everything that is not on a hook's way uses the codec.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_scanner

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SPACE = " \t\n\r"

quoted = encode_basestring_ascii
"""A text as JSON writes it, in ASCII."""


class _Usual:
    """How the scanner is to go about it."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(lambda _: None)


_scan = make_scanner(_Usual())  # type: ignore[arg-type]  # the stub asks for the scanner itself


def parse(text: str) -> Any:
    """The value that a JSON text stands for. What is no number, where one is meant, is nothing.

    Raises:
        ValueError: it is not JSON.
    """
    begin = len(text) - len(text.lstrip(SPACE))
    try:
        found, end = _scan(text, begin)
    # The scanner means to raise an error of the package's, which it does not load: that becomes a SystemError.
    except (StopIteration, RecursionError, SystemError, ValueError) as error:
        raise ValueError("this is not JSON") from error
    if text[end:].strip(SPACE):
        raise ValueError("this is not JSON")
    return found
