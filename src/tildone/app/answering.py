"""Answering what agents and runs ask: who may, what a question offers, and which answer counts.

Agents put their questions into the store. Runs also have questions in the logs of their plans.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import islice

from tildone.app.opening import person_here
from tildone.app.settings import Settings
from tildone.app.who import PersonAct, check_person
from tildone.base import NotFound, Refused, UnknownNeed, UsageError, value
from tildone.base.ids import id_maker, now
from tildone.log.needs import COMMANDS, Need, NeedAnswered
from tildone.log.store import Store
from tildone.plan.runs import Answered, Asked, Lease
from tildone.plan.shell.danger import caution
from tildone.plan.text.safe import printable
from tildone.stores.leasing import RunLeases

PERMISSIONS = ("command", "change", "check")
"""The kinds of questions that are answered by yes or no."""

YES, NO = "yes", "no"
ONCE = "once"
"""How an agent that waits is permitted what it asks for, this time."""

MAX_EVENTS_READ = 1000
"""Among how many events, the newest first, the text of a question is looked for."""

QUESTION, CONFLICT, FAILURE = "question", "conflict", "failure"
MERGED, DISCARD = "merged", "discard"
"""The answers to a conflict: a person has merged the branches, or what the agent has done is left out."""

RETRY, CANCEL = "retry", "cancel"
"""What can be requested of a run that has failed."""


@value
class OpenQuestion:
    """A question that a run waits for. `need` is the question in the store; without it, the log of the plan has it.

    `since` is when it was asked, in milliseconds since 1970; 0 if that is not known.
    """

    run: str
    id: str
    kind: str
    text: str
    need: Need | None = None
    since: int = 0

    @property
    def is_permission(self) -> bool:
        return self.kind in PERMISSIONS

    @property
    def caution(self) -> str:
        """As `caution_of`: the text may begin with an explanation, which is not part of the command."""
        return caution_of(self.need or Need(self.id, "", self.kind, self.text))


def caution_of(need: Need) -> str:
    """Return what a person is told before they permit it; empty unless it is a dangerous command."""
    return caution(need.text) if need.kind in COMMANDS else ""


@value
class RunAnswer:
    """Who answers a question of a run with which text. Only a person may do what `act` says."""

    text: str
    by: str
    act: PersonAct = PersonAct.ANSWER


def open_questions(store: Store, leases: Iterable[Lease]) -> list[OpenQuestion]:
    """Return what the runs of leases wait for, run by run."""
    sessions: dict[str, tuple[str, set[str]]] = {}
    for lease in leases:
        if lease.state.is_active:
            sessions.setdefault(lease.session, (lease.run, set()))[1].update(lease.questions)
    needs = store.records.needs() if sessions else ()
    found = []
    for session, (run, ids) in sessions.items():
        found += logged_questions(store, session, run, ids)
        found += [
            OpenQuestion(run, need.id, need.kind, _text(need), need, need.since)
            for need in needs
            if need.session == session
        ]
    return found


def logged_questions(store: Store, session: str, run: str, ids: Iterable[str]) -> list[OpenQuestion]:
    """Return the questions of a run with some ids, as the log of its plan has them, the oldest first."""
    missing = set(ids)
    found = list[OpenQuestion]()
    for event in islice(store.history(session), MAX_EVENTS_READ) if missing else ():
        fact = event.fact
        if isinstance(fact, Asked) and fact.run == run and fact.question in missing:
            missing.discard(fact.question)
            found.append(OpenQuestion(run, fact.question, fact.kind, fact.text, None, event.at))
            if not missing:
                break
    # A question whose text is further back, or on another branch of the history, can be answered all the same.
    return [*reversed(found), *(OpenQuestion(run, each, QUESTION, "") for each in sorted(missing))]


def logged_answer(store: Store, session: str, run: str, question: str) -> tuple[Answered, int] | None:
    """Return the answer to a question of a run, and when it was given, as the log of its plan has it."""
    for event in islice(store.history(session), MAX_EVENTS_READ):
        fact = event.fact
        if isinstance(fact, Answered) and (fact.run, fact.question) == (run, question):
            return fact, event.at
    return None


def answer_need(settings: Settings, store: Store, name: str, text: str, by: str = "") -> Need:
    """Answer an open question of an agent, by default in the name of the person here. The first answer counts.

    Raises:
        NotThePerson: an agent answers.
        NotFound: nobody waits for the answer.
        UsageError: the question does not offer it.
        NeedAnswered: somebody was faster; the error has their answer.
    """
    check_person(settings, PersonAct.ANSWER)
    need = store.records.need(name)
    if need is not None and need.is_open:
        text = checked_answer(need, text)
    try:
        return store.records.answer(name, text, by or person_here(settings, store), now())
    except UnknownNeed as error:
        raise NotFound(f"the question {printable(name)} was withdrawn: nobody waits for the answer") from error


def answer_question(
    settings: Settings, store: Store, leases: RunLeases, question: OpenQuestion, answer: RunAnswer
) -> None:
    """Answer a question of a run.

    Raises:
        NotThePerson: an agent answers.
        UsageError: the question does not offer this answer.
        Refused: it is answered already.
        NotFound: it was withdrawn.
    """
    check_person(settings, answer.act)
    if question.need is None:
        if not answer.text.strip():
            raise UsageError("an answer needs words")
        offered = Need(question.id, "", question.kind, question.text, tuple(offered_answers(question)))
        text = checked_answer(offered, answer.text)
        leases.answer(question.run, question.id, text, answer.by, id_maker(now, os.urandom)())
        return
    # A yes to an agent that waits permits it once.
    text = ONCE if answer.text == YES and ONCE in question.need.options else answer.text
    try:
        answer_need(settings, store, question.id, text, answer.by)
    except NeedAnswered as error:
        raise Refused(f"the question {question.id} is answered already: {printable(error.need.answer)}") from error


def checked_answer(need: Need, answer: str) -> str:
    """Return the answer as the question offers it: an option is chosen by its text or, if there are many, its number.

    Raises UsageError if the question does not offer it.
    """
    if not need.options or answer in need.options:
        return answer
    if need.kind == "select" and answer.isdecimal() and 0 < int(answer[:9]) <= len(need.options):
        return need.options[int(answer) - 1]
    if need.kind in PERMISSIONS and is_denial(answer):
        return answer
    offered = " or ".join(printable(option) for option in need.options)
    raise UsageError(f"the answer to {need.id} is {offered}, not {printable(answer)!r}")


def is_denial(answer: str) -> bool:
    """Return whether an answer is a no with a reason after a colon."""
    word, colon, reason = answer.partition(":")
    return bool(colon) and word == NO and bool(reason.strip())


def offered_answers(question: OpenQuestion) -> Sequence[str]:
    """Return the answers that a question in the log offers; none if any text answers it."""
    if question.kind == CONFLICT:
        return MERGED, DISCARD
    if question.kind == FAILURE:
        return RETRY, CANCEL
    return (YES, NO) if question.is_permission else ()


def _text(need: Need) -> str:
    return f"{need.detail}\n{need.text}" if need.detail else need.text
