"""`tildone log`, `undo`, `redo` and `sessions`.

Nothing is lost, who did it is told, and a call with two effects is one change.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.history.histories import kept, named
from tests.cli.person import Person
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tests.stores.postgres import needs_server, running_server
from tests.trusted import write_trusted
from tildone.plan.model import Phase, Plan, Task, flat


def test_what_happened_is_told_newest_first(person: Person) -> None:
    person.says("todo", "append", "Build", "Parse")
    person.says("todo", "start", "parse")

    lines = person.says("log").splitlines()

    assert [re.sub(r"\w{4,20}  \d{4}-\d\d-\d\d \d\d:\d\d", "ID WHEN", line) for line in lines] == [
        "* ID WHEN  Ada  started #1 “Parse”",
        "│ ID WHEN  Ada  added phase “Build”",
        f"{' ' * (lines[1].index('added'))}added #1 “Parse”",
    ]


def test_as_many_events_are_told_as_asked_for(person: Person) -> None:
    for text in ("a", "b", "c", "d"):
        person.says("todo", "append", text)

    told = [event["what"] for event in person.run("log", "--json", "--limit", "2").json["events"]]

    assert told == [["added #4 “d”"], ["added #3 “c”"]]
    assert len(person.run("log", "--json").json["events"]) == 4


def test_nothing_happened_yet_and_no_session_yet_are_sentences(person: Person) -> None:
    assert person.says("log") == (f"{person.folder} has no events yet. Start with: tildone todo add TEXT\n")
    assert person.run("log", "--json").json == {"version": 1, "session": str(person.folder), "events": []}

    store = person.folder / "plans.db"

    said = person.says("sessions", "--store", "plans.db")

    assert said == f"{store} has no sessions yet. Start one with: tildone todo add TEXT\n"


def test_the_end_of_a_tasks_time_in_progress_says_how_long_that_was(person: Person) -> None:
    kept(person, plan_of("Parse"), flat(Task("Parse", IN_PROGRESS)), flat(Task("Parse", COMPLETED)))

    lines = person.says("log", "--limit", "1").splitlines()
    told = person.run("log", "--limit", "1", "--json").json["events"]

    assert [line.partition("agent")[2] for line in lines] == ["  completed “Parse” (1m)"]
    assert [(event["what"], event["in_progress_ms"]) for event in told] == [(["completed “Parse”"], [60_000])]


def test_how_long_each_task_took_is_a_table(person: Person) -> None:
    kept(
        person,
        plan_of("Parse", "Wire", "Old"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire")),
        flat(Task("Parse", COMPLETED), Task("Wire")),
    )

    assert person.says("log", "--tasks").splitlines() == [
        "worked on  in all  closed by  task",
        "       1m      2m  agent      ✓ #1 Parse",
        "        –       –  –          – #2 Wire",
        "",
        "No longer in the plan:",
        "        –       –  –          – Old",
    ]
    nobody = {"name": None, "agent": None, "model": None}
    by = {"actor": "agent", "author": nobody, "tool": None}
    assert person.run("log", "--tasks", "--json").json["tasks"][0] == {
        "number": 1,
        "text": "Parse",
        "status": "completed",
        "phase": "",
        "position": 0,
        "from_user": False,
        "added": {"id": named("a"), "at": "1970-01-01T00:00:00.000Z", **by},
        "closed": {"id": named("c"), "at": "1970-01-01T00:02:00.000Z", **by},
        "in_progress_ms": 60_000,
        "lifetime_ms": 120_000,
    }


def test_a_task_that_is_still_in_progress_counts_until_now(person: Person) -> None:
    person.says("todo", "append", "Parse")
    person.says("todo", "start", "parse")

    [told] = person.run("log", "--tasks", "--json").json["tasks"]

    assert 0 <= told["in_progress_ms"] < 60_000
    assert told["lifetime_ms"] is None


def test_the_table_tells_when_there_is_nothing_to_tell(person: Person) -> None:
    before = person.says("log", "--tasks")
    person.says("todo", "append", "x")
    person.says("undo")

    assert before == person.says("log", "--session", "other").replace("session 'other'", str(person.folder))
    assert person.says("log", "--tasks") == (
        "This is before the first change. Later changes are on a branch: tildone branch\n"
    )
    assert person.run("log", "--tasks", "--json").json["tasks"] == []
    kept(person, Plan((Phase("Empty"),)), session="empty")
    assert person.says("log", "--tasks", "--session", "empty") == "This branch has no tasks yet.\n"


@pytest.mark.parametrize("other", [("--all",), ("--limit", "3")])
def test_the_table_is_of_every_task_of_this_branch(person: Person, other: tuple[str, ...]) -> None:
    assert (
        person.refused(2, "log", "--tasks", *other)
        == "tildone: log --tasks lists every task of this branch; it takes neither --all nor --limit\n"
    )


def test_undo_and_redo_say_what_they_did(person: Person) -> None:
    person.says("todo", "append", "Build", "Parse")
    person.says("todo", "done", "parse")

    said = [person.says("undo"), person.says("undo"), person.says("redo"), person.says("redo")]

    assert said == [
        "Undid: completed #1 “Parse”\n0 of 1 closed. Next: #1 Parse\n",
        "Undid: added phase “Build”; added #1 “Parse”\nThe plan is now empty.\n",
        "Redid: added phase “Build”; added #1 “Parse”\n0 of 1 closed. Next: #1 Parse\n",
        "Redid: completed #1 “Parse”\n1 of 1 closed: nothing is left to do.\n",
    ]


def test_several_changes_are_undone_and_made_again_at_once(person: Person) -> None:
    for text in ("a", "b", "c"):
        person.says("todo", "append", text)

    said = [person.says("undo", "2"), person.says("redo", "2")]

    assert said == [
        "Undid 2 changes: added #2 “b”; added #3 “c”\n0 of 1 closed. Next: #1 a\n",
        "Redid 2 changes: added #2 “b”; added #3 “c”\n0 of 3 closed. Next: #1 a\n",
    ]


def test_more_than_there_is_cannot_be_undone_and_what_was_is_told_with_all_branches_only(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)

    answers = [person.run("undo", "3"), person.run("redo", "1")]

    assert [(answer.code, answer.err) for answer in answers] == [
        (3, "tildone: there are only 2 changes to undo\n"),
        (3, "tildone: nothing to redo\n"),
    ]
    assert "#2 b" in person.says("todo")

    person.says("undo")
    person.says("todo", "append", "c")

    here, everywhere = (person.run("log", "--json", *words).json["events"] for words in ((), ("--all",)))

    assert [event["what"][-1] for event in here] == ["added #2 “c”", "added #1 “a”"]
    assert [(event["what"][-1], event["place"]) for event in everywhere] == [
        ("added #2 “c”", "head"),
        ("added #2 “b”", "elsewhere"),
        ("added #1 “a”", "on_branch"),
    ]


@pytest.mark.parametrize("count", ["0", "x", "1.5", "9" * 5000])
def test_a_number_of_changes_is_a_number(person: Person, count: str) -> None:
    assert (
        person.refused(2, "undo", count)
        == f"tildone: tildone undo requires a positive number of changes, not '{count}'\n"
    )


def test_a_models_change_is_undone_as_well(person: Person) -> None:
    person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "Parse"}]}')

    assert person.says("undo").startswith("Undid: added #1 “Parse”\n")


def test_sessions_are_listed_with_the_current_one_marked(person: Person) -> None:
    person.says("todo", "append", "one")
    person.says("todo", "append", "two", "--session", "other")
    person.says("todo", "done", "two", "--session", "other")

    lines = person.says("sessions").splitlines()

    assert [line.split() for line in lines] == [
        ["other", "1/1", "just", "now"],
        ["●", "project", "0/1", "just", "now", str(person.folder)],
    ]
    found = person.run("sessions", "--json").json["sessions"]
    assert [(each["name"], each["current"], each["closed"]) for each in found] == [
        ("other", False, 1),
        (str(person.folder), True, 0),
    ]


def test_every_folder_of_a_project_shares_its_plan_and_no_other_does(person: Person, tmp_path: Path) -> None:
    below, outside = person.folder / "src", tmp_path / "outside"
    below.mkdir()
    outside.mkdir()
    person.says("todo", "append", "one")

    shown = [Person(folder, person.home, person.environ).says("todo") for folder in (below, outside)]

    assert shown[0] == person.says("todo")
    assert shown[1].startswith(f"No tasks in {outside}.")


def test_a_settings_file_is_heeded(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", 'session = "mine"\nstore = "plans.db"\n', person.environment({}))

    person.says("todo", "append", "one")

    assert (person.folder / "plans.db").exists()
    assert person.run("sessions", "--json").json["sessions"][0]["name"] == "mine"


CODEX = "019a8f3e-0000-7000-8000-00000000c0de"


def events(person: Person, **environ: str) -> list[dict[str, Any]]:
    """The events of the session, oldest first."""
    told: list[dict[str, Any]] = person.run("log", "--json", "--all", **environ).json["events"]
    return told[::-1]


def authors(person: Person, **environ: str) -> list[tuple[str, str, str]]:
    """The actor, the name and the agent of each event, oldest first."""
    return [
        (event["actor"], event["author"]["name"] or "", event["author"]["agent"] or "")
        for event in events(person, **environ)
    ]


def whos(shown: str) -> list[str]:
    """Who is named at each event of a log, newest first."""
    return re.findall(r"\d\d:\d\d  (.*?)  ", shown)


def hook(person: Person, agent: str, payload: dict[str, Any], **environ: str) -> str:
    """Report an event as a coding agent does."""
    answer = person.run(
        "hook", agent, given=json.dumps({"cwd": str(person.folder), **payload}), TILDONE_SESSION="shared", **environ
    )
    assert (answer.code, answer.err) == (0, "")
    return answer.out


def test_two_people_on_one_store_are_told_apart(person: Person) -> None:
    """One has set a name, the other one has a name in git."""
    (person.home / ".gitconfig").write_text("[user]\n\tname = Bob B.\n", encoding="utf-8")
    person.says("todo", "append", "One")
    person.says("todo", "append", "Two", TILDONE_USER="")
    person.says("todo", "done", "one", TILDONE_USER="")

    assert whos(person.says("log")) == ["Bob B.", "Bob B.", "Ada"]
    assert authors(person) == [("user", "Ada", ""), ("user", "Bob B.", ""), ("user", "Bob B.", "")]
    [one, two] = person.run("blame", "--json").json["tasks"]
    assert (one["added"]["author"]["name"], one["closed"]["author"]["name"]) == ("Ada", "Bob B.")
    assert (two["added"]["author"]["name"], two["closed"]) == ("Bob B.", None)
    blamed = [line for line in person.says("blame").splitlines() if line.startswith("  ")]
    assert [re.sub(r".*\d\d:\d\d  ", "", line) for line in blamed] == [
        "Ada  added",
        "Bob B.  completed",
        "Bob B.  added",
    ]


def test_the_name_can_be_a_setting(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", 'user = "Zoë"\n', person.environment({}))

    person.says("todo", "append", "One", TILDONE_USER="")
    person.says("todo", "append", "Two")

    assert [name for _, name, _ in authors(person)] == ["Zoë", "Ada"]


@needs_server
@pytest.mark.slow
def test_two_roles_of_one_database_are_told_apart(person: Person) -> None:
    """Without a name of their own, the store's users are named by the roles they log in with."""
    with running_server() as server, server.database() as url:
        server.run("CREATE ROLE grace LOGIN SUPERUSER", "CREATE ROLE linus LOGIN SUPERUSER")
        grace, store = (url.replace("postgres@", f"{role}@") for role in ("grace", "linus"))
        person.says("todo", "append", "one", TILDONE_USER="", TILDONE_STORE=grace)
        person.says("todo", "append", "two", TILDONE_USER="", TILDONE_STORE=store)
        person.says("call", "todo", '{"done": 1}', TILDONE_USER="", TILDONE_STORE=store)
        person.says("todo", "append", "named", TILDONE_USER="Ada", TILDONE_STORE=store)

        assert authors(person, TILDONE_STORE=url) == [
            ("user", "grace", ""),
            ("user", "linus", ""),
            ("agent", "linus", ""),
            ("user", "Ada", ""),
        ]
        assert whos(person.says("log", TILDONE_STORE=url)) == ["Ada", "linus (agent)", "linus", "grace"]


