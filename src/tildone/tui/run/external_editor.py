"""Lets the person edit a text or open a file in $VISUAL or $EDITOR, and read a text in $PAGER."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from contextlib import suppress


def has_editor() -> bool:
    """Return whether the person has named an editor."""
    return bool(_editor())


def edit_text(text: str) -> str | None:
    """Return the text as it was saved; None if there is no editor or it failed. The terminal is the editor's."""
    editor = _editor()
    if not editor:
        return None
    handle, path = tempfile.mkstemp(prefix="tildone-", suffix=".md")
    try:
        with open(handle, "wb") as file:
            file.write(text.encode())
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode  # noqa: S603  the person chose the editor
        with open(path, "rb") as file:
            return None if code else file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    finally:
        os.remove(path)


def existing_file(path: str, cwd: str) -> str | None:
    """Return the absolute path of a file, which no editor takes for an option; None if there is no such file."""
    absolute = os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    return absolute if "\0" not in path and os.path.isfile(absolute) else None


def open_file(path: str) -> bool:
    """Open a file in the editor, and return whether that has worked. The terminal is the editor's."""
    try:
        return not subprocess.run([*shlex.split(_editor()), path], check=False).returncode  # noqa: S603  the person chose the editor
    except (OSError, ValueError):
        return False


def page_text(text: str) -> None:
    """Show a text in $PAGER, else in `less`. The terminal is the pager's."""
    pager = shlex.split(os.environ.get("PAGER") or "less")
    with suppress(OSError, ValueError):
        subprocess.run(pager, input=text.encode("utf-8", "replace"), check=False)  # noqa: S603  the person chose the pager


def _editor() -> str:
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
