"""Sanitize untrusted text for display: the only module that decides which characters may be shown.

Task text is written by a model, or comes from a file that somebody checked in. It is stored unchanged. When it is
shown, to a person or to a model, it must not be able to imitate the text around it, whether by line breaks, terminal
escapes, bidi overrides, invisible characters or tags. There are four forms:

- `single_line`, for a text within a list: it cannot start a line of its own. The dialects build their lists with it.
- `safe_text`, for a whole text that a model reads: every shell applies it to what it hands over.
- `printable`, for one line on a screen or in a pipe.
- `escape_json`, for JSON that programs read: nothing is lost, but no such character is in it as itself.

Letters of every script, combining marks, and the joiners and selectors that emoji and some scripts are spelled with
are ordinary text and stay as they are.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.views.limits import ELLIPSIS, MIN_TEXT, clipped

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

LINE_BREAK_SYMBOL = "⏎"

_BREAKS = str.maketrans(dict.fromkeys("\n\v\f\r\x85\u2028\u2029", LINE_BREAK_SYMBOL))

# Patterns are strings, and `re` is imported where it is used: hooks rarely print text that needs it.
_FRAMES = (
    "system-(?:message|prompt|instruction|notification)",
    "hook-(?:context|prompt|output|result|feedback)",
    "user-(?:prompt|instruction|message|query)",
    "command-(?:name|message|args|contents)",
    "local-command",
    "environment-(?:context|details)",
    "task-notification",
    "persisted-output",
    "tool-(?:result|response|output|use|call|code)",
    "function-(?:call|result|response|output)",
    "antml",
    "invoke",
)
"""The names of the elements that coding agents put around text which is not the person's, and models around calls.

They are spelled with `-` or `_`. Names without either are types and placeholders in ordinary text (`List<ToolCall>`).
"""

# The one that tildone uses, too, in any spelling that a model might take for it.
_REMINDER = r"system(?:[^\w<>‹]|_)*reminder"

# The angle bracket of such a tag, and that of a special token of a chat format (`<|im_start|>`).
_TAG = (
    r"(?i)<(?=\|[\w./-]{1,40}\|>"
    rf"|[^\w<>!‹]*(?:{_REMINDER}|{'|'.join(_FRAMES).replace('-', '[-_]')})s?(?![^\W_]))"
)

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


def safe_text(text: str) -> str:
    """Return text for a model: its lines and tabs are kept, and nothing in it hides, reorders or imitates other text.

    A text that is in this form already is unchanged.
    """
    return _defused(visible(text))


def visible(text: str) -> str:
    """Return text with nothing in it that hides or reorders; its lines, tabs and tags are kept."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join([_visible(line, _symbol) for line in text.split("\n")])


def reminder(body: str) -> str:
    """Return a text as the element in which coding agents tell a model something beside the conversation.

    The body can neither close it nor open another one.
    """
    return f"<system-reminder>\n{_defused(body)}\n</system-reminder>"


def shown_text(text: str) -> str:
    """Return the text of a task as a model reads it: on one line, harmless, and not too long."""
    return clipped(safe_text(single_line(text)))


def shown_like(given: str) -> Callable[[str], str]:
    """Return a function to compare texts with one that a model gave: `shown_text`, or what a list has cut it to."""
    if len(given) < MIN_TEXT or not given.endswith(ELLIPSIS):
        return shown_text
    kept = given.removesuffix(ELLIPSIS)
    return lambda text: given if shown_text(text).startswith(kept) else shown_text(text)


def printable(text: str) -> str:
    """Return one line for a screen: symbols replace characters that would move, hide or reorder others."""
    line = single_line(text)
    return _defused(line if _is_visible(line) else _replaced(line, _symbol))


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text for a screen, each made `printable`."""
    return [printable(line) for line in text.replace("\r\n", "\n").split("\n")]


def escape_json(text: str) -> str:
    """Return JSON text with the same value, in which all that `safe_text` replaces is escaped."""
    if not _is_visible(text):
        text = "\n".join([_visible(line, _escape) for line in text.split("\n")])
    return _defused(text, "\\\\u003c")


def _visible(line: str, symbol: Callable[[re.Match[str]], str]) -> str:
    if _is_visible(line):
        return line
    # A carriage return at the end of a line is part of its line break, and a tab hides nothing.
    body = line.removesuffix("\r")
    return "\t".join([_replaced(part, symbol) for part in body.split("\t")]) + line[len(body) :]


def _is_visible(line: str) -> bool:
    """Return whether the line needs no replacement: compiling the pattern takes longer than showing a plan."""
    return line.isprintable() and (line.isascii() or _INVISIBLE.isdisjoint(line))


def _defused(text: str, bracket: str = "‹") -> str:
    if "<" not in text:
        return text
    import re  # noqa: PLC0415  see `_FRAMES`

    return re.sub(_TAG, bracket, text)


def _replaced(line: str, symbol: Callable[[re.Match[str]], str]) -> str:
    import re  # noqa: PLC0415  see `_FRAMES`

    return re.sub(_UNPRINTABLE, symbol, line)


def _symbol(match: re.Match[str]) -> str:
    if match["allowed"]:
        return match[0]
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004  the control pictures block mirrors C0
        return chr(0x2400 + code)
    if code == 0x7F:  # noqa: PLR2004  DEL has a picture of its own
        return "␡"
    return f"<U+{code:04X}>"


def _escape(match: re.Match[str]) -> str:
    if match["allowed"]:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)])
