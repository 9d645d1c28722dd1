"""The questions of runs on a command line: which one is meant, in whose name it is answered, and how it is printed."""

from __future__ import annotations

import os

from tildone.cli.output.screen import put, put_caution, put_raw
from tildone.errors import NotFound, UsageError
from tildone.ids import id_maker, now
from tildone.overview.run_questions import RunAnswer, give_answer, open_questions
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.workers import RunView
    from tildone.overview.run_questions import OpenQuestion


def questions_of(fleet: Fleet, views: Iterable[RunView]) -> list[OpenQuestion]:
    """Return what the runs wait for, run by run."""
    return open_questions(fleet.store, (view.lease for view in views))


def chosen(found: Sequence[OpenQuestion], wanted: str | None, run: str) -> OpenQuestion:
    """Return the question that is meant: the one whose id begins with `wanted`, else the only one.

    Raises:
        NotFound: there is none.
        UsageError: there are several.
    """
    matching = [question for question in found if question.id.startswith(wanted or "")]
    matching = [question for question in matching if question.id == wanted] or matching
    if not matching:
        which = f" {printable(wanted)!r}" if wanted else ""
        raise NotFound(f"run {run} has no open question{which}; to list them: tildone fleet answer")
    if len(matching) > 1:
        ids = ", ".join(printable(question.id) for question in matching)
        raise UsageError(f"run {run} has {len(matching)} open questions; choose one with --question: {ids}")
    return matching[0]


def answer_here(fleet: Fleet, question: OpenQuestion, text: str) -> None:
    """Answer a question, in the name of the person here.

    Raises:
        UsageError: the question does not offer this answer.
        Refused: it is answered already.
        NotFound: it was withdrawn.
    """
    event = id_maker(now, os.urandom)()
    give_answer(fleet.store, fleet.leases, question, RunAnswer(text, fleet.person, now(), event))


def put_questions(found: Sequence[OpenQuestion], nothing: str) -> None:
    """Print questions, with how to answer them."""
    if not found:
        put(nothing)
    for question in found:
        put(f"{question.run}  {printable(question.kind)}  {printable(question.id)}")
        put_raw("\n".join(f"  {line}" for line in question.text.splitlines()))
        put_caution(question.caution)
        verb = "approve" if question.is_permission else "answer"
        text = "" if question.is_permission else " TEXT"
        put(f"  To answer: tildone fleet {verb} {question.run} --question {printable(question.id)}{text}")


def as_data(question: OpenQuestion) -> dict[str, object]:
    """Return a question for JSON output."""
    return {"run": question.run, "id": question.id, "kind": question.kind, "text": question.text}
