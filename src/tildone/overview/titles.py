"""Titles of sessions: what a list shows instead of a path or an id."""

from __future__ import annotations

import os

from tildone.agents.subagents import parent_session
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.log.tree import SessionInfo

MAX_TITLE_CHARACTERS = 48
MIN_ID_CHARACTERS = 8
SHORT_ID_CHARACTERS = 8


def title_of(info: SessionInfo, plan: Plan) -> str:
    """The name of a project's folder, with the agent if the session is an agent's own; else a name or a text.

    A session whose name is an id is titled after its conversation's first prompt, or else its first task.
    """
    name = info.name
    parent = parent_session(name)
    if parent:
        subagent = name[len(parent) :].rpartition(":")[2][:SHORT_ID_CHARACTERS]
        return f"{title_of(replace(info, name=parent), plan)} (subagent {subagent})"
    if os.path.isabs(name):
        path, _, agent = name.rpartition("#")
        if not path or os.sep in agent:
            path, agent = name, ""
        project = os.path.basename(path.rstrip(os.sep)) or path
        return f"{project} ({_short_agent(agent)})" if agent else project
    if not is_id(name):
        return name
    text = info.title or next((task.text for task in plan.tasks), "")
    return _clipped(text) or name[:SHORT_ID_CHARACTERS]


def _short_agent(agent: str) -> str:
    """An agent's identity with its conversation's id shortened: `claude 1a2b3c4d`."""
    integration, _, own = agent.partition(":")
    return f"{integration} {own[:SHORT_ID_CHARACTERS]}".rstrip()


def is_id(name: str) -> bool:
    """Whether a name is an id that a program made: long, hexadecimal, and with a digit in it."""
    digits = name.replace("-", "").lower()
    is_hexadecimal = bool(digits) and not digits.strip("0123456789abcdef")
    return len(name) >= MIN_ID_CHARACTERS and is_hexadecimal and any(each.isdecimal() for each in digits)


def _clipped(text: str) -> str:
    line = printable(text.strip().partition("\n")[0])
    return line if len(line) <= MAX_TITLE_CHARACTERS else f"{line[: MAX_TITLE_CHARACTERS - 1]}…"
