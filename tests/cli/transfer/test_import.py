"""`tildone import`.

Plans and whole histories out of other programs' files, and a word about everything that is left out.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person

FILES = Path(__file__).parent / "files"

TASKS = """\
- [x] Read the grammar
  > It is in docs/grammar.md.
- [/] Write the parser
  > owner: ada
- [ ] Tell everybody
  > pr: 12
"""


def given(person: Person, *names: str) -> list[str]:
    """Files of other programs, in the person's folder."""
    for name in names:
        copy = shutil.copytree if (FILES / name).is_dir() else shutil.copy
        copy(FILES / name, person.folder / name)
    return list(names)


def plan(person: Person, *words: str) -> str:
    return person.says("export", *words)


def test_a_checklist_among_prose_becomes_the_plan(person: Person) -> None:
    answer = person.run("import", *given(person, "issue.md"))

    assert (answer.code, answer.out) == (
        0,
        "Imported issue.md: 4 tasks in 1 phase\n1 of 4 closed. Next: #2 Read Claude Code's tasks\n",
    )
    assert answer.err == (
        "Not imported from issue.md:\n"
        "  line 3: a comment is not imported\n"
        "  line 9: a nested task follows its parent; the nesting is lost\n"
        "  line 13: a task in code is not imported\n"
        "  line 1: a heading without tasks is not imported\n"
        "  lines 3, 12, 13 and 1 more: text outside of tasks is not imported\n"
    )
    assert plan(person) == (
        "# Tasks\n- [x] #12\n- [ ] Read Claude Code's tasks\n- [ ] the older form, too\n- [ ] Say what is lost\n"
    )
    assert person.run("log", "--json", "--limit", "1").json["events"][0]["actor"] == "import"


@pytest.mark.parametrize(
    "words", [["claude-tasks"], ["claude-tasks/1.json", "claude-tasks/2.json", "claude-tasks/10.json"]]
)
def test_the_tasks_of_claude_code_become_the_plan(person: Person, words: list[str]) -> None:
    """By their folder, with a lock in it, or one by one, as a shell lists them."""
    given(person, "claude-tasks")
    (person.folder / "claude-tasks" / ".lock").touch()

    answer = person.run("import", *words)

    assert (answer.code, answer.out) == (
        0,
        "Imported claude-tasks: 3 tasks in 1 phase\n1 of 3 closed. In progress: #2 Write the parser\n",
    )
    assert "task 2: it is placed after its blockers; the dependency is not imported\n" in answer.err
    assert plan(person) == TASKS


def test_the_older_todos_of_claude_code_become_the_plan(person: Person) -> None:
    """One file is one list; one file of one task is a list of one."""
    given(person, "claude-tasks")

    assert person.run("import", *given(person, "claude-todos.json")).code == 0

    assert plan(person) == ("- [x] Read the grammar\n- [/] Write the parser\n- [ ] Tell everybody\n  > priority: low\n")
    assert person.run("import", "claude-tasks/1.json").code == 0
    assert plan(person) == "- [x] Read the grammar\n  > It is in docs/grammar.md.\n"


def test_a_todo_txt_becomes_the_plan_and_goes_back(person: Person) -> None:
    """To the letter, but that a phase's tasks stand together."""
    given(person, "todo.txt")

    answer = person.run("import", "todo.txt")

    assert answer.out.startswith("Imported todo.txt: 4 tasks in 3 phases\n")
    assert "lines 1 and 2: a priority is kept in the text\n" in answer.err
    assert plan(person, "--as", "todo.txt") == (person.folder / "todo.txt").read_text(encoding="utf-8").replace(
        "+GarageSale @phone", "@phone +GarageSale"
    )


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("TODO", "- [ ] a\n", "markdown"),
        ("list.txt", "- [ ] a\n", "markdown"),
        ("list.txt", "a\n", "todo.txt"),
        ("list", "(A) a\n", "todo.txt"),
        ("list", "x 2026-01-01 a\n", "todo.txt"),
        ("plan.MD", "[ ] no box\n", "markdown"),
        ("empty", "", "markdown"),
        ("data", '[{"content": "a"}]', "claude"),
        ("data.json", "[]", "claude"),
        ("data.md", '{"subject": "a"}', "claude"),
        ("notes.md", "[a] link\n- [ ] a\n", "markdown"),
    ],
)
def test_the_format_is_detected(person: Person, name: str, text: str, form: str) -> None:
    (person.folder / name).write_text(text, encoding="utf-8")

    [imported] = person.run("import", name, "--json").json["imported"]

    assert imported["format"] == form


