"""`tildone import --watch`: a file that somebody else writes is followed, and never half of it is taken."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.cli.person import CTRL_C, PROGRAM, Person
from tildone.cli.parsing.args import parse
from tildone.cli.transfer.watch import MAX_UNSTABLE_POLLS, FilePoll, Follower
from tildone.cli.verbs import ROOT
from tildone.core.ops import At, Mark
from tildone.core.plan import Status
from tildone.dialects.by_hand import BY_HAND
from tildone.stores.sqlite.store import SqliteStore
from tildone.wiring import session_in

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals as POSIX has them")

FILES = Path(__file__).parent / "files"
PATIENCE = 40


class Watching:
    """A follower at work, and what it has said so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.said: list[str] = []

    def until(self, words: str) -> str:
        """Read on to the line with these words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.removesuffix("\n"))
            if words in line:
                return self.said[-1]
        raise AssertionError(f"{words!r} was never said: {self.said}")

    def stop(self) -> int:
        """Press Ctrl-C, and read all that is left."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.stdout is not None
        self.said += self.process.stdout.read().splitlines()
        return self.process.wait()


@contextmanager
def watching(person: Person, *words: str) -> Iterator[Watching]:
    """Follow a file; the follower is gone at the end, whatever happens."""
    with subprocess.Popen(
        [PROGRAM, "import", "--watch", *words],
        cwd=person.folder,
        env=person.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        fuse = Timer(PATIENCE, process.kill)
        fuse.start()
        try:
            yield Watching(process)
        finally:
            fuse.cancel()
            process.kill()


def replaced(path: Path, text: str) -> None:
    """Put another file in the place of one, as editors do."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)


def old(path: Path) -> None:
    """Make it look as if it had not been written to for long."""
    os.utime(path, (1, 1))


def events(person: Person, *words: str) -> int:
    return len(person.run("export", "--as", "json", *words).json["events"])


def test_each_change_is_imported_and_told_in_a_line(person: Person) -> None:
    """Whether the file is written to or replaced; Ctrl-C ends it with a word."""
    path = person.folder / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")

    with watching(person, "plan.md") as follower:
        assert follower.until("Watching") == "Watching plan.md. Press Ctrl-C to stop."
        assert follower.until("Imported") == f"Imported plan.md: 1 task in 1 phase, into {person.folder.resolve()}"
        with path.open("a", encoding="utf-8") as file:
            file.write("- [ ] b\n")
        assert follower.until("b").endswith("  added #2 “b”")
        replaced(path, "- [x] a\n- [ ] b\n")
        assert follower.until("completed").endswith("  completed #1 “a”")
        code = follower.stop()

    assert (code, follower.said[-1]) == (130, "Stopped watching plan.md.")
    assert person.says("todo") == "✓ #1 a\n– #2 b\n"
    assert events(person) == 3


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Follower]:
    """A follower that looks when it is told to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "plans.db"))
    monkeypatch.setenv("TILDONE_SESSION", "s")
    return lambda name: Follower(parse(ROOT, ["import", name]), name, None)


