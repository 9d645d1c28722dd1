"""Titles of sessions: what a list shows instead of a path or an id."""

from __future__ import annotations

import os

from tildone.agents.subagents import parent_session
from tildone.errors import StoreDamaged, UsageError
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.log.store import Store
    from tildone.log.tree import SessionInfo

MAX_TITLE_CHARACTERS = 48
MIN_ID_CHARACTERS = 8
SHORT_ID_CHARACTERS = 8
MAX_LISTED = 3
MIN_PREFIX_CHARACTERS = 4
"""The beginning of a name or a title means a session if it has this many characters."""


@value
class TitledSession:
    """A session in a list, with its plan and its title."""

    info: SessionInfo
    plan: Plan
    title: str

    @property
    def short_name(self) -> str:
        """The name to show beside the title: an id is shortened; empty if the title says it all."""
        name = self.info.name
        shown = name[:SHORT_ID_CHARACTERS] if _is_id(name) else name
        return "" if shown == self.title else shown


def titled_sessions(store: Store, damaged: list[str] | None = None) -> list[TitledSession]:
    """The sessions of a store that can be read, the last changed first; `damaged` is told about the others."""
    found: list[TitledSession] = []
    for info in store.sessions():
        try:
            plan = latest_state(store.history(info.name)).plan
        except StoreDamaged as error:
            if damaged is not None:
                damaged.append(f"session {info.name!r}: {error}")
        else:
            found.append(TitledSession(info, plan, title_of(info, plan)))
    return found


def session_meant(given: str, store: Store) -> str:
    """The name of the session that a person means: by its name, its title, or the beginning of either.

    If no session is meant, `given` names a new one.

    Raises:
        UsageError: several sessions may be meant.
    """
    word = given.casefold()
    found = titled_sessions(store)
    for matches in (
        [each for each in found if each.info.name == given],
        [each for each in found if each.title.casefold() == word],
        [each for each in found if _begins(each, word) and len(word) >= MIN_PREFIX_CHARACTERS],
    ):
        if len(matches) > 1:
            names = "; ".join(printable(each.info.name) for each in matches[:MAX_LISTED])
            more = f" and {len(matches) - MAX_LISTED} more" if len(matches) > MAX_LISTED else ""
            raise UsageError(f"--session {given!r} may mean several sessions: {names}{more}; give more of the name")
        if matches:
            return matches[0].info.name
    return given


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
    if not _is_id(name):
        return name
    text = info.title or next((task.text for task in plan.tasks), "")
    return _clipped(text) or name[:SHORT_ID_CHARACTERS]


def _begins(session: TitledSession, word: str) -> bool:
    return session.info.name.casefold().startswith(word) or session.title.casefold().startswith(word)


def _short_agent(agent: str) -> str:
    """An agent's identity with its conversation's id shortened: `claude 1a2b3c4d`."""
    integration, _, own = agent.partition(":")
    return f"{integration} {own[:SHORT_ID_CHARACTERS]}".rstrip()


def _is_id(name: str) -> bool:
    """Whether a name is an id that a program made: long, hexadecimal, and with a digit in it."""
    digits = name.replace("-", "").lower()
    is_hexadecimal = bool(digits) and not digits.strip("0123456789abcdef")
    return len(name) >= MIN_ID_CHARACTERS and is_hexadecimal and any(each.isdecimal() for each in digits)


def _clipped(text: str) -> str:
    line = printable(text.strip().partition("\n")[0])
    return line if len(line) <= MAX_TITLE_CHARACTERS else f"{line[: MAX_TITLE_CHARACTERS - 1]}…"