def test_an_explicit_format_takes_precedence_and_the_rules_of_the_session_hold_for_a_file(person: Person) -> None:
    """What an agent's tools could not read again is not put before it."""
    assert person.run("import", "-", "--from", "todo.txt", given="- [ ] a\n").code == 0

    assert plan(person) == "- [ ] - [ ] a\n"

    person.says("call", "TodoWrite", '{"summary": "s", "todos": [{"content": "a", "status": "pending"}]}')
    (person.folder / "plan.md").write_text("- [/] a\n- [/] b\n", encoding="utf-8")

    assert person.run("import", "plan.md").code == 3
    assert person.run("import", "plan.md", "--dry-run").code == 3
    assert plan(person) == "- [ ] a\n"


@pytest.mark.parametrize(
    ("words", "held", "code", "complaint"),
    [
        (
            ["-"],
            "prose",
            2,
            "cannot detect the format of standard input; use --from pi, claude, markdown, todo.txt, json",
        ),
        (["-", "--from", "org"], "", 2, "there is no format 'org'; known are pi, claude, markdown, todo.txt, json"),
        (["-", "--from", "todo.text"], "", 2, "there is no format 'todo.text'; did you mean 'todo.txt'?"),
        (["-", "--from", "claude"], "{", 3, "could not read standard input as claude: Expecting property name"),
        (["-", "--from", "claude"], "{}", 3, "could not read standard input as claude: not a list of todos"),
        (["-", "--from", "json"], "[]", 3, "could not read standard input as json: not a session archive of tildone"),
        (["-", "--from", "json"], "[" * 200_000, 3, "could not read standard input as json: nested too deeply"),
        (["x.json"], "{", 3, "could not read x.json: Expecting property name"),
        (["x.json"], "{}", 3, "could not read x.json: it is neither a session nor a list of tasks"),
        (["gone.md"], "", 4, "could not read gone.md: No such file or directory"),
        (["a.md", "gone.md"], "- [ ] a", 4, "could not read gone.md: No such file or directory"),
        ([".", "--from", "markdown"], "", 3, ". is a folder, but a markdown import is a file"),
        (["."], "", 3, ". contains no tasks of Claude Code; name the folder of one session"),
        (["x.json", "--into", "a", "--session", "b"], "[]", 2, "--into and --session name different sessions"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows says some of it differently")
def test_an_unreadable_file_is_reported_and_changes_nothing(
    person: Person, words: list[str], held: str, code: int, complaint: str
) -> None:
    person.says("todo", "append", "one")
    if not words[0].startswith(("-", ".", "gone")):
        (person.folder / words[0]).write_text(held, encoding="utf-8")

    assert complaint in person.refused(code, "import", *words, given=held)
    assert plan(person) == "- [ ] one\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows writes paths differently")
def test_a_folder_that_holds_something_else_is_refused(person: Person) -> None:
    (person.folder / "tasks").mkdir()
    for name, held, complaint in (
        ("1.json", "{", "could not read tasks/1.json: Expecting"),
        ("1.json", "[]", "tasks/1.json is a whole list of todos; import that file, not its folder"),
        ("1.json", "{}", "tasks/1.json is not a task of Claude Code: it has no subject"),
    ):
        (person.folder / "tasks" / name).write_text(held, encoding="utf-8")

        answer = person.run("import", "tasks")

        assert answer.code == 3, held
        assert complaint in answer.err, held


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_writes_is_read(person: Person, encoding: str) -> None:
    (person.folder / "plan.md").write_bytes("# Bäume\r\n- [ ] ä\r\n".encode(encoding))

    person.says("import", "plan.md")

    assert plan(person) == "# Bäume\n- [ ] ä\n"


def test_a_binary_file_is_refused(person: Person) -> None:
    (person.folder / "plan.md").write_bytes(b"- [ ] \xe4\n")

    assert person.refused(3, "import", "plan.md") == "tildone: could not read plan.md: it is not UTF-8 text\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows says it differently")
def test_a_file_that_cannot_be_opened_is_said(person: Person) -> None:
    (person.folder / "plan.md").touch()

    answer = person.run("import", "plan.md/x.md")

    assert (answer.code, answer.err) == (1, "tildone: could not read plan.md/x.md: Not a directory\n")


def test_several_files_become_one_plan(person: Person) -> None:
    """Tasks without a phase get one of their file's name, so that they stay apart."""
    (person.folder / "a.md").write_text("- [ ] one\n", encoding="utf-8")
    (person.folder / "b.txt").write_text("(A) two\nthree +P\n", encoding="utf-8")

    answer = person.run("import", "a.md", "b.txt")

    assert answer.out.startswith("Imported a.md, b.txt: 3 tasks in 3 phases\n")
    assert answer.err == (
        "Not imported from a.md, b.txt:\n"
        "  tasks without a phase in a.md are in phase “a”\n"
        "  line 1: a priority is kept in the text (b.txt)\n"
        "  tasks without a phase in b.txt are in phase “b”\n"
    )
    assert plan(person) == "# a\n- [ ] one\n\n# b\n- [ ] (A) two\n\n# P\n- [ ] three\n"


@pytest.mark.parametrize(("name", "text"), [("plan.md", "# Heading\n"), ("todo.txt", "\n"), ("todos.json", "[]")])
def test_a_file_without_a_task_does_not_wipe_a_plan_unless_forced(person: Person, name: str, text: str) -> None:
    person.says("todo", "append", "one")
    (person.folder / name).write_text(text, encoding="utf-8")

    assert (
        person.refused(3, "import", name)
        == f"tildone: {name} contains no tasks; to empty the plan, use --force or: tildone todo rm\n"
    )
    assert person.run("import", name, "--force").code == 0
    assert person.says("todo").startswith("No tasks")


def test_a_dry_run_shows_the_plan_and_another_session_can_be_named(person: Person) -> None:
    (person.folder / "todo.txt").write_text("x one +A\n(B) two +A\n", encoding="utf-8")

    answer = person.run("import", "todo.txt", "--dry-run")

    assert answer.out == "Would import todo.txt: 2 tasks in 1 phase\nA 1/2\n  ✓ #1 one\n  – #2 (B) two\n"
    assert "line 2: a priority" in answer.err
    assert " has no sessions yet. " in person.says("sessions")

    (person.folder / "plan.md").write_text("- [ ] a\n", encoding="utf-8")

    said = person.says("import", "plan.md", "--into", "an other")

    assert said == "Imported plan.md: 1 task in 1 phase\n0 of 1 closed. Next: #1 a\n"
    assert person.says("todo", "--session", "an other") == "– #1 a\n"


def test_the_first_warnings_are_printed_and_all_with_verbose(person: Person) -> None:
    lines = [f"a k{number}:1\n" for number in range(7)] + ["(A) b\n"] * 5
    (person.folder / "todo.txt").write_text("".join(lines), encoding="utf-8")

    short, long = person.run("import", "todo.txt").err, person.run("import", "todo.txt", "--verbose").err
    data = person.run("import", "todo.txt", "--json")

    assert short.splitlines()[-2:] == [
        "  line 5: the field k4: is kept in the text",
        "  and 3 more (use --verbose to list all)",
    ]
    assert long.splitlines()[-1] == ("  lines 8, 9, 10, 11 and 12: a priority is kept in the text")
    assert len(long.splitlines()) == 9
    assert (data.err, len(data.json["imported"][0]["said"])) == ("", 8)


def test_import_prints_json(person: Person) -> None:
    (person.folder / "plan.md").write_text("# P\n- [ ] a\n", encoding="utf-8")

    first, again = (person.run("import", "plan.md", "--json").json for _ in range(2))

    assert first == {
        "version": 1,
        "dry_run": False,
        "imported": [
            {
                "file": "plan.md",
                "format": "markdown",
                "session": str(person.folder.resolve()),
                "phases": 1,
                "tasks": 1,
                "changed": True,
                "proposed_checks": 0,
                "new_events": None,
                "said": [],
            }
        ],
    }
    assert again["imported"][0]["changed"] is False


def test_file_names_and_content_are_made_printable(person: Person) -> None:
    name = "a\x1b[2J.md"
    if os.name == "nt":
        pytest.skip("no such name is possible")
    (person.folder / name).write_text("# H\n- [\x07] b\x1b[31m\n", encoding="utf-8")

    shown = person.at_terminal("import", name, NO_COLOR="1").end().out

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "Imported a␛[2J.md: 1 task" in shown
    assert "unknown mark [␇]; the task is imported as pending" in shown


PI = "01a1dcac-0000-7000-8000-00000000000"


def shape(person: Person, *words: str) -> tuple[list[int | None], int | None]:
    """The tree of a session: which event each follows, by its place, and at which the session stands."""
    data: dict[str, Any] = person.run("export", "--as", "json", *words).json
    places = {event["id"]: place for place, event in enumerate(data["events"])}
    return [places.get(event["parent"]) for event in data["events"]], places.get(data["place"]["head"])


@pytest.mark.parametrize(("version", "messages"), [("1", 3), ("2", 4)])
def test_a_session_of_any_version_is_taken_over(person: Person, version: str, messages: int) -> None:
    """Into a session of its own, named by the file; the conversation stays where it is, and that is said."""
    answer = person.run("import", str(FILES / f"pi-v{version}.jsonl"))

    assert answer.code == 0
    assert answer.out.splitlines()[-2:] == [
        "1 of 2 closed. Next: #2 Wire up",
        f"To show it: tildone todo --session {PI}{version}",
    ]
    assert answer.out.splitlines()[0].endswith(f": 2 events, into session '{PI}{version}'")
    assert answer.err.splitlines()[1] == f"  {messages} messages not imported"
    assert person.says("todo", "--session", f"{PI}{version}") == "✓ #1 [0] Parse\n– #2 [1] Wire up\n"
    assert person.says("todo").startswith("No tasks")


def test_a_session_is_taken_over_with_all_its_branches(person: Person) -> None:
    """It stands where the file stands, and what was left there can be gone back to."""
    assert person.run("import", str(FILES / "pi-v3.jsonl"), "--session", "s").code == 0

    assert shape(person, "--session", "s") == ([None, 0, 0], 2)
    assert person.says("todo", "--session", "s") == "– #1 [0] Parse\n● #2 [1] Wire up\n"


def test_a_session_on_standard_input_is_taken_over(person: Person) -> None:
    """Also through a pipe, which can be read only once."""
    for name, title in (("-", "standard input"), ("/dev/stdin", "/dev/stdin")):
        if name == "-" or Path(name).exists():
            copy = ("--store", f"{title.rpartition('/')[2]}.db")
            answer = person.run("import", name, *copy, given=(FILES / "pi-v3.jsonl").read_bytes())
            assert answer.out.startswith(f"Imported {title}: 3 events, into session '{PI}3'\n")


def test_archives_that_are_called_like_tasks_are_archives(person: Person) -> None:
    for name in ("1", "2"):
        person.says("todo", "append", "a", "--session", name)
        person.says("export", f"{name}.json", "--session", name)

    answer = person.run("import", "1.json", "2.json", "--store", "other.db", "--json")

    assert [imported["session"] for imported in answer.json["imported"]] == ["1", "2"]


def test_taking_it_over_again_changes_nothing(person: Person) -> None:
    """And what was added since is all that is new."""
    path = person.folder / "run.jsonl"
    lines = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), encoding="utf-8")
    first = person.run("import", "run.jsonl", "--json").json["imported"][0]

    again = person.run("import", "run.jsonl").out
    path.write_text("".join(lines), encoding="utf-8")
    later = person.run("import", "run.jsonl", "--dry-run", "--json").json["imported"][0]
    last = person.run("import", "run.jsonl").out

    assert (first["new_events"], later["new_events"]) == (1, 2)
    assert again.splitlines()[:2] == [
        f"Imported run.jsonl: 1 event, 0 of them new, into session '{PI}3'",
        "Nothing changed.",
    ]
    assert last.splitlines()[0] == f"Imported run.jsonl: 3 events, 2 of them new, into session '{PI}3'"


