"""Questions to the person at the terminal."""

from __future__ import annotations

import os
import select
import sys


def line(prompt: str) -> str:
    """The line that is typed; empty when the input has ended.

    `input` would miss a Ctrl-C that comes between its prompt and its reading, and wait on.
    """
    print(prompt, end="", file=sys.stderr, flush=True)
    while os.name == "posix" and not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    return sys.stdin.readline()


def agreed(question: str) -> bool:
    """Whether the person says yes; anything else is a no."""
    return line(f"{question} [y/N] ").strip().lower() in ("y", "yes")
