"""`tildone import --watch`: a file that somebody else writes is followed, and never half of it is taken."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from tests.cli.person import HANG_SECONDS, Person
from tests.suite.forking import PROGRAM
from tildone.app.opening import session_in
from tildone.cli.parsing import ROOT, parse
from tildone.cli.transfer.import_files import MAX_UNSTABLE_POLLS, TIMESTAMP_NANOSECONDS, FilePoll, Follower
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.model import Status
from tildone.plan.ops import At, Mark
from tildone.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals as POSIX has them")

FILES = Path(__file__).parent / "files"
Follow = Callable[..., Callable[[], list[str]]]
"""Begin to follow a file, with options of the command; what is returned looks at it, and returns the lines printed."""


def replaced(path: Path, text: str) -> None:
    """Put another file in the place of one, as editors do."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)


def old(path: Path) -> None:
    """Make it look as if it had not been written to for long."""
    os.utime(path, (1, 1))


def session_of(folder: Path) -> Session:
    return session_in(SqliteStore(folder / "plans.db"), "s", BY_HAND)


def test_each_change_is_imported_and_told_in_a_line(person: Person) -> None:
    """Whether the file is written to or replaced; Ctrl-C ends it with a word."""
    path = person.folder / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")
    command, environ = [str(PROGRAM), "import", "--watch", "plan.md", "--into", "s"], person.environment({})
    with subprocess.Popen(command, cwd=person.folder, env=environ, stdout=subprocess.PIPE, encoding="utf-8") as process:
        fuse = Timer(HANG_SECONDS, process.kill)
        fuse.start()
        said = process.stdout or iter(())
        assert next(said) == "Watching plan.md. Press Ctrl-C to stop.\n"
        assert next(said) == "Imported plan.md: 1 task in 1 phase, into session 's'\n"
        with path.open("a", encoding="utf-8") as file:
            file.write("- [ ] b\n")
        assert next(said).endswith("  added #2 “b”\n")
        replaced(path, "- [x] a\n- [ ] b\n")
        assert next(said).endswith("  completed #1 “a”\n")
        process.send_signal(signal.SIGINT)
        assert [*said] == ["Stopped watching plan.md.\n"]
        assert process.wait() == 130
        fuse.cancel()

    assert person.says("todo", "--session", "s") == "✓ #1 a\n– #2 b\n"
    assert len(person.run("export", "--as", "json", "--session", "s").json["events"]) == 3


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Follow:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "plans.db"))
    monkeypatch.setenv("TILDONE_SESSION", "s")

    def begin(name: str, *options: str) -> Callable[[], list[str]]:
        follower = Follower(parse(ROOT, ["import", name, *options]), name, None)

        def polled() -> list[str]:
            """Look often enough to see a change."""
            follower.poll()
            follower.poll()
            out, err = capsys.readouterr()
            return [*out.splitlines(), *err.splitlines()]

        return polled

    return begin


def test_a_file_that_says_the_same_changes_nothing(follow: Follow, tmp_path: Path) -> None:
    """What was done here meanwhile stays done, until the file has something else to say."""
    path = tmp_path / "todos.json"
    path.write_text('[{"content": "a"}]', encoding="utf-8")
    polled = follow("todos.json")
    assert polled() == ["Imported todos.json: 1 task in 1 phase, into session 's'"]
    session = session_of(tmp_path)
    session.change([Mark(At((0,)), Status.COMPLETED)])

    replaced(path, '[ {"content": "a"} ]')
    assert polled() == []
    replaced(path, '[{"content": "a", "activeForm": "x"}]')
    assert polled() == ["Not imported from todos.json:", "  task 1: the field activeForm is not imported"]
    assert [task.status for task in session.plan.tasks] == [Status.COMPLETED]

    replaced(path, '[{"content": "a"}, {"content": "b"}]')
    assert polled()[0].endswith("  added #2 “b”; reopened #1 “a”")