def test_what_was_done_here_meanwhile_is_kept_on_a_branch(person: Person) -> None:
    """The session goes to where the file stands; nothing of it is lost."""
    person.run("import", str(FILES / "pi-v1.jsonl"), "--session", "s")
    person.says("todo", "append", "Mine", "--session", "s")

    person.run("import", str(FILES / "pi-v1.jsonl"), "--session", "s")

    assert person.says("todo", "--session", "s") == "✓ #1 [0] Parse\n– #2 [1] Wire up\n"
    assert shape(person, "--session", "s") == ([None, 0, 1], 1)


def test_a_session_without_a_plan_or_a_conversation_of_another_program_is_refused(person: Person) -> None:
    header = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    (person.folder / "run.jsonl").write_text(f"{header}\n", encoding="utf-8")

    assert person.refused(3, "import", "run.jsonl") == "tildone: run.jsonl contains no plan\n"

    (person.folder / "rollout.jsonl").write_text('{"timestamp": "x", "type": "session_meta"}\n', encoding="utf-8")

    answer = person.run("import", "rollout.jsonl")

    assert answer.code == 5
    assert "is not a session file" in answer.err


def test_an_archive_is_the_session_again(person: Person) -> None:
    """In another store: every event, the undone ones, and the way forward."""
    for text in ("one", "two", "three"):
        person.says("todo", "append", text)
    person.says("undo")
    person.says("todo", "done", "one")
    person.says("undo")
    person.says("export", "plan.json")

    assert person.run("import", "plan.json", "--store", "other.db").out.startswith("Imported plan.json: 4 events\n")
    assert person.says("export", "--as", "json") == person.says("export", "--as", "json", "--store", "other.db")
    assert person.says("redo", "--store", "other.db") == person.says("redo")


