"""Opens the board in the person's browser, without the link on any command line.

Command lines are visible to all users of a machine. So the browser is given a private file, which sends it on; and the
token is in the fragment of the address, which no request, log or Referer contains.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from html import escape

from tildone.files.private import make_private_folder, open_private

OPENERS = ("xdg-open", "wslview", "sensible-browser")
FILE = "tildone-board.html"


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser can be opened for the person: not over SSH, and not without a screen."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    has_screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    return has_screen and _opener() is not None


def open_privately(link: str) -> None:
    """Open a link in the browser, by way of a private file. Failure is harmless: the link is printed, too."""
    try:
        path = _write_page(link)
        if sys.platform == "win32":
            os.startfile(path)  # noqa: S606  the same
            return
        command = "open" if sys.platform == "darwin" else _opener() or ""
        subprocess.Popen(  # noqa: S603  our own file, with the system's opener
            [command, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return


def _write_page(link: str) -> str:
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.mkdtemp(prefix="tildone-")
    make_private_folder(folder)
    path = os.path.join(folder, FILE)
    if os.path.lexists(path):
        os.remove(path)
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(link)}">\n'
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(page)
    return path


def _opener() -> str | None:
    return next((found for name in OPENERS if (found := shutil.which(name))), None)
