"""Needs: open questions of agents to a person, such as whether a command may run.

A need is not an event. It is answered once: the first answer wins, and others are told which one that was. A program
that no longer waits withdraws its need; an answered one is kept for a while, so that others can read the answer.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Refused, replace, value
from tildone.base.json import decode_record, dump

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.base.json import FieldTypes

ANSWERED_LIFETIME_MS = 60 * 60 * 1000
"""A question or an answer removes the needs that were answered longer ago than this."""

COMMANDS = ("command", "check")
"""The kinds of needs whose text is a command."""

MAX_ANSWERED = 1000
"""How many answered needs a store keeps."""

MAX_OPEN = 1000
"""How many open needs a store keeps: a program that is killed does not withdraw its own."""


@value
class Need:
    """A question of an agent to a person. Times are in milliseconds since 1970.

    `kind` is command, change, check, select, confirm or input. `text` is the whole command, change or question,
    `options` the possible answers, and `detail` what else a person may want to know: where, for how long, for which
    task. `answered_at` is 0 while the need is open.
    """

    id: str
    session: str
    kind: str
    text: str
    options: tuple[str, ...] = ()
    since: int = 0
    agent: str = ""
    detail: str = ""
    answer: str = ""
    answered_by: str = ""
    answered_at: int = 0

    @property
    def is_open(self) -> bool:
        """Whether nobody has answered yet."""
        return not self.answered_at


class NeedAnswered(Refused):
    """Somebody has answered the question already; `need` is the question with that answer."""

    def __init__(self, need: Need) -> None:
        super().__init__(f"the question is already answered: {need.answer!r}")
        self.need = need


_TYPES: FieldTypes = {
    **dict.fromkeys(("id", "session", "kind", "text", "agent", "detail", "answer", "answered_by"), str),
    **dict.fromkeys(("since", "answered_at"), int),
    "options": tuple,
}


def encode_need(need: Need) -> str:
    """Return a need as JSON text."""
    return dump({name: getattr(need, name) for name in _TYPES})


def decode_need(text: object) -> Need | None:
    """Return the need of a JSON text; None if it cannot be decoded."""
    return decode_record(Need, _TYPES, text)


def decode_needs(texts: Iterable[object]) -> list[Need]:
    """Return the needs of JSON texts, in their order. What cannot be decoded is left out."""
    return [need for need in map(decode_need, texts) if need is not None]


def answered(need: Need, answer: str, by: str, at: int) -> Need:
    """Return the need with an answer. Raises NeedAnswered if it has one already."""
    if not need.is_open:
        raise NeedAnswered(need)
    return replace(need, answer=answer, answered_by=by, answered_at=max(1, at))


def open_needs(needs: Iterable[Need]) -> list[Need]:
    """Return the open ones, the oldest first."""
    return sorted((need for need in needs if need.is_open), key=lambda need: (need.since, need.id))


@value
class NeedBounds:
    """Which needs a store keeps: answers that are not older than `oldest`, and how many answered and open ones."""

    oldest: int
    max_answered: int
    max_open: int


def bounds(now: int) -> NeedBounds:
    """Return the bounds at a time."""
    return NeedBounds(now - ANSWERED_LIFETIME_MS, MAX_ANSWERED, MAX_OPEN)


def without_old(needs: Iterable[Need], now: int) -> list[Need]:
    """Return the needs that a store keeps: open ones, the oldest first, then answered ones."""
    known, kept = list(needs), bounds(now)
    recent = [need for need in known if not need.is_open and need.answered_at >= kept.oldest]
    recent.sort(key=lambda need: (need.answered_at, need.id))
    return [*open_needs(known)[-kept.max_open :], *recent[-kept.max_answered :]]
