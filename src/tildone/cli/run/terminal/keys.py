"""Decodes the bytes of a terminal into keys and text."""

from __future__ import annotations

import codecs
import re

from tildone.kit.keys import DEFAULT_BINDINGS, EXPAND, KeyBindings
from tildone.value import value

_ACTIONS = (EXPAND, "app.interrupt", "app.clear", "app.exit", "app.suspend", "tui.input.submit")
SCREEN_KEYS: KeyBindings = {action: DEFAULT_BINDINGS[action] for action in _ACTIONS}
"""The keys that do something in a run at a terminal."""

PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"

_SEQUENCES = {
    "\x1b[D": "left",
    "\x1bOD": "left",
    "\x1b[C": "right",
    "\x1bOC": "right",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\x1b[3~": "delete",
    "\x1b[1;5D": "word left",
    "\x1b[1;3D": "word left",
    "\x1bb": "word left",
    "\x1b[1;5C": "word right",
    "\x1b[1;3C": "word right",
    "\x1bf": "word right",
    "\x1b\x7f": "ctrl+w",
    "\x1b\x08": "ctrl+w",
}
_CONTROLS = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x01": "home",
    "\x05": "end",
    "\x02": "left",
    "\x06": "right",
    "\x03": "ctrl+c",
    "\x04": "ctrl+d",
    "\x0b": "ctrl+k",
    "\x0f": "ctrl+o",
    "\x15": "ctrl+u",
    "\x17": "ctrl+w",
    "\t": "tab",
    "\x1b": "escape",
}
# A paste, an escape sequence, a control character, or a run of text.
_PARTS = re.compile(
    "\x1b\\[200~(?P<paste>.*?)\x1b\\[201~"
    "|(?P<sequence>\x1b(?:\\[[0-?]*[ -/]*[@-~]|O[A-Z]|[^\x1b\\[O]))"
    "|(?P<control>[\x00-\x1f\x7f])"
    "|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)
_PASTE = "\x1b[200~"
_UNFINISHED = re.compile("\x1b\\[200~(?!.*\x1b\\[201~).*|\x1b(?:\\[[0-?]*[ -/]*|O)?$", re.DOTALL)


@value
class Key:
    """A named key; typed or pasted text has an empty name."""

    name: str
    text: str = ""
    pasted: bool = False


class Decoder:
    """An incremental decoder: an incomplete sequence is completed by later bytes.

    A lone escape character is the beginning of a sequence or the Escape key. If nothing follows soon, call `flush`.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._incomplete = ""

    @property
    def is_waiting(self) -> bool:
        """Whether a sequence is incomplete. A paste may take any time."""
        return bool(self._incomplete) and not self._incomplete.startswith(_PASTE)

    def feed(self, data: bytes) -> list[Key]:
        """Return the keys that are complete after these bytes."""
        text = self._incomplete + self._decode(data)
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        text, self._incomplete = text[:cut], text[cut:]
        return [key for part in _PARTS.finditer(text) if (key := _key(part)) is not None]

    def flush(self) -> list[Key]:
        """Return the Escape key if its character is all that has arrived; drop any other incomplete sequence."""
        if not self.is_waiting:
            return []
        text, self._incomplete = self._incomplete, ""
        return [Key("escape")] if text == "\x1b" else []


def _key(part: re.Match[str]) -> Key | None:
    match part.lastgroup:
        case "paste":
            return Key("", part["paste"].replace("\r\n", "\n").replace("\r", "\n"), pasted=True)
        case "sequence":
            name = _SEQUENCES.get(part["sequence"])
        case "control":
            name = _CONTROLS.get(part["control"])
        case _:
            return Key("", part["text"])
    return Key(name) if name else None
