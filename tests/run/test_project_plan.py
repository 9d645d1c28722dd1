"""`tildone run` works on the project's plan, which others share.

A conversation that begins with a prompt has its own list.
"""

import json
import os
import shlex
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import first_message, rpc
from tests.run.plan_calls import call
from tests.run.run_workspace import (
    ALLOW_ALL,
    CHAT,
    WRITE,
    conversation_entries,
    conversation_files,
    edit,
    provider_environment,
    run_model,
    start,
    statuses,
    write_plan,
)
from tests.run.screens import at_terminal
from tests.suite.forking import PROGRAM, starting
from tildone.app.opening import session_in
from tildone.plan.dialects import BY_HAND, DIALECTS
from tildone.stores.sqlite.store import SqliteStore

PHASES = (
    "# One\n- [x] Old: `touch old`\n- [ ] A: `echo a >> done`\n# Two\n- [/] B: `echo b >> done`\n- [ ] C: `cat done`\n"
)
GATED = "- [ ] Wait: `echo begun > begun; cat gate`\n- [ ] After: `echo after >> done`\n"

every_dialect = pytest.mark.parametrize("dialect", list(DIALECTS))


def phases(person: Person) -> list[str]:
    """Return the names of the phases of the project's plan."""
    return list(person.run("todo", "--json").json["phases"])


def texts(person: Person) -> list[str]:
    """Return the texts of the project's plan."""
    return [task["text"] for task in person.run("todo", "--json").json["tasks"]]


def done(person: Person) -> str:
    return (person.folder / "done").read_text(encoding="utf-8")


@every_dialect
def test_a_plan_of_ones_own_is_run_from_where_it_stands(person: Person, dialect: str) -> None:
    """Phases are kept in every dialect, closed tasks stay closed, and the task in progress continues first."""
    person.says("todo", "import", write_plan(person, PHASES))

    out = person.says("run", *ALLOW_ALL, "--mode", "print", "--dialect", dialect)

    assert out == "All 4 tasks are done.\n"
    assert statuses(person) == "✓✓✓✓"
    assert phases(person) == ["One", "Two"]
    assert not (person.folder / "old").exists()
    assert done(person) == "b\na\n"


def test_a_plan_that_is_done_is_a_success_and_an_empty_one_is_not(person: Person) -> None:
    empty = person.run("run", "--mode", "print")
    person.says("todo", "add", "A: `true`")
    person.says("run", *ALLOW_ALL)

    assert (empty.code, empty.out) == (2, "")
    assert "this project's plan is empty. Three ways to begin:\n" in empty.err
    assert all(way in empty.err for way in ("tildone todo add", "tildone run PLAN.md", 'tildone run "TASK"'))
    assert person.says("run", "--mode", "print") == "The task is done.\n"
    assert len(conversation_files(person)) == 1


def test_the_same_file_is_resumed_and_restart_takes_it_over_again(person: Person) -> None:
    name = write_plan(person, "\ufeff- [ ] A: `echo a >> done`\r\n- [ ] B: `echo b >> done`\r\n")
    person.says("run", name, *ALLOW_ALL)
    person.says("todo", "reopen", "2")

    resumed = person.says("run", name, *ALLOW_ALL, "--mode", "print")
    finished = person.run("run", name, *ALLOW_ALL, "--mode", "print")
    person.says("run", name, *ALLOW_ALL, "--restart")

    assert resumed == "All 2 tasks are done.\n"
    assert (finished.code, finished.out) == (0, "All 2 tasks are done.\n")
    assert finished.err == "tildone: to run it again: tildone run plan.md --restart\n"
    assert done(person) == "a\nb\nb\na\nb\n"


def test_a_file_that_replaces_open_tasks_says_how_to_bring_them_back(person: Person) -> None:
    person.says("todo", "add", "Mine", "Mine, too")

    answer = person.run("run", write_plan(person, "Prose\n\n- [ ] A: `true`\n"), *ALLOW_ALL, "--mode", "print")
    replaced = texts(person)
    person.says("checkout", answer.err.rpartition("tildone checkout ")[2].strip())

    assert answer.code == 0
    assert "tildone: plan.md: line 1: text outside of tasks is not imported" in answer.err
    assert "2 open tasks of the plan so far replaced by plan.md; to bring them back: tildone undo, or " in answer.err
    assert replaced == ["A: `true`"]
    assert texts(person) == ["Mine", "Mine, too"]


