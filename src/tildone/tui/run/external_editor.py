"""Files that the person opens in their editor, and texts that they read in $PAGER."""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import suppress


def existing_file(path: str, cwd: str) -> str | None:
    """Return the absolute path of a file, which no editor takes for an option; None if there is no such file."""
    absolute = os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    return absolute if "\0" not in path and os.path.isfile(absolute) else None


def page_text(text: str) -> None:
    """Show a text in $PAGER, else in `less`. The terminal is the pager's."""
    with suppress(OSError, ValueError):
        pager = shlex.split(os.environ.get("PAGER") or "less")
        subprocess.run(pager, input=text.encode("utf-8", "replace"), check=False)  # noqa: S603  the person chose the pager
