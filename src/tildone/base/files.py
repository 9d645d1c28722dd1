"""Atomic replacement of files.

The content is written to a temporary file in the same folder, flushed to disk, and renamed over the old file. Readers
see either the old content or the new, never a part, even after a crash. Every replacement of a file in tildone ends in
`publish`.
"""

from __future__ import annotations

import os
import stat
import sys

from tildone.base import TildoneError
from tildone.base.private import PRIVATE_FILE, SHARED_FILE, open_private, open_shared

STREAM = "-"
"""Standard input or output, as the name of a file."""


def replace_file(
    path: str,
    data: bytes,
    *,
    like: os.stat_result | None = None,
    mode: int = PRIVATE_FILE,
    durable: bool = True,
    folder: int | None = None,
) -> None:
    """Make `data` the content of the file at `path`, which need not exist; its folder must exist.

    The file gets the permissions and, if allowed, the owner of `like`; without `like`, it is private, or with the mode
    SHARED_FILE shared (see `tildone.base.private`). Without `durable`, there is no fsync: the replacement is atomic for
    readers, but a power failure may undo it. With `folder`, the descriptor of an open folder, `path` is a name in it.
    Raises OSError if it cannot be written; the file is unchanged.
    """
    draft = os.path.join(os.path.dirname(path), f".tildone-{os.urandom(6).hex()}.tmp")
    try:
        write_new(draft, data, like=like, mode=mode, durable=durable, folder=folder)
        publish(draft, path, durable=durable, folder=folder)
    except BaseException:
        remove_if_there(draft, folder)
        raise


def write_new(
    path: str,
    data: bytes,
    *,
    like: os.stat_result | None = None,
    mode: int = PRIVATE_FILE,
    durable: bool = True,
    folder: int | None = None,
) -> None:
    """Create a file that does not exist yet; the options are those of `replace_file`.

    Raises OSError if it exists, or cannot be written; in the latter case, a part of it may be left.
    """
    make = open_shared if mode == SHARED_FILE else open_private
    file = make(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder)
    try:
        if like is not None:
            _copy_owner_and_mode(file, path, like)
        write_all(file, data)
        if durable:
            os.fsync(file)
    finally:
        os.close(file)


def publish(draft: str, path: str, *, durable: bool = True, folder: int | None = None) -> None:
    """Rename a finished file to `path`, replacing what is there; if `durable`, on disk on return. Raises OSError."""
    os.replace(draft, path, src_dir_fd=folder, dst_dir_fd=folder)
    if durable:
        sync_folder(path, folder)


def write_all(file: int, data: bytes) -> None:
    """Write all of `data` to an open file. A single `os.write` may write only a part."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def remove_if_there(path: str, folder: int | None = None) -> None:
    """Remove a file, if it exists; `folder` as in `replace_file`."""
    try:
        os.unlink(path, dir_fd=folder)
    except FileNotFoundError:
        return


def sync_folder(path: str, folder: int | None = None) -> None:
    """Flush the folder entry of the file at `path` to disk. Does nothing on Windows, which does not need it."""
    if sys.platform == "win32":
        return
    try:
        readable = os.open(os.path.dirname(path) or ".", os.O_RDONLY, dir_fd=folder)
    except PermissionError:
        # A folder may be writable but not readable; then it cannot be flushed.
        return
    try:
        os.fsync(readable)
    finally:
        os.close(readable)


def read_text(path: str) -> str | None:
    """Return the text of a file: empty if there is none, None if it is not UTF-8. Raises TildoneError if unreadable."""
    # A device or a pipe has no content to lose, and reading it may block forever.
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise TildoneError(f"could not read {path}: {error.strerror or error}") from error


def write_text(path: str, text: str, *, mode: int = PRIVATE_FILE) -> None:
    """Replace the content of a file atomically. If it is a symbolic link, its target is replaced.

    A new file has `mode`, as in `replace_file`. Raises TildoneError if it cannot be written.
    """
    data = text.encode()
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with os.fdopen(open_shared(path, os.O_WRONLY), "wb") as device:
                device.write(data)
            return
        target = os.path.realpath(path)
        replace_file(target, data, like=os.stat(target) if os.path.exists(target) else None, mode=mode)
    except OSError as error:
        raise TildoneError(f"could not write {path}: {error.strerror or error}") from error


def _copy_owner_and_mode(file: int, path: str, like: os.stat_result) -> None:
    # The owner comes first, because changing it clears some bits of the mode.
    if sys.platform != "win32":
        _try_chown(file, like)
        os.fchmod(file, stat.S_IMODE(like.st_mode))
    else:
        os.chmod(path, stat.S_IMODE(like.st_mode))


def _try_chown(file: int, like: os.stat_result) -> None:
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError:
        # Only root may change the owner of a file.
        return
