"""Sanitize untrusted text for display: the only module that decides which characters may be shown.

Task text is written by a model. It is stored unchanged; when it is shown, it must not be able to imitate the text
around it, whether by line breaks, terminal escapes, bidi overrides or invisible characters.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

LINE_BREAK_SYMBOL = "⏎"

_BREAKS = str.maketrans(dict.fromkeys("\n\v\f\r\x85\u2028\u2029", LINE_BREAK_SYMBOL))

# Patterns are strings, and `re` is imported where it is used: hooks rarely print text that needs it.
_REMINDER = r"(?i)<(?=[^\w<>]*system[^\w<>]*_?reminder)"

# Emoji, and the letters of scripts whose spelling needs joiners (Arabic to Sinhala, Burmese, Khmer, Mongolian).
_EMOJI = "\xa9\xae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINABLE = f"{_EMOJI}\u0600-\u061b\u061d-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Allowed, because each modifies one visible character and hides nothing: subdivision flags, one variation selector
# after a character that has variants, one joiner between two characters that can be joined.
_ALLOWED = (
    "(?P<allowed>"
    "\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f"
    f"|(?<=[{_JOINABLE}{_IDEOGRAPHS}0-9#*])[\ufe00-\ufe0f]"
    f"|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
    f"|(?:(?<=[{_JOINABLE}])|(?<=[{_EMOJI}]\ufe0f))[\u200c\u200d](?=[{_JOINABLE}])"
    ")"
)
# Controls, separators, lone surrogates, and every default-ignorable code point: bidi marks and overrides, zero-width
# characters, fillers, variation selectors, tags.
_UNPRINTABLE = (
    f"{_ALLOWED}|[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The members of `_UNPRINTABLE` that `str.isprintable` accepts.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0").union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


def single_line(text: str) -> str:
    """Replace line breaks by a symbol, so that the text cannot start a line of its own in a list that a model reads."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_BREAKS)


def escape_reminder_tags(text: str) -> str:
    """Defuse tags in text inside a `<system-reminder>`: it can neither close one nor open another. Lines are kept."""
    if "<" not in text:
        return text
    import re  # noqa: PLC0415  see `_REMINDER`

    return re.sub(_REMINDER, "‹", text)


def printable(text: str) -> str:
    """Return one line for a screen: symbols replace characters that would move, hide or reorder others."""
    line = single_line(text)
    # Fast path for ordinary text: compiling the pattern takes longer than showing a plan.
    if line.isprintable() and _INVISIBLE.isdisjoint(line):
        return line
    import re  # noqa: PLC0415  see `_REMINDER`

    return re.sub(_UNPRINTABLE, _symbol, line)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text for a screen, each made `printable`."""
    return [printable(line) for line in text.replace("\r\n", "\n").split("\n")]


def _symbol(match: re.Match[str]) -> str:
    if match["allowed"]:
        return match[0]
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004  the control pictures block mirrors C0
        return chr(0x2400 + code)
    if code == 0x7F:  # noqa: PLR2004  DEL has a picture of its own
        return "␡"
    return f"<U+{code:04X}>"
