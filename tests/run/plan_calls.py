"""Calls of the tools of each dialect, and how they are drawn: the call, its sign, and the lines below it."""

import json
import re
from pathlib import Path

from tests.host.models.model_server import Turn

Drawn = tuple[str, str, list[str]]
"""The call, `✓` or `✗`, and its result. A result that replaces its call has a sign of its own, and no other one."""


def call(name: str, **args: object) -> Turn:
    return {"tool": name, "args": args}


def _read(section: str) -> list[tuple[Turn, Drawn]]:
    calls = []
    for tool, args, drawn in re.findall(r"^> (\w+) (.*)\n\n((?:    .*\n)+)", section, re.MULTILINE):
        header, *lines = (line[4:] for line in drawn.splitlines())
        sign = header[-1] if header.endswith((" ✓", " ✗")) else ""
        calls.append((call(tool, **json.loads(args)), (header.removesuffix(f" {sign}"), sign, lines)))
    return calls


_PAGE = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
PLAN_CALLS = {name: _read(section) for name, _, section in (part.partition("\n") for part in _PAGE.split("\n# ")[1:])}
OUT_OF_RANGE = "Error: indices [9] out of range (0 to 2)"
NUMBERS = [f"Task {number}" for number in range(1, 11)]
"""More tasks than are shown after each call in the dialect `brief`."""