def test_a_model_works_on_the_plan_in_its_phases(person: Person) -> None:
    """The open tasks of the plan are in the prompt and in the context, and what the model adds joins them."""
    person.says("todo", "import", write_plan(person, "# One\n- [ ] A\n# Two\n- [ ] B\n"))
    append = call("write_todos", mode="append", todos=[{"text": "C"}])
    script = (append, edit("complete", 0, 1, 2), {"text": "Done."})
    server = run(person, "Do C as well", "--session", str(person.folder), script=script)

    told = json.dumps(server.requests[0].messages, ensure_ascii=False)
    assert "Do C as well" in told
    assert "– [0] A\\n– [1] B" in told
    assert (phases(person), texts(person), statuses(person)) == (["One", "Two"], ["A", "B", "C"], "✓✓✓")


OTHERS = call("bash", command=f"{shlex.quote(str(PROGRAM))} todo add 'From elsewhere'")
WHOLE = [{"content": text, "status": "completed"} for text in ("A", "B")]
NOW = "\\nIt is now:\\n\\n– [0] A\\n– [1] B\\n– [2] From"


@pytest.mark.parametrize(
    ("dialect", "update", "told"),
    [("indexed", edit("complete", 0, 1, 2), NOW), ("declared", call("TodoWrite", summary="s", todos=WHOLE), "")],
)
def test_what_others_change_is_told_before_a_request(person: Person, dialect: str, update: Turn, told: str) -> None:
    """A model that sends all of its list is told, too: what it then leaves out is its decision. Phases stay."""
    person.says("todo", "import", write_plan(person, "# One\n- [ ] A\n# Two\n- [ ] B\n"))

    server = run(person, "--dialect", dialect, *ALLOW_ALL, script=(OTHERS, update, {"text": "Done."}))

    heard = json.dumps(server.requests[1].messages[-2:], ensure_ascii=False)
    assert f"Others changed your todo list:\\n- added “From elsewhere”{told}" in heard
    assert phases(person)[:2] == ["One", "Two"]


@pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
def test_two_runs_share_the_work(person: Person) -> None:
    """The second leaves the task that the first has started, and does the other one."""
    os.mkfifo(person.folder / "begun")
    os.mkfifo(person.folder / "gate")
    person.says("todo", "import", write_plan(person, GATED))
    with start(person, "run", *ALLOW_ALL) as first:
        (person.folder / "begun").read_bytes()
        second = person.run("run", *ALLOW_ALL, "--mode", "print")
        (person.folder / "gate").write_bytes(b"")
        out, _ = first.communicate(timeout=60)

    assert (second.code, second.out) == (1, "")
    assert "nothing more can be done here: #1 is in progress elsewhere" in second.err
    assert (first.returncode, "All 2 tasks are done." in out.decode()) == (0, True)
    assert done(person) == "after\n"


@pytest.mark.skipif(os.name == "nt", reason="needs signals and a named pipe")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_ended_needs_no_options_to_go_on(person: Person, number: signal.Signals, code: int) -> None:
    os.mkfifo(person.folder / "begun")
    os.mkfifo(person.folder / "gate")
    name = write_plan(person, GATED)
    with start(person, "run", name, *ALLOW_ALL, "--dialect", "indexed", "--session", "s", "--mode", "print") as run:
        (person.folder / "begun").read_bytes()
        run.send_signal(number)
        _, err = run.communicate(timeout=60)
    with suppress(OSError):
        # The command of a run that was killed still waits for somebody to write.
        os.close(os.open(person.folder / "gate", os.O_WRONLY | os.O_NONBLOCK))
    (person.folder / "gate").unlink()
    (person.folder / "gate").write_bytes(b"")
    (person.folder / "begun").unlink()

    again = person.run("run", "--continue", "--mode", "print")

    assert run.returncode == code
    assert (err == b"tildone: interrupted\nTo go on: tildone run --continue\n") is (number != signal.SIGKILL)
    allowed = "tildone: allowed as before: --allow '*': every command\n"
    assert (again.code, again.out, again.err) == (0, "All 2 tasks are done.\n", allowed)
    assert statuses(person, "s") == "✓✓"
    [file] = conversation_files(person)
    called = {entry.get("message", {}).get("toolName") for entry in conversation_entries(file)}
    assert called >= {"edit_todos", "bash"}


