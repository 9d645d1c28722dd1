"""What a person types: split into words, put into shape, and found again in the plan by a part of it.

Whitespace and letters are JavaScript's, as in the command this one follows: a byte order mark is a space, U+001C is
not, and the first letter is one UTF-16 unit, so that an astral one stays as it is.
"""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.formats.whitespace import JS_WHITESPACE

LAST_UNIT = "\uffff"


def verb_and_rest(text: str) -> tuple[str, str]:
    """The first word in lower case, and what follows it."""
    text = text.strip(JS_WHITESPACE)
    for place, char in enumerate(text):
        if char in JS_WHITESPACE:
            return text[:place].lower(), text[place:].strip(JS_WHITESPACE)
    return text.lower(), ""


def words(text: str) -> list[str]:
    """The words of a line: double quotes hold one together, a backslash takes the next character as it is."""
    found: list[str] = []
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
            found.append(word)
            word = ""
    return [word for word in [*found, word] if word]


def capitalized(text: str) -> str:
    """The text with its first letter upper case, and the rest, acronyms and all, as it was typed."""
    text = text.strip(JS_WHITESPACE)
    if not text or text[0] > LAST_UNIT:
        return text
    return text[0].upper() + text[1:]


def title(text: str) -> str:
    """A name for a phase: every word capitalized, one space between them."""
    spaced = "".join(" " if char in JS_WHITESPACE else char for char in text)
    return " ".join(capitalized(word) for word in spaced.split(" ") if word)


def tasks_like(plan: Plan, query: str) -> list[Task]:
    """The tasks that `query` may mean; it means one only if it is alone.

    The whole text, in whatever case, comes before a part of it. Where a part fits several, the only open one is
    meant.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    same = [task for task in plan.tasks if task.text.lower() == wanted]
    if same:
        return same[:1]
    fitting = [task for task in plan.tasks if wanted in task.text.lower()]
    still_open = [task for task in fitting if task.status.is_open]
    return still_open if len(still_open) == 1 else fitting


def phases_like(plan: Plan, query: str) -> list[Phase]:
    """The phases that `query` may mean; it means one only if it is alone.

    The whole name, in whatever case, comes before its beginning, and that before any other part.
    """
    wanted = query.strip(JS_WHITESPACE).lower()
    if not wanted:
        return []
    same = [phase for phase in plan.phases if phase.name.lower() == wanted]
    if same:
        return same[:1]
    begun = [phase for phase in plan.phases if phase.name.lower().startswith(wanted)]
    return begun if len(begun) == 1 else [phase for phase in plan.phases if wanted in phase.name.lower()]
