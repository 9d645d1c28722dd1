"""`tildone checkout`, `branch` and `label`: every point of a plan's history can be named and gone back to."""

import re

from tests.cli.history.histories import kept, named
from tests.cli.person import Person
from tests.plans import COMPLETED
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.model import Task, flat


def three(person: Person) -> None:
    kept(person, plan_of("a"), plan_of("a", "b"), flat(Task("a", COMPLETED), Task("b")))


def test_checkout_goes_there_and_says_how_to_come_back(person: Person) -> None:
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


def test_checkout_goes_to_before_the_first_change_and_back(person: Person) -> None:
    three(person)

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


def test_what_names_no_event_is_not_found(person: Person) -> None:
    three(person)
    for word, said in (
        ("nope", "no event has the label or id 'nope', and no id begins with it"),
        ("head~4", "'head~4' goes back too far: 3 changes lead there"),
        ("", "an empty name names no event"),
    ):
        for verb in ("checkout", "diff"):
            answer = person.run(verb, word)
            assert (answer.code, answer.out, answer.err) == (4, "", f"tildone: {said}\n"), word


def test_an_id_that_fits_several_events_names_them(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)
    ids = [event["id"] for event in person.run("log", "--json").json["events"]]

    answer = person.run("checkout", "01")

    assert (answer.code, answer.err) == (4, f"tildone: '01' matches 2 events: {ids[1][:10]}, {ids[0][:10]}\n")
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


def test_branch_with_a_name_names_where_the_plan_stands(person: Person) -> None:
    three(person)

    said = person.says("branch", "first-try")
    person.says("todo", "append", "c")

    assert said == "Labelled cccccccccc “first-try”.\nTo return to it: tildone checkout first-try\n"
    assert person.says("branch").endswith("  1/3  first-try+1\n")
    assert person.says("checkout", "first-try").startswith("Moved to cccccccccc, ")


def test_a_name_given_after_an_undo_leaves_redo_open(person: Person) -> None:
    three(person)
    person.says("undo")

    person.says("label", "undone")

    assert person.says("redo") == "Redid: completed #1 “a”\n1 of 2 closed. Next: #2 b\n"


def test_what_cannot_be_done_is_said_and_changes_nothing(person: Person) -> None:
    three(person)
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
        (
            ("label", "x", "a", "--remove"),
            2,
            "--remove takes no EVENT: tildone label NAME --remove",
        ),
        (("branch", "x", "--json"), 2, "tildone branch --json lists all branches; it takes no NAME"),
        (("checkout",), 2, "tildone checkout requires EVENT; see tildone checkout --help"),
    ):
        answer = person.run(*words)

        assert (answer.code, answer.out, answer.err) == (code, "", f"tildone: {said}\n"), words
        assert person.run("log", "--all", "--json").json == before, words


def test_a_session_that_never_began_has_neither_branches_nor_names(person: Person) -> None:
    nothing = f"{person.folder} has no events yet. Start with: tildone todo add TEXT\n"

    assert person.says("branch") == person.says("diff") == nothing
    assert person.says("label") == ("There are no labels. To label the current point: tildone label NAME\n")
    assert person.run("branch", "--json").json["branches"] == person.run("label", "--json").json["labels"] == []
    for words in (("label", "x"), ("branch", "x")):
        answer = person.run(*words)
        assert (answer.code, answer.err) == (3, "tildone: there is no event to label before the first change\n")


def test_another_session_has_a_history_of_its_own(person: Person) -> None:
    three(person)
    kept(person, plan_of("x"), plan_of("x", "y"), session="other")

    person.says("checkout", "head~1", "--session", "other")

    assert person.says("todo", "--session", "other") == "– #1 x\n"
    assert person.says("todo") == "✓ #1 a\n– #2 b\n"