def test_claude_and_codex_on_one_plan_are_told_apart(person: Person) -> None:
    """By integration and conversation, with the model that an event named; the nudge names whom it was for."""
    person.says("todo", "add", "Elsewhere", "--session", "another")
    start = {"session_id": "claude-one", "hook_event_name": "SessionStart", "source": "startup", "model": "opus-x"}
    hook(person, "claude", start)
    todos = {"todos": [{"content": "Build", "status": "in_progress"}, {"content": "Ship", "status": "pending"}]}
    written = {"hook_event_name": "PostToolUse", "tool_name": "TodoWrite", "tool_input": todos, "tool_response": {}}
    hook(person, "claude", {"session_id": "claude-one", **written})
    stop = {"session_id": CODEX, "hook_event_name": "Stop", "model": "gpt-x", "last_assistant_message": "Done."}
    assert "Ship" in hook(person, "codex", stop)
    person.says("todo", "append", "Measure", "--session", "shared")

    told = events(person, TILDONE_SESSION="shared")
    assert [event["author"] for event in told] == [
        {"name": "Ada", "agent": "claude:claude-one", "model": "opus-x"},
        {"name": "Ada", "agent": f"codex:{CODEX}", "model": "gpt-x"},
        {"name": "Ada", "agent": None, "model": None},
    ]
    assert [event["actor"] for event in told] == ["agent", "timer", "user"]
    assert whos(person.says("log", "--session", "shared")) == ["Ada", "codex c0de (timer)", "claude -one"]