def test_an_archive_whose_plan_was_edited_is_said(person: Person) -> None:
    person.says("todo", "append", "one")
    text = person.says("export", "--as", "json").replace('"text":"one"', '"text":"two"', 1)

    answer = person.run("import", "-", "--into", "copy", given=text)

    assert answer.err == (
        "Not imported from standard input:\n  the plan in it is not what its events lead to; the events are imported\n"
    )
    assert person.says("todo", "--session", "copy") == "– #1 one\n"


def test_events_that_clash_are_refused_with_a_way_out(person: Person) -> None:
    """Two histories that call different things the same do not fit into one session."""
    shutil.copy(FILES / "pi-v3.jsonl", person.folder / "run.jsonl")
    person.run("import", "run.jsonl", "--session", "s")
    text = (person.folder / "run.jsonl").read_text(encoding="utf-8")
    (person.folder / "run.jsonl").write_text(text.replace("Wire up", "Wire down"), encoding="utf-8")

    assert (
        person.refused(5, "import", "run.jsonl", "--session", "s")
        == "tildone: session 's' has different events with the same ids; import run.jsonl into another with --session\n"
    )
    assert person.says("todo", "--session", "s") == "– #1 [0] Parse\n● #2 [1] Wire up\n"


def test_several_histories_go_each_into_its_own_session(person: Person) -> None:
    """And beside them, a plan into this one; but they do not go into one."""
    (person.folder / "plan.md").write_text("- [ ] a\n", encoding="utf-8")
    files = [str(FILES / f"pi-v{version}.jsonl") for version in (1, 2)]

    assert person.run("import", *files, "--session", "s").code == 2
    answer = person.run("import", files[0], "plan.md", files[1], "--json")

    sessions = [imported["session"] for imported in answer.json["imported"]]
    assert sessions == [f"{PI}1", f"{PI}2", str(person.folder.resolve())]
    assert {info["name"] for info in person.run("sessions", "--json").json["sessions"]} == set(sessions)