def test_trouble_is_said_once_and_half_a_file_is_not_imported(follow: Follow, tmp_path: Path) -> None:
    """Until it is over, or another. A file may be gone for a moment, and nothing is forgotten."""
    path = tmp_path / "todos.json"
    path.write_text("[", encoding="utf-8")
    polled = follow("todos.json")
    trouble = (
        "tildone: could not read todos.json: Expecting value: line 1 column 2 (char 1); waiting for its next change"
    )

    assert polled() == [trouble]
    replaced(path, "[")
    assert polled() == []
    path.unlink()
    gone = "tildone: todos.json does not exist; waiting for its next change"
    assert [polled(), polled()] == [[gone], []]
    replaced(path, "[")
    assert polled() == [trouble]
    replaced(path, '[{"content": "a"}]')
    assert polled()[0].startswith("Imported")
    replaced(path, "[")
    assert polled() == [trouble.replace("todos.json:", "todos.json as claude:")]
    path.unlink()
    assert polled() == [gone]
    replaced(path, '[{"content": "a"}, {"content": "b"}]')
    assert polled()[0].endswith("  added #2 “b”")


def test_a_file_may_be_empty_for_a_moment(follow: Follow, tmp_path: Path) -> None:
    """The plan is kept unless the person forces it."""
    path = tmp_path / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")
    polled = follow("plan.md")
    polled()
    path.write_text("", encoding="utf-8")
    assert polled()[0].startswith("tildone: plan.md contains no tasks; to empty the plan, use --force")
    replaced(path, "- [x] a\n")
    assert polled()[0].endswith("  completed #1 “a”")

    forced = follow("plan.md", "--force")
    forced()
    path.write_text("", encoding="utf-8")

    assert forced()[0].endswith("  removed #1 “a”")
    assert session_of(tmp_path).plan.tasks == ()


def test_only_the_new_events_of_a_session_are_taken_over(follow: Follow, tmp_path: Path) -> None:
    """Line by line as they are written, and half a line not before it is whole."""
    path = tmp_path / "run.jsonl"
    lines = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), encoding="utf-8")
    polled = follow("run.jsonl", "--session", "s")

    assert polled()[0] == "Imported run.jsonl: 1 event, into session 's'"
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines[5:6]) + lines[6][:50])
        file.flush()
        assert [line for line in polled() if "“Parse”" in line] == []
        file.write(lines[6][50:])
    assert polled()[0].endswith("  completed #1 “Parse”")
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines[7:]))
    assert polled()[0].endswith("  reopened #1 “Parse”; started #2 “Wire up”")
    assert len([*session_of(tmp_path).store.events("s")]) == 3


