"""The pages of the board: one row each, which the server routes and the browser draws."""

from __future__ import annotations

from typing import NamedTuple

from tildone.plan.model import WORD_FIELDS, WordField


class BoardPage(NamedTuple):
    """An address, and the file below `static/` whose function `page` draws it.

    A page with a `name` and an `icon` is in the navigation; `key` opens it after `g`. One that is `only_with` a part
    of the store is there once `/api/needs` says that the store has this part.
    """

    path: str
    module: str
    name: str = ""
    icon: str = ""
    key: str = ""
    only_with: str = ""


PAGES = (
    BoardPage("/", "overview.js", "Sessions", "rows", "s"),
    BoardPage("/s/{key}", "session.js"),
    BoardPage("/s/{key}/log", "log.js"),
    BoardPage("/s/{key}/stats", "stats.js"),
    BoardPage("/fleet", "fleet.js", "Fleet", "fleet", "f", only_with="fleet"),
    BoardPage("/stats", "stats.js", "Stats", "stats", "t"),
)
"""The first one is shown at every address that is in no row."""


def word_fields() -> list[dict[str, str]]:
    """Return the fields of tasks that are words, as the browser reads them."""
    return [
        {"name": name} | {fact: getattr(field, fact) for fact in WordField.__match_args__}
        for name, field in WORD_FIELDS.items()
    ]
