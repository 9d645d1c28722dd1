"""Splits and capitalizes what a person types, and finds the tasks and phases that it names.

Whitespace and letters are JavaScript's, as in the original command: a byte order mark is a space, U+001C is not, and
capitalization applies to the first UTF-16 unit, so that a letter outside the BMP is unchanged.
"""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.formats.whitespace import JS_WHITESPACE

LAST_BMP_CHARACTER = "\uffff"


def verb_and_rest(text: str) -> tuple[str, str]:
    """Return the first word in lower case, and the text after it."""
    text = text.strip(JS_WHITESPACE)
    for place, char in enumerate(text):
        if char in JS_WHITESPACE:
            return text[:place].lower(), text[place:].strip(JS_WHITESPACE)
    return text.lower(), ""


def words(text: str) -> list[str]:
    """Split a line into words. Double quotes group words; a backslash escapes the next character."""
    complete: list[str] = []
    word, quoted = "", False
    chars = iter(text)
    for char in chars:
        if char == "\\":
            word += next(chars, char)
        elif char == '"':
            quoted = not quoted
        elif quoted or char not in JS_WHITESPACE:
            word += char
        else:
            complete.append(word)
            word = ""
    return [word for word in [*complete, word] if word]


def capitalized(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    text = text.strip(JS_WHITESPACE)
    if not text or text[0] > LAST_BMP_CHARACTER:
        return text
    return text[0].upper() + text[1:]


def title(text: str) -> str:
    """Return a phase name: every word capitalized, separated by single spaces."""
    spaced = "".join(" " if char in JS_WHITESPACE else char for char in text)
    return " ".join(capitalized(word) for word in spaced.split(" ") if word)


def tasks_like(plan: Plan, query: str) -> list[Task]:
    """Return the tasks that `query` matches; it is unambiguous if there is exactly one.

    Matching ignores case. A task whose whole text matches takes precedence over substring matches. If several tasks
    contain the query and only one of them is open, that one matches.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    exact = [task for task in plan.tasks if task.text.lower() == wanted]
    if exact:
        return exact[:1]
    matching = [task for task in plan.tasks if wanted in task.text.lower()]
    still_open = [task for task in matching if task.status.is_open]
    return still_open if len(still_open) == 1 else matching


def phases_like(plan: Plan, query: str) -> list[Phase]:
    """Return the phases that `query` matches; it is unambiguous if there is exactly one.

    Matching ignores case. The whole name takes precedence over a prefix, and a prefix over any other substring.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    exact = [phase for phase in plan.phases if phase.name.lower() == wanted]
    if exact:
        return exact[:1]
    by_prefix = [phase for phase in plan.phases if phase.name.lower().startswith(wanted)]
    return by_prefix if len(by_prefix) == 1 else [phase for phase in plan.phases if wanted in phase.name.lower()]
