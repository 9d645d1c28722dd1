"""What runs wait for: questions in the logs of their plans, and questions that their agents have put into the store."""

from __future__ import annotations

import os

from tildone.cli.agents.answer import checked_answer
from tildone.cli.output.screen import put, put_raw
from tildone.errors import NotFound, Refused, UnknownNeed, UsageError
from tildone.ids import id_maker, now
from tildone.log.fleet.facts import Asked
from tildone.log.needs import Need, NeedAnswered
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.workers import RunView

PERMISSIONS = ("command", "change", "check")
"""The kinds of questions that are answered by yes or no."""

YES, NO = "yes", "no"


@value
class OpenQuestion:
    """A question that a run waits for. `need` is the question in the store; without it, the log of the plan has it."""

    run: str
    id: str
    kind: str
    text: str
    need: Need | None = None

    @property
    def is_permission(self) -> bool:
        """Whether it asks for approval."""
        return self.kind in PERMISSIONS


def open_questions(fleet: Fleet, views: Iterable[RunView]) -> list[OpenQuestion]:
    """Return what the runs wait for, run by run."""
    sessions: dict[str, tuple[str, set[str]]] = {}
    for view in views:
        lease = view.lease
        if lease.state.is_living:
            sessions.setdefault(lease.session, (lease.run, set()))[1].update(lease.questions)
    needs = fleet.store.needs() if sessions else ()
    found = []
    for session, (run, ids) in sessions.items():
        found += _asked(fleet, session, run, ids) if ids else []
        found += [OpenQuestion(run, need.id, need.kind, _text(need), need) for need in needs if need.session == session]
    return found


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


def give_answer(fleet: Fleet, question: OpenQuestion, text: str) -> None:
    """Answer a question, in the name of the person here.

    Raises:
        UsageError: the question does not offer this answer.
        Refused: it is answered already.
        NotFound: it was withdrawn.
    """
    if question.need is None:
        event = id_maker(now, os.urandom)()
        fleet.leases.answer(question.run, question.id, text, fleet.person, event)
        return
    try:
        fleet.store.answer(question.id, checked_answer(question.need, text), fleet.person, now())
    except NeedAnswered as error:
        raise Refused(f"the question {question.id} is answered already: {printable(error.need.answer)}") from error
    except UnknownNeed as error:
        raise NotFound(f"the question {question.id} was withdrawn: nobody waits for the answer") from error


def put_questions(found: Sequence[OpenQuestion], nothing: str) -> None:
    """Print questions, with how to answer them."""
    if not found:
        put(nothing)
    for question in found:
        put(f"{question.run}  {printable(question.kind)}  {printable(question.id)}")
        put_raw("\n".join(f"  {line}" for line in question.text.splitlines()))
        verb = "approve" if question.is_permission else "answer"
        text = "" if question.is_permission else " TEXT"
        put(f"  To answer: tildone fleet {verb} {question.run} --question {printable(question.id)}{text}")


def as_data(question: OpenQuestion) -> dict[str, object]:
    """Return a question for JSON output."""
    return {"run": question.run, "id": question.id, "kind": question.kind, "text": question.text}


def _asked(fleet: Fleet, session: str, run: str, ids: set[str]) -> list[OpenQuestion]:
    found = []
    for event in fleet.store.history(session):
        fact = event.fact
        if isinstance(fact, Asked) and fact.run == run and fact.question in ids:
            ids = ids - {fact.question}
            found.append(OpenQuestion(run, fact.question, fact.kind, fact.text))
    # A question whose text is on another branch of the history can be answered all the same.
    return [*reversed(found), *(OpenQuestion(run, id_, "question", "") for id_ in sorted(ids))]


def _text(need: Need) -> str:
    return f"{need.detail}\n{need.text}" if need.detail else need.text
