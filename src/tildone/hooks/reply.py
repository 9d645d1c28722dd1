"""What is said to a host, put into its own form."""

from __future__ import annotations

from tildone.hooks.hosts import EVENT, TEXT
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import escape_reminder_tags, printable_lines

if TYPE_CHECKING:
    from typing import Any

    from tildone.hooks.event import HookEvent

STOPS, ADDS, HALTS, TELLS = "keeps it going", "is added", "halts it", "is for the person"


@value
class HookReply:
    """Words, and what they are for."""

    what: str
    text: str


def can_say(heard: HookEvent, what: str) -> bool:
    """Whether the host has a place for such words at this moment."""
    return _template(heard, what) is not None


def phrased(heard: HookEvent, said: HookReply) -> str:
    """The words as the host reads them; empty where it has no place for them."""
    template = _template(heard, said.what)
    return "" if template is None else f"{codec.dump(_filled(template, harmless(said.text), heard.event))}\n"


def harmless(text: str) -> str:
    """Text that models and people read: it can neither move a terminal nor pass for what its host says around it."""
    shown = "\n".join(printable_lines(text))
    # Compiling a pattern is worth a look first.
    return escape_reminder_tags(shown) if "<" in shown else shown


def _template(heard: HookEvent, what: str) -> object:
    host = heard.host
    match what:
        case "keeps it going":
            return host.stops
        case "is added":
            return host.adds.get(heard.moment)
        case "halts it":
            return host.halts.get(heard.moment)
        case _:
            return host.tells


def _filled(template: object, text: str, event: str) -> Any:
    if isinstance(template, dict):
        return {name: _filled(held, text, event) for name, held in template.items()}
    return {TEXT: text, EVENT: event}.get(template, template) if isinstance(template, str) else template
