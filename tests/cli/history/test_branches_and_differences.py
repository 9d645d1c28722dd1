"""`tildone checkout`, `branch`, `label`, `diff` and `blame`.

Every point of a history can be named, and what changed and who did it is told.
"""

import re
from dataclasses import replace

from tests.cli.history.histories import kept, labelled
from tests.cli.person import Person
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.model import Phase, Plan, Task
from tildone.plan.text.styles import display_width


def test_an_id_that_fits_several_events_names_them(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)
    ids = [event["id"] for event in person.run("log", "--json").json["events"]]

    assert person.refused(4, "checkout", "01") == f"tildone: '01' matches 2 events: {ids[1][:10]}, {ids[0][:10]}\n"
    assert person.says("checkout", ids[1][:10]).startswith(f"Moved to {ids[1][:10]}, ")


NASTY = "A task with a rather long text, 漢字も, and\x1b[2J more\nof it"
SEEN = "A task with a rather long text, 漢字も, and␛[2J more⏎of it"


def nasty(person: Person) -> None:
    events = kept(
        person,
        Plan((Phase(NASTY, (Task(NASTY), Task("b"))),)),
        Plan((Phase(NASTY, (Task(NASTY, IN_PROGRESS, (NASTY,)), Task("b"))),)),
        Plan((Phase(NASTY, (Task(NASTY, COMPLETED, (NASTY,)),)),)),
        tool=NASTY,
    )
    labelled(person, events[-1], NASTY)


VERBS = [
    ("log", "--all"),
    ("log", "--tasks"),
    ("diff", "root"),
    ("blame",),
    ("blame", "rather"),
    ("branch",),
    ("label",),
]


def test_a_history_fits_a_terminal_however_narrow_and_only_a_terminal_gets_colours(person: Person) -> None:
    """Texts cannot get out of their line in a pipe either."""
    nasty(person)

    for words in VERBS:
        for columns in (40, 24):
            narrow = replace(person, columns=columns).at_terminal(*words, NO_COLOR="1").end()
            assert narrow.code == 0, words
            assert max(display_width(line) for line in narrow.out.splitlines()) <= columns, words
        shown, piped = replace(person, columns=1000).at_terminal(*words).end().out, person.says(*words)

        assert "\x1b[" in shown, words
        assert "\x1b" not in piped, words
        assert re.sub(r"\x1b\[[\d;]*m", "", shown) == piped, words
        assert SEEN in piped, words
        assert not any(line.startswith("of it") for line in piped.splitlines()), words


def test_a_long_history_can_be_looked_at_and_moved_about_in(person: Person) -> None:
    kept(person, *(plan_of(*(f"task {m}" for m in range(n % 7 + 1))) for n in range(90)))

    assert len(person.run("log", "--json", "--limit", "3").json["events"]) == 3
    assert person.says("undo", "40").startswith("Undid 40 changes: ")
    assert person.says("checkout", "head~49").startswith("Moved to ")
    assert person.says("todo") == "– #1 task 0\n"
