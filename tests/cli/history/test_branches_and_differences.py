"""`tildone checkout`, `branch`, `label`, `diff` and `blame`.

Every point of a history can be named, and what changed and who did it is told.
"""

import re
from dataclasses import replace

from tests.cli.history.histories import kept, labelled, named
from tests.cli.person import Person
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.model import Phase, Plan, Task, flat
from tildone.plan.text.styles import display_width


def three(person: Person) -> None:
    kept(person, plan_of("a"), plan_of("a", "b"), flat(Task("a", COMPLETED), Task("b")))


def test_checkout_goes_there_or_to_before_the_first_change_and_says_how_to_come_back(person: Person) -> None:
    three(person)

    there = person.says("checkout", "head~1")
    shown = person.says("todo")
    back = person.says("checkout", named("c"))

    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", there) == (
        f"Moved to bbbbbbbbbb, WHEN.\n0 of 2 closed. Next: #1 a\nTo return: tildone checkout {named('c')}\n"
    )
    assert shown == "– #1 a\n– #2 b\n"
    assert back.endswith(f"1 of 2 closed. Next: #2 b\nTo return: tildone checkout {named('b')}\n")
    assert person.says("checkout", "head") == "Already there.\n1 of 2 closed. Next: #2 b\n"

    there = person.says("checkout", "root")
    log, diff, branch = (person.says(verb) for verb in ("log", "diff", "branch"))
    back = person.says("checkout", "ccc")

    assert there == (
        f"Moved to before the first change.\nThe plan is now empty.\nTo return: tildone checkout {named('c')}\n"
    )
    assert log == diff == "This is before the first change. Later changes are on a branch: tildone branch\n"
    assert branch.startswith("* root  0/0\n· cccccccccc  ")
    assert back.endswith("\nTo return: tildone checkout root\n")


def test_what_follows_a_checkout_is_a_branch_of_its_own(person: Person) -> None:
    three(person)
    person.says("label", "all", "head")
    person.says("checkout", "a")

    person.says("todo", "append", "c")

    assert re.sub(r"\b[0-9a-z]{10}  \d{4}-\d\d-\d\d \d\d:\d\d", "ID WHEN", person.says("branch")) == (
        "* ID WHEN  Ada  0/2\n· ID WHEN  agent  1/2  all\n    from aaaaaaaaaa:\n      added “b”\n      completed “a”\n"
    )
    told = person.run("branch", "--json").json
    assert (told["version"], told["branches"][0]["end"]["author"]["name"]) == (1, "Ada")
    assert told["branches"][1] == {
        "current": False,
        "end": {
            "id": named("c"),
            "at": "1970-01-01T00:02:00.000Z",
            "actor": "agent",
            "author": {"name": None, "agent": None, "model": None},
        },
        "label": "all",
        "changes_since_label": 0,
        "closed": 1,
        "total": 2,
        "fork_point": named("a"),
        "what": ["added “b”", "completed “a”"],
    }


def test_what_names_no_event_and_what_cannot_be_done_is_said_and_changes_nothing(person: Person) -> None:
    three(person)

    for word, said in (
        ("nope", "no event has the label or id 'nope', and no id begins with it"),
        ("head~4", "'head~4' goes back too far: 3 changes lead there"),
        ("", "an empty name names no event"),
    ):
        for verb in ("checkout", "diff"):
            assert person.refused(4, verb, word) == f"tildone: {said}\n", word

    before = person.run("log", "--all", "--json").json
    for words, code, said in (
        (("label", "head"), 2, "'head' is a reserved name"),
        (("label", "a~1"), 2, "a label must not contain ~, which counts changes back: 'a~1'"),
        (("label", " "), 2, "a label must not be empty"),
        (("label", "two\nlines"), 2, "a label is one line of printable characters"),
        (("branch", named("b")), 2, f"'{named('b')}' is the id of an event"),
        (("label", "x", "root"), 3, "there is no event to label before the first change"),
        (("label", "x", "nope"), 4, "no event has the label or id 'nope', and no id begins with it"),
        (("label", "x", "--remove"), 4, "no event has the label 'x'"),
        (("label", "--remove"), 2, "--remove requires a NAME: tildone label NAME --remove"),
        (("label", "x", "a", "--remove"), 2, "--remove takes no EVENT: tildone label NAME --remove"),
        (("branch", "x", "--json"), 2, "tildone branch --json lists all branches; it takes no NAME"),
        (("checkout",), 2, "tildone checkout requires EVENT; see tildone checkout --help"),
    ):
        assert person.refused(code, *words) == f"tildone: {said}\n", words
        assert person.run("log", "--all", "--json").json == before, words


