"""A request that was let in, as the functions of the API see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.value import value
from tildone.web.access.logins import Visitor
from tildone.web.board import Board
from tildone.web.http.answers import Problem


@value
class Visit:
    """Who asks for what. `key` is that of a session, `item` another part of the path, `head` what `If-Match` names."""

    board: Board
    visitor: Visitor
    query: Mapping[str, str]
    body: Mapping[str, Any]
    key: str = ""
    item: str = ""
    head: str | None = None
    known: str = ""

    def text(self, name: str, *, required: bool = True) -> str:
        """Return a text in the body.

        Raises:
            Problem: it is missing, or no text.
        """
        found = self.body.get(name, None if required else "")
        if not isinstance(found, str):
            raise Problem(400, f"{name!r} has to be a text.")
        return found

    def number(self, name: str, default: int, most: int) -> int:
        """Return a number in the query, at most `most`.

        Raises:
            Problem: it is no number.
        """
        given = self.query.get(name, "")
        if not given:
            return default
        if not given.isdecimal() or len(given) > 15:  # noqa: PLR2004  longer numbers are no times
            raise Problem(400, f"{name} has to be a number.")
        return min(int(given), most)

    @property
    def seen_head(self) -> str:
        """The head that the person saw.

        Raises:
            Problem: the request does not name it.
        """
        if self.head is None:
            raise Problem(428, "The request does not say which plan you saw.", 'Send If-Match: "HEAD".')
        return self.head
