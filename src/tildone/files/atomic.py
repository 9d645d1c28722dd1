"""Files written whole or not at all."""

from __future__ import annotations

import os
import stat

from tildone.errors import TildoneError


def held(path: str) -> str | None:
    """The text that is in a file now, empty if there is none; None if it is no text."""
    # A device or a pipe holds nothing that could be lost, and reading one may never end.
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise _unwritable(path, error) from error


def save(path: str, text: str) -> None:
    """Put a text into a file: all of it, or the file stays as it is. A link stays a link.

    Raises:
        TildoneError: it cannot be written.
    """
    data = text.encode()
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        target = os.path.realpath(path)
        draft = _draft_beside(target)
        try:
            _write(draft, data)
            if os.path.exists(target):
                os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(draft, target)
        except BaseException:
            _remove(draft)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _draft_beside(path: str) -> str:
    """A name in the same folder that nobody uses."""
    return os.path.join(os.path.dirname(path), f".tildone-{os.urandom(6).hex()}.tmp")


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def _unwritable(path: str, error: OSError) -> TildoneError:
    return TildoneError(f"could not write {path}: {error.strerror or error}")
