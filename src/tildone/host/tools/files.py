"""Files as the built-in tools read and write them: whole, without losing what they cannot show."""

from __future__ import annotations

import codecs
import os
import stat
from threading import Lock
from weakref import WeakValueDictionary

from tildone.files import atomic
from tildone.host.tools.tool_failure import ToolFailure, os_failure
from tildone.kit.formatting import format_size
from tildone.value import value

LARGEST = 50_000_000
"""How many bytes of a file are read; what is larger is for tools that go through it piece by piece."""

# The marks of UTF-32 begin like those of UTF-16, so they come first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 8000
_CONTROLS = bytes(set(range(0x20)) - set(b"\a\b\t\n\f\r\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.1


@value
class Encoding:
    """How text stands in a file: the mark at its beginning, if any, and what follows it."""

    mark: bytes
    name: str

    def exact(self, data: bytes) -> str:
        """The text, with a stand-in for every byte that is no text, from which `back` makes that byte again."""
        return data[len(self.mark) :].decode(self.name, self._stand_in)

    def back(self, text: str) -> bytes:
        """The bytes of a file that holds the text."""
        return self.mark + text.encode(self.name, self._stand_in)

    @property
    def _stand_in(self) -> str:
        return "surrogateescape" if self.name == "utf-8" else "surrogatepass"


def encoding_of(data: bytes) -> Encoding:
    """As the mark says; UTF-8 where there is none."""
    return next((Encoding(mark, name) for mark, name in _MARKS if data.startswith(mark)), Encoding(b"", "utf-8"))


def is_binary(data: bytes) -> bool:
    """Whether the beginning of a file is not like text."""
    encoding = encoding_of(data)
    if encoding.name != "utf-8":
        return False
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return b"\0" in sample or controls > len(sample) * _MOST_CONTROLS


def read_file(path: str, shown: str) -> bytes:
    """Everything in a file.

    Raises:
        Failed: it is no file, too large, or cannot be read.
    """
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise ToolFailure(f"{shown} is not a regular file")
        if about.st_size > LARGEST:
            raise ToolFailure(
                f"{shown} has {format_size(about.st_size)}; look at parts of it with bash (sed -n, grep, tail)"
            )
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise os_failure(shown, error) from error


def replace_file(path: str, data: bytes, shown: str) -> None:
    """Put the data where the file is or will be, all of it or nothing; a file keeps its mode and owner.

    Raises:
        Failed: it cannot be written.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        before = os.stat(path) if os.path.exists(path) else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolFailure(f"{shown} is not a regular file")
        if before is not None and not os.access(path, os.W_OK):
            raise ToolFailure(f"{shown} is read-only")
        atomic.replace_file(path, data, like=before)
    except OSError as error:
        raise os_failure(shown, error) from error


class FileLocks:
    """One lock for every path, for as long as somebody holds it."""

    def __init__(self) -> None:
        self._doors: WeakValueDictionary[str, Door] = WeakValueDictionary()

    def to(self, path: str) -> Door:
        """The one for this path."""
        return self._doors.setdefault(path, Door())


class Door:
    """Lets one thread at a time through."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
