"""Reads whole files and replaces them atomically, preserving bytes that are not text."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
from weakref import WeakValueDictionary

from tildone.host.tools.resolved_files import open_resolved, replace_resolved
from tildone.host.tools.tool_failure import ToolFailure, os_failure
from tildone.kit.formatting import format_size
from tildone.value import value

MAX_FILE_BYTES = 50_000_000
"""The size of the largest file that is read."""

# UTF-32 first: its byte order marks begin with those of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_BYTES = 8000
_CONTROLS = bytes(set(range(0x20)) - set(b"\a\b\t\n\f\r\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE = 0.1


@value
class Encoding:
    """The encoding of a file: its byte order mark, if any, and the codec of the rest."""

    bom: bytes
    name: str

    def decode(self, data: bytes) -> str:
        """Return the text; undecodable bytes become surrogates, from which `encode` restores them."""
        return data[len(self.bom) :].decode(self.name, self._error_handler)

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.name, self._error_handler)

    @property
    def _error_handler(self) -> str:
        return "surrogateescape" if self.name == "utf-8" else "surrogatepass"


def encoding_of(data: bytes) -> Encoding:
    """Return the encoding that the byte order mark indicates, or UTF-8 if there is none."""
    return next(
        (Encoding(bom, name) for bom, name in _BYTE_ORDER_MARKS if data.startswith(bom)), Encoding(b"", "utf-8")
    )


def is_binary(data: bytes) -> bool:
    """Return whether the first bytes of a file do not look like text."""
    encoding = encoding_of(data)
    if encoding.name != "utf-8":
        return False
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return b"\0" in sample or controls > len(sample) * _MAX_CONTROL_SHARE


def read_file(path: str, shown: str) -> bytes:
    """Return all bytes of the file at a resolved path.

    Raises:
        ToolFailure: it is not a regular file, is too large, or cannot be read.
    """
    try:
        with open_resolved(path) as descriptor:
            return read_descriptor(descriptor, shown)
    except OSError as error:
        raise os_failure(shown, error) from error


def read_descriptor(descriptor: int, shown: str) -> bytes:
    """Return all bytes of an open file.

    Raises:
        ToolFailure: it is not a regular file, or is too large.
        OSError: it cannot be read.
    """
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise ToolFailure(f"{shown} is not a regular file")
    if about.st_size > MAX_FILE_BYTES:
        raise ToolFailure(
            f"{shown} has {format_size(about.st_size)}; look at parts of it with bash (sed -n, grep, tail)"
        )
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def replace_file(path: str, data: bytes, shown: str) -> None:
    """Create or replace the file at a resolved path atomically; an existing one keeps its mode and owner.

    Raises:
        ToolFailure: it cannot be written.
    """
    try:
        replace_resolved(path, data, shown)
    except OSError as error:
        raise os_failure(shown, error) from error


class FileLocks:
    """One lock per path, which exists as long as it is in use."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, path: str) -> asyncio.Lock:
        return self._locks.setdefault(path, asyncio.Lock())