def test_options_of_the_command_line_replace_those_of_the_conversation(person: Person) -> None:
    """Patterns are added, because a new one is what the last run lacked."""
    name = write_plan(person, "- [ ] A: `echo a`\n- [ ] B: `cat plan.md`\n")
    first = person.run("run", name, "--allow", "echo *", "--mode", "print", "--session", "one")

    again = person.run("run", "--continue", "--allow", "cat *", "--mode", "print")

    arguments = "this command with any arguments in place of *\n"
    told = f"tildone: allowed as before: --allow 'echo *': {arguments}tildone: allowed: --allow 'cat *': {arguments}"
    assert (first.code, again.code, again.err) == (1, 0, told)
    entries = conversation_entries(conversation_files(person)[0])
    run = next(entry["data"] for entry in entries if entry.get("customType") == "tildone_run")
    assert (run["session"], run["allow"]) == ("one", ["echo *"])
    assert statuses(person, "one") == "✓✓"


def test_a_run_whose_first_request_failed_is_continued_and_does_not_point_to_the_log(person: Person) -> None:
    failures: list[Turn] = [{"error": 400, "message": "not now"}, {"error": 401, "message": "no such key"}]
    with ModelServer(*failures, {"text": "Here."}) as server:
        environ = provider_environment(server)
        failed = person.run("run", "Say here", "--model", CHAT, "--mode", "print", **environ)
        no_key = person.run("run", "--continue", "--model", CHAT, **environ)
        again = person.run("run", "--continue", "--mode", "print", **environ)

    assert (failed.code, failed.err) == (1, "tildone: 400 not now\nTo go on: tildone run --continue\n")
    assert no_key.code == 1
    assert "is the value of $OPENAI_API_KEY in the environment." in no_key.out
    assert "To go on: tildone run --continue\n" in no_key.out
    assert "tildone log" not in no_key.out
    assert (again.code, again.out) == (0, "Here.\n")


def test_without_a_session_the_plan_is_a_copy(person: Person) -> None:
    """Also, `--continue` without a conversation works through the plan."""
    person.says("todo", "add", "A: `echo a >> done`")

    out = person.says("run", *ALLOW_ALL, "--no-session", "--mode", "print")

    assert (out, done(person)) == ("The task is done.\n", "a\n")
    assert (statuses(person), conversation_files(person)) == ("–", [])
    with starting():
        assert person.says("run", "--continue", *ALLOW_ALL, "--mode", "print") == "The task is done.\n"


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(person: Person) -> None:
    person.says("todo", "add", "A: `touch ran`")
    (person.folder / "file").write_text("", encoding="utf-8")

    answer = person.run("run", *ALLOW_ALL, "--session-dir", "file/conversations")

    assert (answer.code, answer.out) == (5, "")
    assert "conversations cannot be stored: " in answer.err
    assert "--session-dir, or store nothing with --no-session" in answer.err
    assert answer.err.count("\n") == 1
    assert not (person.folder / "ran").exists()


def test_a_fork_moves_the_plan_back_only_if_nobody_else_changed_it(person: Person) -> None:
    """The phases are restored as well, although the results of an indexed list do not contain them."""
    person.says("todo", "import", write_plan(person, "# One\n- [ ] A\n# Two\n- [ ] B\n"))
    with ModelServer(edit("complete", 0, 1), {"text": "Done."}, {"text": "Forked.", "repeat": True}) as server:
        model = ("--model", CHAT, "--mode", "print", "--max-nudges", "0")
        environ = provider_environment(server)
        person.says("run", *model, **environ)
        [file] = conversation_files(person)
        said = first_message(str(file))
        forked = person.run("run", *model, "--resume", str(file), "--fork", said, **environ)
        moved = statuses(person), phases(person)
        person.says("todo", "done", "1")
        again = person.run("run", "--resume", str(file), "--fork", said, "--model", CHAT, **environ)

    assert (forked.code, moved) == (1, ("––", ["One", "Two"]))
    assert "The plan stays as it is" not in forked.err
    assert statuses(person) == "✓–"
    assert again.code == 1
    assert "The plan stays as it is: it was changed outside of this conversation since.\n" in again.out


needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
LISTS: dict[str, Turn] = {
    "indexed": WRITE,
    "phased": call("todo_write", ops=[{"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}]),
    "declared": call(
        "TodoWrite", summary="S", todos=[{"content": text, "status": "pending"} for text in ("One", "Two")]
    ),
    "brief": call("todo", add=["One", "Two"]),
}
FINISHED = call("todo_write", ops=[{"op": "done", "task": "One"}])
STOP: Turn = {"text": "I stop."}
FIND = call("find_tools", query="todo")


def run(person: Person, *argv: str, script: tuple[Turn, ...], **environ: str) -> ModelServer:
    return run_model(person, *argv, "--mode", "print", "--max-nudges", "0", script=script, **environ)[1]


def conversations(person: Person) -> list[str]:
    """Return the ids of the conversations, oldest first."""
    return [conversation_entries(file)[0]["id"] for file in conversation_files(person)]


@pytest.mark.parametrize("dialect", LISTS)
def test_a_prompt_begins_a_list_of_its_own_unless_a_plan_is_named(person: Person, dialect: str) -> None:
    person.says("todo", "add", "The project's")

    server = run(person, "Go", "--dialect", dialect, script=(LISTS[dialect], STOP))
    [conversation] = conversations(person)
    run(person, "Go", "--dialect", dialect, "--session", "plan", script=(LISTS[dialect], STOP))
    run(person, "Go", "--dialect", dialect, script=(LISTS[dialect], STOP), TILDONE_SESSION="other")

    assert statuses(person) == "–"
    assert [len(statuses(person, session)) for session in (conversation, "plan", "other")] == [2, 2, 2]
    assert "The project's" not in str(server.requests)


def test_a_conversation_is_continued_with_its_own_list_or_on_the_projects_plan(person: Person) -> None:
    """The dialect strips finished tasks when a conversation is opened again; its results still have them."""
    person.says("todo", "add", "The project's", "And this")
    servers = [run(person, script=(edit("complete", 0), STOP)), run(person, "Go on", "--continue", script=(STOP,))]
    [projects] = conversations(person)

    assert all("And this" in str(server.requests[0].messages) for server in servers)
    assert statuses(person) == "✓–"

    run(person, "Go", "--dialect", "phased", script=(FIND, LISTS["phased"], FINISHED, STOP))
    [own] = {*conversations(person)} - {projects}
    before = statuses(person, own)
    run(person, "Go on", "--continue", script=(STOP,))

    assert (before, statuses(person, own), statuses(person)) == ("✓●", "●", "✓–")


@needs_terminal
def test_the_person_takes_up_the_other_plan(person: Person) -> None:
    """It is said which one it is, and the choice is kept for the next run of the conversation."""
    with ModelServer(WRITE, {"text": "First."}, STOP) as server:
        environ = provider_environment(server)
        terminal = at_terminal(person, "--model", CHAT, "--max-nudges", "0", **environ)
        terminal.until("This conversation works on the project's plan; /use own begins its own list.")
        for typed, shown in [
            ("/new", "A new conversation begins. This conversation has its own list;"),
            ("Go", "limit reached"),
            ("/use project", "takes up the project's plan"),
            ("/todo add The project's", "0 of 1 closed"),
        ]:
            terminal.say(typed)
            terminal.until_after(typed, shown)
        terminal.end(b"\x04")
        person.run("run", "Go on", "--continue", "--mode", "print", **environ)

    [conversation] = conversations(person)
    assert (statuses(person), statuses(person, conversation)) == ("–", "––")
    assert "The project's" in str(server.requests[-1].messages[-1])


def test_a_client_opens_conversations_each_with_its_plan(tmp_path: Path) -> None:
    """A new one has a list of its own, also when it is opened again; a fork begins with the list at its point."""
    one = call("write_todos", mode="replace", todos=[{"text": "One"}])
    script = (WRITE, STOP, one, STOP, WRITE, STOP)
    with ModelServer(*script) as model, rpc(tmp_path, model.url, "--max-nudges", "0") as client:

        def say(text: str) -> str:
            client.settle(text)
            return str(client.get("get_state")["sessionFile"])

        def plan() -> list[str]:
            name = client.get("get_state")["sessionId"]
            return [task.text for task in session_in(SqliteStore(str(store)), name, BY_HAND).plan.tasks]

        say("The project's")
        store = next(tmp_path.rglob("*.db"))
        assert plan() == []

        client.ask("new_session")
        own = say("Mine")
        assert plan() == ["One"]
        say("More")
        assert plan() == ["One", "Two"]
        entries = conversation_entries(Path(own))
        [_, more] = [entry["id"] for entry in entries if entry.get("message", {}).get("role") == "user"]

        client.ask("fork", entryId=more)
        assert plan() == ["One"]
        client.ask("switch_session", sessionPath=own)
        assert plan() == ["One", "Two"]
