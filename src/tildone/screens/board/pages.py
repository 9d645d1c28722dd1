"""The pages of the board: one row each, which the server routes and the browser draws, and the files of `static/`.

A page about what cannot be shown needs neither a login nor a script.
"""

import hashlib
import os
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from tildone.agents.integrations import all_integrations
from tildone.base import replace, value
from tildone.plan.lists import RunGroup
from tildone.plan.model import WORD_FIELDS, WordField
from tildone.plan.text.state import STATUS_WORDS, SessionWord, run_word


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
    BoardPage("/results", "results.js", "Results", "done", "r", only_with="fleet"),
    BoardPage("/stats", "stats.js", "Stats", "stats", "t"),
)
"""Other addresses have no page."""


def word_fields() -> list[dict[str, str]]:
    """Return the fields of tasks that are words, as the browser reads them."""
    return [
        {"name": name} | {fact: getattr(field, fact) for fact in WordField.__match_args__}
        for name, field in WORD_FIELDS.items()
    ]


def page_words() -> dict[str, object]:
    """Return the words for states and coding agents, as the browser reads them; sessions' are in the order of lists."""
    return {
        "tasks": {status.value: word for status, word in STATUS_WORDS.items()},
        "sessions": [word.value for word in SessionWord],
        "runs": {group.value: run_word(group.value) for group in RunGroup},
        "agents": {each.name: each.title for each in all_integrations()} | {"run": "tildone run"},
    }


FOLDER = os.path.join(os.path.dirname(__file__), "static")
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png"}
FIRST_STYLES = ("tokens.css", "base.css")
START, THEME, ICON = "app.js", "theme.js", "icon.svg"
DIGITS = 12

_PAGE = """<!doctype html>
<html lang="en" {attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>tildone</title>
{links}
<script type="module" src="{start}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The board needs JavaScript. In a terminal: tildone watch</noscript>
</body>
</html>
"""

_PROBLEM = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{error} · tildone</title>
{links}
</head>
<body>
<main id="main"><div class="empty"><h1>{error}</h1>{ways}</div></main>
</body>
</html>
"""


def problem_page(error: str, hint: str, home: str = "", links: str = "") -> str:
    """Return the page of an error: what is wrong, what to do, and the way to `home`, if there is one."""
    ways = f"<p>{escape(hint)}</p>" if hint else ""
    ways += f'<p><a class="btn" href="{escape(home)}">All sessions</a></p>' if home else ""
    return _PROBLEM.format(error=escape(error), ways=ways, links=links)


@value
class Asset:
    content: bytes
    media_type: str


class Assets:
    """The files below a folder. `version` changes with their content, so that browsers may keep them forever."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._files = _read(folder)
        self._files |= counted_icons(self._files[ICON])
        content = hashlib.sha256()
        for name in sorted(self._files):
            content.update(f"{name}\0{len(self._files[name].content)}\0".encode() + self._files[name].content)
        self.version = content.hexdigest()[:DIGITS]

    def get(self, version: str, name: str) -> Asset | None:
        return self._files.get(name) if version == self.version else None

    def page(self, base: str, attributes: Mapping[str, str]) -> str:
        """Return the HTML frame, which is the same for all addresses. The attributes are data of the root element."""
        modules = sorted(name for name in self._files if name.endswith(".js") and name != START)
        links = [*self._looks(base), *(f'<link rel="modulepreload" href="{self._at(base, name)}">' for name in modules)]
        shown = " ".join(f'data-{name}="{escape(text)}"' for name, text in attributes.items())
        return _PAGE.format(attributes=shown, links="\n".join(links), start=self._at(base, START))

    def problem(self, base: str, error: str, hint: str) -> str:
        """Return the page of an error in the looks of the others."""
        # The theme that a person has chosen is known to a script.
        links = [*self._looks(base), f'<script type="module" src="{self._at(base, THEME)}"></script>']
        return problem_page(error, hint, f"{base}/", "\n".join(links))

    def _looks(self, base: str) -> list[str]:
        css = sorted(name for name in self._files if name.endswith(".css"))
        styles = [*FIRST_STYLES, *(name for name in css if name not in FIRST_STYLES)]
        icon = f'<link rel="icon" type="image/svg+xml" href="{self._at(base, ICON)}">'
        return [icon, *(f'<link rel="stylesheet" href="{self._at(base, name)}">' for name in styles)]

    def _at(self, base: str, name: str) -> str:
        return escape(f"{base}/a/{self.version}/{name}")


MOST_COUNTED = 9


def counted_icons(icon: Asset) -> dict[str, Asset]:
    """Return the icon of a tab with a number, from 1 on; the last one says that there are more."""
    texts = [str(number) for number in range(1, MOST_COUNTED + 1)] + [f"{MOST_COUNTED}+"]
    return {
        f"icon-{place}.svg": replace(icon, content=icon.content.replace(b"</svg>", _BADGE.format(text).encode()))
        for place, text in enumerate(texts, 1)
    }


_BADGE = (
    '<circle cx="14.5" cy="14.5" r="7.5" fill="#8A5200"/><text x="14.5" y="18.5" fill="#FFFFFF" text-anchor="middle" '
    'font-family="sans-serif" font-size="11" font-weight="bold">{}</text></svg>'
)


def _read(folder: str) -> dict[str, Asset]:
    found: dict[str, Asset] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            media_type = TYPES.get(os.path.splitext(name)[1])
            path = os.path.join(place, name)
            if media_type is not None:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = Asset(file.read(), media_type)
    return found