def test_an_id_that_fits_several_events_names_them(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)
    ids = [event["id"] for event in person.run("log", "--json").json["events"]]

    assert person.refused(4, "checkout", "01") == f"tildone: '01' matches 2 events: {ids[1][:10]}, {ids[0][:10]}\n"
    assert person.says("checkout", ids[1][:10]).startswith(f"Moved to {ids[1][:10]}, ")


def test_a_name_is_given_listed_gone_to_and_taken_off(person: Person) -> None:
    three(person)

    said = person.says("label", "before b", "~2"), person.says("label", "now")
    listed = person.says("label").splitlines()
    told = [(each["label"], each["id"]) for each in person.run("label", "--json").json["labels"]]
    there = person.says("checkout", "before b")
    off = person.says("label", "now", "--remove")

    assert said == (
        "Labelled aaaaaaaaaa “before b”.\nTo return to it: tildone checkout 'before b'\n",
        "Labelled cccccccccc “now”.\nTo return to it: tildone checkout now\n",
    )
    assert [line.partition("agent")[2] for line in listed] == ["  completed “a”  (now)", "  added “a”  (before b)"]
    assert told == [("now", named("c")), ("before b", named("a"))]
    assert there.startswith("Moved to aaaaaaaaaa, ")
    assert off == "Removed the label of cccccccccc.\n"
    assert [each["label"] for each in person.run("label", "--json").json["labels"]] == ["before b"]


def test_a_name_is_not_taken_from_another_event_unless_it_is_forced(person: Person) -> None:
    three(person)
    person.says("label", "v1", "a")

    refused, same = person.run("label", "v1"), person.says("label", "v1", "aaa")
    forced = person.says("label", "v1", "--force")
    renamed = person.says("branch", "v2")

    assert (refused.code, refused.err) == (
        3,
        "tildone: aaaaaaaaaa has the label 'v1'; to move it to cccccccccc, use --force\n",
    )
    assert same == "aaaaaaaaaa already has the label “v1”.\n"
    assert forced.startswith("Labelled cccccccccc “v1”.\n")
    assert renamed.startswith("Labelled cccccccccc “v2”. It was labelled “v1”.\n")
    told = [(each["label"], each["id"]) for each in person.run("label", "--json").json["labels"]]
    assert told == [("v2", named("c"))]


def test_branch_with_a_name_names_where_the_plan_stands_and_a_name_leaves_redo_open(person: Person) -> None:
    three(person)

    said = person.says("branch", "first-try")
    person.says("todo", "append", "c")

    assert said == "Labelled cccccccccc “first-try”.\nTo return to it: tildone checkout first-try\n"
    assert person.says("branch").endswith("  1/3  first-try+1\n")
    assert person.says("checkout", "first-try").startswith("Moved to cccccccccc, ")

    person.says("undo")

    person.says("label", "undone")

    assert person.says("redo") == "Redid: completed #1 “a”\n1 of 2 closed. Next: #2 b\n"


def test_a_session_that_never_began_has_neither_branches_nor_names_nor_tasks_to_blame(person: Person) -> None:
    nothing = f"{person.folder} has no events yet. Start with: tildone todo add TEXT\n"

    assert person.says("branch") == person.says("diff") == nothing
    assert person.says("label") == ("There are no labels. To label the current point: tildone label NAME\n")
    assert person.run("branch", "--json").json["branches"] == person.run("label", "--json").json["labels"] == []
    for words in (("label", "x"), ("branch", "x")):
        assert person.refused(3, *words) == "tildone: there is no event to label before the first change\n"

    assert person.says("blame") == f"No tasks in {person.folder}. Add one with: tildone todo add TEXT\n"
    no_tasks = {"version": 1, "session": str(person.folder), "at": None, "tasks": []}
    assert person.run("blame", "--json").json == no_tasks


def test_another_session_has_a_history_of_its_own(person: Person) -> None:
    three(person)
    kept(person, plan_of("x"), plan_of("x", "y"), session="other")

    person.says("checkout", "head~1", "--session", "other")

    assert person.says("todo", "--session", "other") == "– #1 x\n"
    assert person.says("todo") == "✓ #1 a\n– #2 b\n"


NASTY = "A task with a rather long text, 漢字も, and\x1b[2J more\nof it"
SEEN = "A task with a rather long text, 漢字も, and␛[2J more⏎of it"


def build(person: Person) -> None:
    kept(
        person,
        Plan((Phase("Build", (Task("Parse"), Task("Wire"))),)),
        Plan((Phase("Build", (Task("Parse", IN_PROGRESS), Task("Wire"))),)),
        Plan((Phase("Build", (Task("Parse", COMPLETED),)), Phase("Ship", (Task("Wire", IN_PROGRESS, ("soon",)),)))),
        tool="todo_write",
    )