def polled(follower: Follower, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What it says when it has looked often enough to see a change."""
    follower.poll()
    follower.poll()
    out, err = capsys.readouterr()
    return [*out.splitlines(), *err.splitlines()]


def test_a_file_that_says_the_same_changes_nothing(
    follow: Callable[[str], Follower], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was done here meanwhile stays done, until the file has something else to say."""
    path = tmp_path / "todos.json"
    path.write_text('[{"content": "a"}]', encoding="utf-8")
    follower = follow("todos.json")
    assert polled(follower, capsys) == ["Imported todos.json: 1 task in 1 phase, into session 's'"]
    session = session_in(SqliteStore(tmp_path / "plans.db"), "s", BY_HAND)
    session.change([Mark(At((0,)), Status.COMPLETED)])

    replaced(path, '[ {"content": "a"} ]')
    assert polled(follower, capsys) == []
    replaced(path, '[{"content": "a", "activeForm": "x"}]')
    assert polled(follower, capsys) == [
        "Not imported from todos.json:",
        "  task 1: the field activeForm is not imported",
    ]
    assert [task.status for task in session.plan.tasks] == [Status.COMPLETED]

    replaced(path, '[{"content": "a"}, {"content": "b"}]')
    assert polled(follower, capsys)[0].endswith("  added #2 “b”; reopened #1 “a”")


def test_trouble_is_said_once(
    follow: Callable[[str], Follower], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until it is over, or another."""
    path = tmp_path / "todos.json"
    path.write_text("[", encoding="utf-8")
    follower = follow("todos.json")
    trouble = (
        "tildone: could not read todos.json: Expecting value: line 1 column 2 (char 1); waiting for its next change"
    )

    assert polled(follower, capsys) == [trouble]
    replaced(path, "[")
    assert polled(follower, capsys) == []
    path.unlink()
    gone = "tildone: todos.json does not exist; waiting for its next change"
    assert [polled(follower, capsys), polled(follower, capsys)] == [[gone], []]
    replaced(path, "[")
    assert polled(follower, capsys) == [trouble]
    replaced(path, '[{"content": "a"}]')
    assert polled(follower, capsys)[0].startswith("Imported")
    replaced(path, "[")
    assert polled(follower, capsys) == [trouble.replace("todos.json:", "todos.json as claude:")]


def test_a_file_may_be_gone_for_a_moment(person: Person) -> None:
    """It is said, and nothing is forgotten."""
    path = person.folder / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")

    with watching(person, "plan.md") as follower:
        follower.until("Imported")
        path.unlink()
        assert follower.until("does not exist") == "tildone: plan.md does not exist; waiting for its next change"
        replaced(path, "- [ ] a\n")
        path.unlink()
        replaced(path, "- [ ] a\n- [ ] b\n")
        follower.until("added #2 “b”")
        follower.stop()

    assert person.says("todo") == "– #1 a\n– #2 b\n"


def test_a_file_may_be_empty_for_a_moment(person: Person) -> None:
    """The plan is kept unless the person forces it."""
    path = person.folder / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")

    with watching(person, "plan.md") as follower:
        follower.until("Imported")
        path.write_text("", encoding="utf-8")
        assert follower.until("no task").startswith(
            "tildone: plan.md contains no tasks; to empty the plan, use --force"
        )
        replaced(path, "- [x] a\n")
        follower.until("completed")
        follower.stop()
    with watching(person, "plan.md", "--force") as follower:
        follower.until("Imported")
        path.write_text("", encoding="utf-8")
        follower.until("removed #1 “a”")
        follower.stop()

    assert person.says("todo").startswith("No tasks")


def test_half_a_file_is_not_imported(person: Person) -> None:
    """It is said what is wrong, and the next whole one counts."""
    path = person.folder / "todos.json"
    whole = '[{"content": "a", "status": "pending"}, {"content": "b", "status": "pending"}]'
    path.write_text(whole[:40], encoding="utf-8")

    with watching(person, "todos.json") as follower:
        assert follower.until("could not").startswith("tildone: could not read todos.json: Expecting")
        replaced(path, whole)
        follower.until("Imported")
        replaced(path, whole.replace("b", "c")[:-1])
        follower.until("could not")
        replaced(path, whole.replace("b", "c"))
        follower.until("added #3 “c”")
        follower.stop()

    assert events(person) == 2


def test_only_the_new_events_of_a_session_are_taken_over(person: Person) -> None:
    """Line by line as they are written, and half a line not before it is whole."""
    path = person.folder / "run.jsonl"
    lines = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), encoding="utf-8")

    with watching(person, "run.jsonl", "--into", "s") as follower:
        assert follower.until("Imported") == "Imported run.jsonl: 1 event, into session 's'"
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(lines[5:6]) + lines[6][:50])
            file.flush()
            file.write(lines[6][50:])
        follower.until("completed #1 “Parse”")
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(lines[7:]))
        assert follower.until("Wire up").endswith("  reopened #1 “Parse”; started #2 “Wire up”")
        follower.stop()

    assert events(person, "--session", "s") == 3


def test_a_folder_of_tasks_is_followed(person: Person) -> None:
    """A task more, a task changed, a task gone."""
    folder = person.folder / "tasks"
    shutil.copytree(FILES / "claude-tasks", folder)

    with watching(person, "tasks") as follower:
        follower.until("Imported tasks: 3 tasks in 1 phase")
        replaced(folder / "11.json", '{"id": "11", "subject": "Rest", "status": "pending"}')
        follower.until("added #4 “Rest”")
        (folder / "10.json").unlink()
        follower.until("removed #3 “Tell everybody”")
        follower.stop()

    assert person.says("export").endswith("- [ ] Rest\n")


def test_a_change_that_leaves_size_and_time_stamp_unchanged_is_noticed(person: Person) -> None:
    """Time stamps of some file systems are coarse: equal size and time do not imply equal content."""
    path = person.folder / "todo.txt"
    path.write_text("a\n", encoding="utf-8")

    with watching(person, "todo.txt") as follower:
        follower.until("Imported")
        # A little in the future, so that it is fresh still when it is read, on a slow machine as well.
        moment = time.time_ns() + 1_500_000_000
        path.write_text("b\n", encoding="utf-8")
        os.utime(path, ns=(moment, moment))
        follower.until("added #2 “b”")
        with path.open("r+", encoding="utf-8") as file:
            file.write("c")
        os.utime(path, ns=(moment, moment))
        follower.until("added #3 “c”")
        follower.stop()


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
    """After `MAX_UNSTABLE_POLLS` polls."""
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


def test_a_warning_is_repeated_only_when_it_changes(person: Person) -> None:
    """A long watch does not print the same warning over and over."""
    path = person.folder / "todo.txt"
    path.write_text("(A) a\n", encoding="utf-8")

    with watching(person, "todo.txt") as follower:
        follower.until("line 1: a priority")
        replaced(path, "(A) a\nb\n")
        follower.until("added #2 “b”")
        replaced(path, "(A) a\n(B) b\n")
        follower.until("lines 1 and 2: a priority")
        follower.stop()

    assert len([line for line in follower.said if line.startswith("Not imported")]) == 2


def test_a_plan_that_violates_the_rules_is_reported_and_watching_continues(person: Person) -> None:
    """The rules are those of the dialect that the session is written in now."""
    person.says("call", "TodoWrite", '{"summary": "s", "todos": [{"content": "a", "status": "pending"}]}')
    path = person.folder / "plan.md"
    path.write_text("- [/] a\n- [/] b\n", encoding="utf-8")

    with watching(person, "plan.md") as follower:
        assert "in progress" in follower.until("tildone:")
        replaced(path, "- [/] a\n- [ ] b\n")
        follower.until("Imported")
        follower.stop()


def test_json_output_is_one_line_for_each_change(person: Person) -> None:
    """Nothing else is printed on standard output."""
    path = person.folder / "plan.md"
    path.write_text("- [ ] a\n", encoding="utf-8")

    with watching(person, "plan.md", "--json") as follower:
        first = json.loads(follower.until("{"))
        replaced(path, "- [x] a\n")
        second = json.loads(follower.until("{"))
        follower.stop()

    assert (first["format"], first["tasks"], second["changed"]) == ("markdown", 1, True)


def test_ctrl_c_at_a_terminal_ends_it(person: Person) -> None:
    """As it ends any other command."""
    (person.folder / "plan.md").write_text("- [ ] a\n", encoding="utf-8")

    terminal = person.at_terminal("import", "--watch", "plan.md", NO_COLOR="1")
    terminal.until("Imported")
    terminal.type(CTRL_C)
    answer = terminal.end()

    assert answer.code == 130
    assert answer.out.endswith("Stopped watching plan.md.\n")


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["a.md", "b.md"], 2, "--watch requires one file or one folder"),
        (["-"], 2, "--watch requires one file or one folder"),
        (["a.md", "--dry-run"], 2, "--watch and --dry-run exclude each other"),
        (["gone.md"], 4, "could not read gone.md: no such file"),
        (["prose"], 2, "cannot detect the format of prose; use --from pi, claude, markdown, todo.txt, json"),
    ],
)
def test_a_file_that_cannot_be_watched_is_an_error(person: Person, words: list[str], code: int, complaint: str) -> None:
    """It is reported at once."""
    (person.folder / "prose").write_text("prose\n", encoding="utf-8")

    answer = person.run("import", "--watch", *words)

    assert (answer.code, answer.err) == (code, f"tildone: {complaint}\n")