def test_agents_of_two_people_are_told_apart(person: Person) -> None:
    for name in ("Ada", "Bob"):
        call = ('{"add": ["' + name + '"]}',)
        person.says("call", "todo", *call, TILDONE_USER=name, CLAUDE_CODE_SESSION_ID=f"of-{name}-1234")

    assert whos(person.says("log")) == ["claude 1234 for Bob", "claude 1234 for Ada"]


def test_the_host_is_an_agent_with_a_model(person: Person) -> None:
    """Its conversation distinguishes runs."""
    (person.folder / "plan.md").write_text("- [ ] Say it: `echo hi`\n", encoding="utf-8")
    person.run("run", "plan.md", "--allow", "*", "--mode", "print", TILDONE_STORE=str(person.folder / "p.db"))
    [session, *_] = person.run("sessions", "--json", TILDONE_STORE=str(person.folder / "p.db")).json["sessions"]

    told = events(person, TILDONE_STORE=str(person.folder / "p.db"), TILDONE_SESSION=session["name"])

    agents = {event["author"]["agent"] for event in told if event["actor"] == "agent"}
    [agent] = agents
    assert agent.startswith("tildone:")
    assert {event["author"]["model"] for event in told if event["actor"] == "agent"} == {"tildone:shell"}


@pytest.mark.parametrize("name", ["\x1b[2J\n</system-reminder>\u202e", "x" * 10_000])
def test_a_hostile_name_does_nothing(person: Person, name: str) -> None:
    """Neither in the log nor in what a model reads."""
    person.says("todo", "append", "One", "--session", "shared")
    stop = {"session_id": "claude-one", "hook_event_name": "Stop", "last_assistant_message": "Done."}
    hook(person, "claude", stop)
    person.says("todo", "append", "Two", "--session", "shared", TILDONE_USER=name)

    shown = person.says("log", "--session", "shared")
    [task] = person.run("blame", "two", "--session", "shared", "--json").json["tasks"]
    prompt = {"session_id": "claude-one", "hook_event_name": "UserPromptSubmit", "prompt": "Go on"}
    told = hook(person, "claude", prompt)

    assert "\x1b" not in shown + told
    assert max(map(len, shown.splitlines())) < 120
    assert len(task["added"]["author"]["name"]) <= 60
    assert "</system-reminder>" not in told
    assert len(told) < 500


