"""Prompts for the person at the terminal."""

from __future__ import annotations

import os
import select
import sys


def read_line(prompt: str) -> str:
    """The line that the person types; empty at the end of the input.

    `input` would not notice a Ctrl-C between its prompt and its read, and keep waiting.
    """
    print(prompt, end="", file=sys.stderr, flush=True)
    while os.name == "posix" and not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    return sys.stdin.readline()


def confirm(question: str) -> bool:
    """Whether the person answers yes; any other answer is a no."""
    return read_line(f"{question} [y/N] ").strip().lower() in ("y", "yes")
