"""Finding sessions by their titles."""

from __future__ import annotations

from tildone.errors import StoreDamaged, UsageError
from tildone.log.state import latest_state
from tildone.overview.titles import SHORT_ID_CHARACTERS, is_id, title_of
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.log.store import Store
    from tildone.log.tree import SessionInfo

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
        shown = name[:SHORT_ID_CHARACTERS] if is_id(name) else name
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


def _begins(session: TitledSession, word: str) -> bool:
    return session.info.name.casefold().startswith(word) or session.title.casefold().startswith(word)