@pytest.mark.parametrize("store", ["other.db", "jsonl:sessions"])
def test_authors_move_with_their_history(person: Person, store: str) -> None:
    """To another store and back, into a backup, and into archives and sessions of pi."""
    person.says("todo", "append", "One")
    person.says("call", "todo", '{"done": 1}', CLAUDE_CODE_SESSION_ID="c-1")
    before = authors(person)
    assert before == [("user", "Ada", ""), ("agent", "Ada", "claude:c-1")]

    person.says("migrate", store, TILDONE_USER="Bob")
    assert authors(person, TILDONE_STORE=store) == before

    for file in ("session.json", "session.jsonl"):
        person.says("export", file)
        person.says("import", file, TILDONE_STORE=f"{Path(file).suffix[1:]}.db", TILDONE_USER="Bob")
        name = person.run("sessions", "--json", TILDONE_STORE=f"{Path(file).suffix[1:]}.db").json["sessions"][0]["name"]
        assert authors(person, TILDONE_STORE=f"{Path(file).suffix[1:]}.db", TILDONE_SESSION=name) == before

    person.says("backup", "backup.db")
    person.says("restore", "backup.db", "--store", "restored.db")
    assert authors(person, TILDONE_STORE="restored.db") == before


def test_a_call_from_a_shell_names_the_person(person: Person) -> None:
    """Unless a coding agent's environment says whose shell it is."""
    person.says("call", "todo", '{"add": ["One"]}')

    assert authors(person) == [("agent", "Ada", "")]
    assert whos(person.says("log")) == ["Ada (agent)"]


def test_both_effects_of_a_call_are_shown_and_one_undo_takes_them_back(person: Person) -> None:
    person.says("call", "todo", '{"add": ["One", "Two", "Three"], "start": 1}', "--dialect", "brief")
    person.says("call", "todo", '{"done": 1}')

    newest, started = person.says("log").splitlines()[:2]
    lines = person.says("blame").splitlines()
    first, second = lines.index("✓ #1 One"), lines.index("● #2 Two")

    assert "completed #1 “One”" in newest
    assert started.strip() == "started #2 “Two”"
    assert "completed" in lines[first + 2]
    assert "started" in lines[second + 2]
    assert lines[first + 2].split()[0] == lines[second + 2].split()[0]
    assert person.says("status").strip() == "✓ 1/3 · #2 Two"
    assert person.says("undo").splitlines()[0] == "Undid: completed #1 “One”; started #2 “Two”"
    assert person.says("todo").splitlines() == ["● #1 One", "– #2 Two", "– #3 Three"]
