"""Which tasks of a plan the texts in a model's own list name.

A model that copies a task into its own list often changes the text a little: upper and lower case, white space,
quotation marks, the full stop, a number in front, or it shortens the text with an ellipsis. These changes are ignored.
No other similarity counts, because a wrong match completes a task that nobody has done. Two texts that differ in a word
are two tasks.
"""

from __future__ import annotations

from tildone.agents.hooks.context import arguments
from tildone.app.opening import open_session
from tildone.base import TYPE_CHECKING, replace
from tildone.base.errors import UsageError
from tildone.plan import codec
from tildone.plan.dialects import dialect_named, dialect_of_tool
from tildone.plan.text.safe import escape_json, safe_text, status_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.agents.hooks.context import NativeTask
    from tildone.agents.hooks.event import HookEvent
    from tildone.app.settings import Settings
    from tildone.log.session import Session
    from tildone.plan.events import Author
    from tildone.plan.model import Task


if TYPE_CHECKING:
    AnyTask = Task | NativeTask


MIN_SHORTENED = 20
"""How many characters of a text have to be left before an ellipsis, so that the rest of it can be inferred."""

MAX_DIGITS = 4
"""A longer number in front of a text is a part of the text."""

_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "`": None})
_AT_END = " .,;:!…"
_ELLIPSES = ("…", "...")
_LIST_MARKS = ("- ", "* ", "• ", "[ ] ", "[x] ")


def find_tasks(texts: Sequence[str], tasks: Sequence[AnyTask]) -> list[int | None]:
    """Return, for each text, the index of the task that it names; None if there is none. No task is named twice.

    Equal texts come first, then texts that `normalized` makes equal, each in order. A number in front or an ellipsis
    at the end is considered last, and only if exactly one task is left that the text can name.
    """
    found: list[int | None] = [None] * len(texts)
    free = dict(enumerate(tasks))
    _pair_equal(texts, found, free, str)
    _pair_equal(texts, found, free, normalized)
    for names in (_names_numbered, _names_shortened):
        left = [i for i, index in enumerate(found) if index is None]
        claims = {i: [j for j, task in free.items() if names(texts[i], task)] for i in left}
        for i, indices in claims.items():
            if len(indices) == 1 and sum(indices == other for other in claims.values()) == 1:
                found[i] = indices[0]
                del free[indices[0]]
    return found


def normalized(text: str) -> str:
    """Return the text without differences of case, white space, quotation marks and final punctuation.

    The model may have read the text in its harmless form.
    """
    plain = " ".join(safe_text(text).translate(_SAME).casefold().split())
    return plain.rstrip(_AT_END) or plain


def shares_most_words(one: str, other: str) -> bool:
    """Return whether one text can be a new wording of the other: more than half of the words of each are the same."""
    words, others = set(normalized(one).split()), set(normalized(other).split())
    return 2 * len(words & others) > max(len(words), len(others))


def _pair_equal(
    texts: Sequence[str], found: list[int | None], free: dict[int, AnyTask], form: Callable[[str], str]
) -> None:
    """Pair the texts and tasks that are equal in a form: the first with the first, the second with the second."""
    waiting: dict[str, list[int]] = {}
    for j in reversed(free):
        waiting.setdefault(form(free[j].text), []).append(j)
    for i, text in enumerate(texts):
        same = waiting.get(form(text)) if found[i] is None else None
        if same:
            found[i] = j = same.pop()
            del free[j]


def _names_numbered(text: str, task: AnyTask) -> bool:
    """Return whether the texts are equal without the marks and numbers of a list in front.

    A number that may belong to the text is left out only if it is the task's own number.
    """
    number, rest = _split_item(text)
    _, wanted = _split_item(task.text)
    is_own = number != 0 and number == task.number
    return rest == wanted or (is_own and normalized(rest.partition(" ")[2]) == wanted)


def _names_shortened(text: str, task: AnyTask) -> bool:
    """Return whether one of the texts is the beginning of the other, with an ellipsis."""
    forms = (text, task.text), (task.text, text)
    return any(
        short.rstrip().endswith(_ELLIPSES)
        and len(normalized(short)) >= MIN_SHORTENED
        and normalized(long).startswith(normalized(short))
        for short, long in forms
    )


def _split_item(text: str) -> tuple[int, str]:
    """Return the number in front of a text, or 0, and the normalized text without the mark and number of an item.

    `3.`, `3)`, `(3)`, `[3]` and `3:` are numbers of items. `#3` and `3` stay, because they may belong to the text.
    """
    rest = text.strip()
    for mark in _LIST_MARKS:
        rest = rest.removeprefix(mark).lstrip()
    word, _, words = rest.partition(" ")
    digits = word.strip("#().:[]")
    if not words or not (digits.isascii() and digits.isdigit()) or len(digits) > MAX_DIGITS:
        return 0, normalized(rest)
    is_of_item = not word.startswith("#") and word != digits
    return int(digits), normalized(words) if is_of_item else normalized(rest)


def offered_tools(dialect: str) -> str:
    """Return the tools of a dialect as JSON, for the shim that registers them with the agent."""
    tools = [
        {
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "parameters": tool.parameters,
            "snippet": tool.snippet,
            "guidelines": list(tool.guidelines),
        }
        for tool in dialect_named(dialect).tools
    ]
    return f"{codec.dump({'tools': tools})}\n"


def call_tool(event: HookEvent, settings: Settings, agent_session: Session, author: Author) -> str:
    """Carry out a tool call in an agent's session, as a change by `author`. Return the result to print.

    Raises:
        UsageError: there is no such tool.
    """
    tool = event.text("tool")
    dialect = dialect_of_tool(tool)
    if dialect is None:
        raise UsageError(f"there is no tool {tool!r}")
    session = open_session(settings, dialect_named(dialect), agent_session.store, lambda: author, agent_session.reader)
    parts = replace(session.parts, taken=agent_session.parts.taken, prover=agent_session.parts.prover)
    session = session.using(parts=parts)
    reply = session.call(tool, arguments(event.get("tool_input")))
    result = {
        "text": reply.text,
        "failed": reply.is_error,
        "line": status_line(session.state, held_up=session.held_up),
    }
    return f"{escape_json(codec.dump(result))}\n"
