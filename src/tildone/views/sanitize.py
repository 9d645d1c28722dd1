"""The one place where text is made harmless for whoever reads it.

Task text is data that a model wrote. Stored, it stays as it was written; shown, it must not be able to pass for
what stands around it.
"""

from __future__ import annotations

import re

LINE_BREAK_SYMBOL = "⏎"

_BREAKS = str.maketrans(dict.fromkeys("\n\v\f\r\x85\u2028\u2029", LINE_BREAK_SYMBOL))
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

# Patterns are text that `re` compiles when it first needs them: a hook, which draws nothing, never pays for them.
_REMINDER = r"(?i)<(?=[^\w<>]*system[^\w<>]*_?reminder)"

# Emoji, and the letters of scripts whose spelling needs joiners (Arabic to Sinhala, Burmese, Khmer, Mongolian).
_EMOJI = "\xa9\xae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINABLE = f"{_EMOJI}\u0600-\u061b\u061d-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# What may stay, because it changes one sign and hides nothing: the flag of a country's part, one variation selector
# after what it varies, one joiner between what it joins.
_IN_PLACE = (
    "(?P<in_place>"
    "\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f"
    f"|(?<=[{_JOINABLE}{_IDEOGRAPHS}0-9#*])[\ufe00-\ufe0f]"
    f"|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
    f"|(?:(?<=[{_JOINABLE}])|(?<=[{_EMOJI}]\ufe0f))[\u200c\u200d](?=[{_JOINABLE}])"
    ")"
)
# Controls, separators, half surrogate pairs, and all that Unicode calls default-ignorable: bidi marks and overrides,
# zero-width characters, fillers, variation selectors, tags.
_UNSEEN = (
    f"{_IN_PLACE}|[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Those of them that Python calls printable.
_SLY = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0").union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


def single_line(text: str) -> str:
    """For a list that a model reads: a line break in the text cannot begin a line of its own."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_BREAKS)


def escape_reminder_tags(text: str) -> str:
    """For text inside a `<system-reminder>`: it can neither close one nor open another. Lines are kept."""
    return re.sub(_REMINDER, "‹", text)


def printable(text: str) -> str:
    """For a screen: one line, and every character that would move, hide or reorder others is shown instead."""
    line = single_line(text)
    # Most text needs no more than this look, and compiling the pattern takes longer than showing a plan.
    if line.isprintable() and _SLY.isdisjoint(line):
        return line
    return re.sub(_UNSEEN, _picture, line)


def printable_lines(text: str) -> list[str]:
    """For a screen, where lines are meant to be lines: each of them as `printable` shows it."""
    return [printable(line) for line in text.replace("\r\n", "\n").split("\n")]


def html(text: str) -> str:
    """For a page, between tags or inside a quoted attribute: what `printable` shows, and no markup."""
    return printable(text).translate(_HTML)


def _picture(match: re.Match[str]) -> str:
    if match["in_place"]:
        return match[0]
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004  the control pictures block mirrors C0
        return chr(0x2400 + code)
    if code == 0x7F:  # noqa: PLR2004  DEL has a picture of its own
        return "␡"
    return f"<U+{code:04X}>"
