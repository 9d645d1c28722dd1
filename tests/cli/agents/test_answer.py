"""`tildone answer`: the open questions of agents, listed and answered by a person."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.cli.person import Person
from tildone.app.opening import open_store
from tildone.app.settings import load
from tildone.base import replace as replace_value
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.log.store import Store

NOBODY = "No agent waits for an answer.\n"
QUESTION = Need(
    "4f0c11", "s", "command", "rm -r build\n\x1b[2Jls", ("once", "always", "no"), 1, "tildone:a", "Run this?"
)
CHOICE = Need("77aa00", "s", "select", "Which?", ("left side", "right side"), 2)


@pytest.fixture
def person(person: Person) -> Person:
    """Somebody who says where their plans are kept, so that we can find them, too."""
    environ = {**person.environ, "XDG_DATA_HOME": str(person.home / "data"), "TILDONE_USER": "Ada"}
    return replace(person, environ=environ)


def store_of(person: Person) -> Store:
    return open_store(load({}, person.environ, str(person.folder)))


def asked(person: Person, *needs: Need) -> Store:
    store = store_of(person)
    store.records.beat(Presence("tildone:a", "s", beat=now()))
    for need in needs:
        store.records.ask(replace_value(need, since=now() - 150_000 + need.since))
    return store


def test_without_a_question_nobody_waits(person: Person) -> None:
    """And no store is created."""
    assert person.says("answer") == NOBODY
    assert person.run("answer", "--json").json == {"version": 1, "questions": []}
    assert not (person.home / "data" / "tildone" / "tildone.db").exists()


def test_questions_are_listed_whole_and_printable(person: Person) -> None:
    asked(person, QUESTION, CHOICE)

    said = person.says("answer")

    assert said.startswith("4f0c11  session 's', tildone:a, 2 minutes ago\n  Run this?\n  rm -r build\n")
    assert said.count("  Careful: it deletes files.\n") == 1
    assert "\x1b" not in said
    assert "  To answer: tildone answer 4f0c11 once|always|no\n77aa00  " in said
    assert person.says("answer", "77") == said[said.index("77aa00") :]


def test_a_question_whose_agent_is_gone_is_not_listed(person: Person) -> None:
    store = asked(person, QUESTION, CHOICE)
    store.records.beat(Presence("tildone:a", "s", beat=now() - AT_WORK_MS))

    assert person.says("answer").startswith("77aa00  ")
    assert [each["id"] for each in person.run("answer", "--json").json["questions"]] == ["77aa00"]


def test_an_answer_is_told_to_the_agent_with_the_persons_name(person: Person) -> None:
    store = asked(person, QUESTION)

    assert person.says("answer", "4f0", "once") == "Answered 4f0c11: once\n"

    found = store.records.need("4f0c11")
    assert found is not None
    assert (found.answer, found.answered_by) == ("once", "Ada")
    assert found.answered_at > found.since
    assert person.says("answer") == NOBODY


def test_what_cannot_be_answered_says_why(person: Person) -> None:
    store = asked(person, QUESTION, CHOICE)
    for words, code, said in (
        (["4f0c11", "yes"], 2, "the answer to 4f0c11 is once or always or no, not 'yes'"),
        (["ff", "no"], 4, "there is no open question 'ff'; to list them: tildone answer"),
        (["ff"], 4, "there is no open question 'ff'"),
        (["", "no"], 2, "2 open questions begin with ''"),
    ):
        answer = person.run("answer", *words)

        assert (answer.code, answer.out) == (code, ""), words
        assert said in answer.err, words
        assert len(store.records.needs()) == 2, words


def test_the_second_of_two_answers_is_told_who_was_first(person: Person) -> None:
    """Two real processes answer at the same time."""
    asked(person, QUESTION)
    command = [sys.executable, "-m", "tildone", "answer", "4f0c11"]
    both = [
        subprocess.Popen(
            [*command, word],
            cwd=person.folder,
            env=person.environment({"TILDONE_USER": name}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for word, name in (("once", "Ada"), ("no", "Bob"))
    ]
    told = [process.communicate(timeout=60) for process in both]

    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 3]
    winner, loser = ("Ada", told[1]) if codes[0] == 0 else ("Bob", told[0])
    decided = store_of(person).records.need("4f0c11")
    assert decided is not None
    assert decided.answered_by == winner
    assert f"the question 4f0c11 was answered by {winner} at 20" in loser[1]


def test_json_has_every_field(person: Person) -> None:
    asked(person, CHOICE)

    [told] = person.run("answer", "77", "2", "--json").json["questions"]

    assert (told["id"], told["session"], told["kind"], told["text"]) == ("77aa00", "s", "select", "Which?")
    assert (told["options"], told["answer"], told["answered_by"]) == (["left side", "right side"], "right side", "Ada")
    assert told["answered_at"] > told["since"] > 0
