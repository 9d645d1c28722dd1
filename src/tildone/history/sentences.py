"""Changes of a plan as English sentences for a screen."""

from __future__ import annotations

from tildone.history.changes import ATTRIBUTE_KINDS, STATUS_NAMING_KINDS, ChangeKind
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import UNNAMED_PHASE
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.history.changes import Change

MIN_GROUP_SIZE = 4
"""How many changes of one kind are replaced by a sentence with their number."""


def change_sentences(found: Sequence[Change], *, numbers: bool = True) -> list[str]:
    """Return the changes as sentences; `MIN_GROUP_SIZE` or more of one kind share one sentence.

    Without `numbers`, tasks are named by their texts alone, for a model that counts positions instead.
    """
    return [sentence for sentence, _ in grouped_sentences(found, numbers=numbers)]


def grouped_sentences(found: Sequence[Change], *, numbers: bool = True) -> list[tuple[str, list[Change]]]:
    """Return the same sentences, each with the changes that it describes."""
    grouped: list[tuple[str, list[Change]]] = []
    for kind in ChangeKind:
        alike = [change for change in found if change.kind is kind]
        grouped += (
            [(kind.count.format(len(alike)), alike)]
            if len(alike) >= MIN_GROUP_SIZE
            else [(_sentence(change, numbers=numbers), [change]) for change in alike]
        )
    return grouped


def describe_change(change: Change) -> str:
    """Describe a change without its subject, for a list below the task that changed."""
    match change.kind:
        case ChangeKind.NOTED:
            return f"noted: {printable(change.detail or '')}"
        case ChangeKind.UNNOTED:
            return f"took off the note: {printable(change.detail or '')}"
        case ChangeKind.CLOSED | ChangeKind.MARKED:
            return f"{change.kind.verb} as {change.detail}"
        case ChangeKind.MOVED if change.detail:
            return f"moved to {printable(change.detail)}"
        case ChangeKind.RENAMED:
            return f"renamed; it was {_named(change.subject)}"
        case ChangeKind.ORDERED:
            return f"ordered {change.detail}"
        case kind if kind in ATTRIBUTE_KINDS:
            return f"{kind.verb.rpartition(' ')[0]}: {printable(change.detail or '')}"
        case _:
            return change.kind.verb


def _sentence(change: Change, *, numbers: bool) -> str:
    number = f"#{change.number} " if change.number and numbers else ""
    named = "the plan" if change.of_plan else f"{number}{_named(change.subject)}"
    subject = f"{change.kind.verb} {named}"
    if change.detail is None:
        return subject
    if change.kind in STATUS_NAMING_KINDS:
        return f"{subject} as {change.detail}"
    if change.kind is ChangeKind.ORDERED:
        return f"{subject} {change.detail}"
    if change.kind in (ChangeKind.NOTED, ChangeKind.UNNOTED) or change.kind in ATTRIBUTE_KINDS:
        return f"{subject}: {printable(change.detail)}"
    return f"{subject} to {_named(change.detail)}"


def _named(name: str) -> str:
    return f"“{printable(name)}”" if name else UNNAMED_PHASE