def test_a_folder_of_tasks_is_followed(follow: Follow, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    shutil.copytree(FILES / "claude-tasks", folder)
    polled = follow("tasks")

    assert polled()[0].startswith("Imported tasks: 3 tasks in 1 phase")
    replaced(folder / "11.json", '{"id": "11", "subject": "Rest", "status": "pending"}')
    assert polled()[0].endswith("  added #4 “Rest”")
    (folder / "10.json").unlink()
    assert polled()[0].endswith("  removed #3 “Tell everybody”")


def test_a_change_that_leaves_size_and_time_stamp_unchanged_is_noticed(
    follow: Follow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time stamps of some file systems are coarse: equal size and time do not imply equal content."""
    path = tmp_path / "todo.txt"
    path.write_text("a\n", encoding="utf-8")
    polled = follow("todo.txt")
    moment = path.stat().st_mtime_ns
    monkeypatch.setattr(time, "time_ns", lambda: moment)
    assert polled()[0].startswith("Imported")

    with path.open("r+", encoding="utf-8") as file:
        file.write("b")
    os.utime(path, ns=(moment, moment))
    assert polled() == []
    monkeypatch.setattr(time, "time_ns", lambda: moment + TIMESTAMP_NANOSECONDS)

    assert polled()[0].endswith("  removed #1 “a”; added #2 “b”")


def test_a_file_is_read_once_it_is_stable(tmp_path: Path) -> None:
    """At the start, and when two polls after a change find it unchanged."""
    path = tmp_path / "plan.md"
    path.write_text("a", encoding="utf-8")
    old(path)
    poll = FilePoll(str(path))

    assert poll.due()
    poll.done()
    assert not poll.due()
    path.write_text("ab", encoding="utf-8")
    assert [poll.due(), poll.due()] == [False, True]
    path.write_text("abc", encoding="utf-8")
    assert not poll.stable()
    assert [poll.due(), poll.due(), poll.stable()] == [False, True, True]
    old(path)
    assert [poll.due(), poll.due()] == [False, True]
    poll.done()
    assert not poll.due()


def test_a_constantly_changing_file_is_read_eventually(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    poll = FilePoll(str(path))
    poll.due()
    poll.done()

    dues = []
    for size in range(MAX_UNSTABLE_POLLS):
        path.write_text("x" * (size + 1), encoding="utf-8")
        dues.append(poll.due())

    assert dues == [False] * (MAX_UNSTABLE_POLLS - 1) + [True]
    path.write_text("", encoding="utf-8")
    assert poll.stable()


def test_a_folder_changes_when_a_file_in_it_does(tmp_path: Path) -> None:
    """Gone and back again, too; locks are nothing to look at."""
    (tmp_path / "1.json").touch()
    old(tmp_path / "1.json")
    poll = FilePoll(str(tmp_path))
    poll.due()
    poll.done()

    (tmp_path / ".lock").touch()
    assert not poll.due()
    (tmp_path / "1.json").unlink()
    assert [poll.due(), poll.due()] == [False, True]
    poll.done()
    (tmp_path / "2.json").touch()
    assert [poll.due(), poll.due()] == [False, True]


def test_a_warning_is_repeated_only_when_it_changes(follow: Follow, tmp_path: Path) -> None:
    path = tmp_path / "todo.txt"
    path.write_text("(A) a\n", encoding="utf-8")
    polled = follow("todo.txt")

    assert polled()[1:] == ["Not imported from todo.txt:", "  line 1: a priority is kept in the text"]
    replaced(path, "(A) a\nb\n")
    [added] = polled()
    assert added.endswith("  added #2 “b”")
    replaced(path, "(A) a\n(B) b\n")
    assert polled()[-2:] == ["Not imported from todo.txt:", "  lines 1 and 2: a priority is kept in the text"]


def test_a_plan_that_violates_the_rules_is_reported_and_watching_continues(follow: Follow, tmp_path: Path) -> None:
    """The rules are those of the dialect that the session is written in now."""
    session = session_of(tmp_path)
    session.dialect = DECLARED
    session.call("TodoWrite", {"summary": "s", "todos": [{"content": "a", "status": "pending"}]})
    path = tmp_path / "plan.md"
    path.write_text("- [/] a\n- [/] b\n", encoding="utf-8")
    polled = follow("plan.md")

    [trouble] = polled()
    replaced(path, "- [/] a\n- [ ] b\n")

    assert "in progress" in trouble
    assert polled()[0].startswith("Imported")


def test_json_output_is_one_line_for_each_change(follow: Follow, tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")
    polled = follow("plan.md", "--json")

    [first] = map(json.loads, polled())
    replaced(path, "- [x] a\n")
    [second] = map(json.loads, polled())

    assert (first["format"], first["tasks"], second["changed"]) == ("markdown", 1, True)


def test_a_file_that_cannot_be_watched_is_an_error(person: Person) -> None:
    (person.folder / "prose").write_text("prose\n", encoding="utf-8")
    for words, code, complaint in (
        (["a.md", "b.md"], 2, "--watch requires one file or one folder"),
        (["-"], 2, "--watch requires one file or one folder"),
        (["a.md", "--dry-run"], 2, "--watch and --dry-run exclude each other"),
        (["gone.md"], 4, "could not read gone.md: no such file"),
        (["prose"], 2, "cannot detect the format of prose; use --from pi, claude, markdown, todo.txt, json"),
    ):
        answer = person.run("import", "--watch", *words)
        assert (answer.code, answer.err) == (code, f"tildone: {complaint}\n")
