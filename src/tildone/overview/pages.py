"""Pages of rows.

A cursor names the last row of a page by its place in the order, so that rows that come, go or move meanwhile neither
repeat nor hide others.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import NewType

from tildone.errors import UsageError, nearest
from tildone.log import codec
from tildone.overview.rows import SessionRow, SortKey
from tildone.value import value
from tildone.views.session_state import SessionWord

Cursor = NewType("Cursor", str)
"""Where a page ends: a text without meaning to others."""

SORTS: dict[str, Callable[[SessionRow], SortKey]] = {
    "activity": lambda row: row.sort_key,
    "updated": lambda row: (-row.updated, row.name),
    "created": lambda row: (-row.created, row.name),
    "title": lambda row: (row.title.casefold(), row.name),
}
"""The orders: what needs a person first; by the last change; by the first one; by title."""


@value
class RowPage:
    """Some rows, and the cursor to those after them; None if these are the last."""

    rows: tuple[SessionRow, ...] = ()
    after: Cursor | None = None


@value
class RowQuery:
    """Which rows are asked for. `query` are words that must all occur in the searched text of a row; case is ignored.

    If there are `words`, only rows of these states are returned.
    """

    words: Collection[SessionWord] = ()
    query: str = ""
    sort: str = "activity"
    after: Cursor | None = None
    limit: int = 60

    @property
    def sort_key(self) -> Callable[[SessionRow], SortKey]:
        """The order.

        Raises:
            UsageError: there is no such order.
        """
        if self.sort not in SORTS:
            raise UsageError(f"there is no order {self.sort!r}; {nearest(self.sort, tuple(SORTS))}")
        return SORTS[self.sort]


def page(ordered: Sequence[SessionRow], asked: RowQuery, searched: Callable[[str], str]) -> RowPage:
    """Return a page of rows that are in the order asked for; `searched` returns the searched text of a session.

    Raises:
        UsageError: the cursor is not one of this order.
    """
    key, wanted = asked.sort_key, asked.query.casefold().split()
    start = bisect_right(ordered, _decoded(asked.after, asked.sort), key=key) if asked.after is not None else 0
    found: list[SessionRow] = []
    for place in range(start, len(ordered)):
        row = ordered[place]
        if asked.words and row.word not in asked.words:
            continue
        if wanted and not all(word in _text(row, searched) for word in wanted):
            continue
        if len(found) == asked.limit:
            return RowPage(tuple(found), _encoded(key(found[-1]), asked.sort) if found else asked.after)
        found.append(row)
    return RowPage(tuple(found))


def _text(row: SessionRow, searched: Callable[[str], str]) -> str:
    agents = " ".join(agent.agent for agent in row.agents)
    return f"{searched(row.name)}\n{row.word.value}\n{agents}"


def _encoded(key: SortKey, sort: str) -> Cursor:
    return Cursor(urlsafe_b64encode(codec.dump([sort, *key]).encode()).decode())


def _decoded(cursor: Cursor, sort: str) -> SortKey:
    try:
        found = codec.parse_strictly(urlsafe_b64decode(cursor.encode()).decode())
    except ValueError as error:
        raise UsageError("the cursor is not valid; begin with the first page") from error
    example = [sort, *(SORTS[sort](_EXAMPLE))]
    if not isinstance(found, list) or list(map(type, found)) != list(map(type, example)) or found[0] != sort:
        raise UsageError("the cursor belongs to another order; begin with the first page")
    return tuple(found[1:])


_EXAMPLE = SessionRow("", "", None, SessionWord.EMPTY)
