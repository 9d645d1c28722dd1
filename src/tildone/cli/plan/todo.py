"""`tildone todo …`: the plan changed by hand, by the same verbs as the command `/todo`."""

from __future__ import annotations

from tildone.cli.opening import editing
from tildone.cli.parsing.args import Typed, called
from tildone.cli.plan.applying import ME, carry_out
from tildone.commands import verbs
from tildone.errors import UsageError


def append(typed: Typed) -> int:
    """Add tasks. A shell has split the words already, so a text in quotes is one word, and each is a task."""
    first, *others = typed.words
    if len(others) > 1 and any(" " not in text for text in others):
        raise UsageError(
            f'which words are one task? Put each task in quotes: {ME} append "{" ".join(typed.words)}", '
            f'or with a phase: {ME} append {first} "{" ".join(others)}"'
        )
    session = editing(typed)
    phase, texts = (first, others) if others else (None, [first])
    return carry_out(session, verbs.append(session.plan, phase, texts, me=ME))


def start(typed: Typed) -> int:
    """Put a task in progress."""
    session = editing(typed)
    return carry_out(session, verbs.start(session.plan, _query(typed), me=ME, numbered=True))


def mark(typed: Typed) -> int:
    """Mark a task, a phase or everything with the status of the verb that was typed."""
    session = editing(typed)
    status = verbs.MARKS[typed.verb.name]
    return carry_out(session, verbs.mark(session.plan, _query(typed), status, numbered=True))


def rm(typed: Typed) -> int:
    """Remove a task, the tasks of a phase, or everything."""
    session = editing(typed)
    return carry_out(session, verbs.remove(session.plan, _query(typed), numbered=True))


def note(typed: Typed) -> int:
    """Add a note to a task."""
    session = editing(typed)
    query, *text = typed.words
    return carry_out(session, verbs.note(session.plan, query, " ".join(text), me=ME, numbered=True))


def _query(typed: Typed) -> str:
    """What names the task or phase. Without a word everything may be meant; an empty word means a mistake.

    Raises:
        UsageError: it is empty, as an unset variable of a script would be.
    """
    query = " ".join(typed.words)
    if typed.words and not query.strip():
        raise UsageError(f"{called(typed.path)} was given an empty word")
    return query