def test_diff_shows_the_newest_change_or_what_changed_since_an_event_or_between_two(person: Person) -> None:
    build(person)

    assert person.says("diff") == (
        "bbbbbbbbbb → cccccccccc  0/2 → 1/2\n"
        "Build 1/1\n"
        "  ~ #1 Parse: completed\n"
        "\n"
        "+ Ship 0/1\n"
        "  ~ #2 Wire: started, moved from Build\n"
        "    + │ soon\n"
    )

    answer = person.run("diff", "head", "c")

    assert (answer.code, answer.out) == (0, "No difference: the plan is the same at cccccccccc and cccccccccc.\n")
    told = person.run("diff", "head", "--json").json
    assert (told["from"]["id"], told["to"]["id"], told["phases"]) == (named("c"), named("c"), [])

    told = person.run("diff", "--json").json

    assert (told["from"]["id"], told["to"]["id"]) == (named("b"), named("c"))
    assert [(phase["phase"], phase["sign"], len(phase["tasks"])) for phase in told["phases"]] == [
        ("Build", None, 1),
        ("Ship", "+", 1),
    ]
    assert told["phases"][1]["tasks"][0]["from"] == "Build"
    nothing = {"version": 1, "session": "other", "from": None, "to": None, "phases": []}
    assert person.run("diff", "--json", "--session", "other").json == nothing

    person.says("label", "begin", "a")

    assert person.says("diff", "begin").startswith("aaaaaaaaaa → ")
    assert person.says("diff", "root", "begin") == (
        "root → aaaaaaaaaa  0/0 → 0/2\n+ Build 0/2\n  + #1 Parse\n  + #2 Wire\n"
    )
    assert person.says("diff", "b", "a") == "bbbbbbbbbb → aaaaaaaaaa  0/2 → 0/2\nBuild 0/2\n  ~ #1 Parse: put back\n"


def test_blame_tells_the_whole_life_of_a_task_with_the_calls_also_to_programs(person: Person) -> None:
    build(person)

    by_text, by_number, by_part = (person.says("blame", word) for word in ("WIRE", "2", "ire"))

    assert [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", line).strip() for line in by_text.splitlines()] == [
        "● #2 Wire  Ship",
        "aaaaaaaaaa  WHEN  agent  added",
        'todo_write {"n":0}',
        "cccccccccc  WHEN  agent  moved to Ship",
        "started",
        "noted: soon",
        'todo_write {"n":2}',
    ]
    assert by_text == by_number == by_part

    told = person.run("blame", "--json").json
    [parse, wire] = told["tasks"]
    [whole] = person.run("blame", "parse", "--json").json["tasks"]

    nobody = {"name": None, "agent": None, "model": None}
    by = {"actor": "agent", "author": nobody, "tool": "todo_write"}
    closed = {"id": named("c"), "at": "1970-01-01T00:02:00.000Z", **by}
    assert (told["version"], told["session"], told["at"]) == (1, str(person.folder), named("c"))
    assert parse == {
        "number": 1,
        "text": "Parse",
        "status": "completed",
        "phase": "Build",
        "position": 0,
        "from_user": False,
        "added": {"id": named("a"), "at": "1970-01-01T00:00:00.000Z", **by},
        "closed": closed,
    }
    assert wire["closed"] is None
    assert whole["history"][-1] == closed | {"arguments": '{"n":2}', "what": ["completed"], "in_progress_ms": 60_000}

    for words, said in (
        (("blame", "nothing like it"), 'no task on this branch contains "nothing like it"'),
        (("blame", "7"), "there is no task #7: the tasks are #1, #2"),
        (("blame", " "), 'no task on this branch contains " "'),
        (("blame", "7", "--at", "root"), "there is no task #7: the plan is empty"),
        (("blame", "--at", "nope"), "no event has the label or id 'nope', and no id begins with it"),
    ):
        assert person.refused(4, *words) == f"tildone: {said}\n", words

    person.says("todo", "done", "wire")

    lines = person.says("blame").splitlines()

    assert [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", line) for line in lines[:-1]] == [
        "✓ #1 Parse  Build",
        "  aaaaaaaaaa  WHEN  agent  added  todo_write",
        "  cccccccccc  WHEN  agent  completed (1m)  todo_write",
        "✓ #2 Wire  Ship",
        "  aaaaaaaaaa  WHEN  agent  added  todo_write",
    ]
    assert re.match(r"  \w{10}  .*  Ada  completed \(\d+d( \d+h)?\)$", lines[-1])


def test_blame_knows_the_plan_as_it_was_and_what_left_it(person: Person) -> None:
    kept(person, plan_of("Old", "Older"), plan_of("Old"), plan_of("New"))

    assert "Older" in person.says("blame", "--at", "head~2")
    assert person.says("blame").startswith("– #1 New\n")
    assert person.says("blame", "older").splitlines()[0] == "– Older"
    assert len(person.run("blame", "old", "--json").json["tasks"]) == 1
    assert len(person.run("blame", "ol", "--json").json["tasks"]) == 2


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
