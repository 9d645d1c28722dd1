"""Lists of runs: empty ones, long ones, live ones, and what a run waits for."""

import json
import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.fleet.conftest import Operator
from tests.cli.fleet.test_fleet_running import asks
from tests.cli.person import Person
from tests.stores.postgres import needs_server, running_server
from tests.suite.forking import PROGRAM
from tildone.base.errors import StoreUnreachable
from tildone.cli.fleet import lists as watch
from tildone.cli.fleet.lists import listed_rows
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import WorkOutcome


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Operator:
    """An operator who has no store yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "none.db"))
    return Operator(tmp_path, str(tmp_path / "none.db"), capsys)


def test_without_a_store_lists_are_empty_and_none_is_made(nobody: Operator) -> None:
    for verb, shown in [
        ("ls", "none.db has no runs yet. To queue one: tildone fleet add PLAN"),
        ("approve", "No run waits for approval."),
        ("answer", "No run waits for an answer."),
        ("drain", "There are no workers. To start one: tildone fleet work"),
        ("schedule", "There are no schedules."),
    ]:
        assert shown in nobody.fleet(verb)
        assert next(found for found in nobody.json(verb).values() if isinstance(found, list)) == [], verb
    assert not Path(nobody.store_address).exists()


def test_without_a_store_a_run_cannot_be_named(nobody: Operator) -> None:
    code, _, err = nobody.run("fleet", "show", "x")

    assert code == 4
    assert "none.db yet; to prepare one: tildone fleet up" in err


def test_a_new_fleet_is_told_what_comes_next(operator: Operator) -> None:
    shown = operator.fleet("up")

    assert shown.endswith(
        "No problems found.\nNext: tildone fleet add PLAN, then a worker: tildone fleet work --allow PATTERN\n"
    )
    operator.add()
    code, out, _ = operator.run("fleet", "doctor")
    assert (code, "! there are no workers" in out) == (0, True)


def test_a_long_list_is_cut_and_says_so(operator: Operator) -> None:
    for name in ("a.md", "b.md", "c.md"):
        operator.add(name)
    operator.fleet("cancel", "c")

    shown = operator.fleet("ls", "--limit", "1")

    assert shown.splitlines()[1] == "2 more: 1 queued, 1 cancelled. To list them: tildone fleet ls --limit 3"
    assert (len(operator.json("ls", "--limit", "1")["runs"]), operator.json("ls", "--limit", "1")["more"]) == (1, 2)
    assert [row["state"] for row in operator.json("ls")["runs"]] == ["queued", "queued", "cancelled"]
    assert operator.run("fleet", "ls", "--limit", "none")[0] == 2


def test_a_run_that_asks_is_first_with_its_question(operator: Operator) -> None:
    operator.add("a.md")
    operator.add("b.md", "--priority", "-1")
    asks(operator, operator.take(), "q1", "command", "make deploy")

    first, second = operator.json("ls")["runs"]

    assert (first["state"], first["asks"], second["state"]) == ("asking", "make deploy", "queued")
    assert "asks: make deploy" in operator.fleet("ls").splitlines()[0]


def test_show_says_what_a_run_waits_for_and_where_its_results_are(operator: Operator, tmp_path: Path) -> None:
    """The files of a run are shown on the machine that has them."""
    run = operator.add("a.md")
    other = operator.add("b.md")
    assert operator.json("show", run)["waits"] == "there are no workers"
    lease = operator.take()
    operator.with_leases(lambda _, leases: leases.beat(WorkerInfo("elsewhere/1/a", "elsewhere", 1, "1", slots=2)))
    home = tmp_path / "home" / ".local" / "share" / "tildone" / "fleet"
    (home / "worktrees" / lease.run).mkdir(parents=True)
    (home / "runs").mkdir()
    (home / "runs" / f"{lease.run}.1.output").touch()

    shown, waiting = operator.json("show", lease.run), ({run, other} - {lease.run}).pop()

    assert operator.json("show", waiting)["waits"] == f"{lease.run} works on the same repository"
    assert (shown["waits"], set(shown["places"])) == (None, {"branch", "folder", "output"})
    assert shown["places"]["branch"] == f"tildone/{lease.run}"
    assert f"folder  {home / 'worktrees' / lease.run}\n" in operator.fleet("show", lease.run)
    operator.with_leases(lambda _, leases: leases.close(lease.fence, WorkOutcome.RETRY, "it failed"))
    assert ", after 1 failed attempt" in operator.json("show", lease.run)["waits"]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_watch_draws_the_list_again_when_a_run_changes(tmp_path: Path) -> None:
    """On the alternate screen, which Ctrl-C leaves."""
    person = Person(tmp_path, tmp_path, columns=40, environ={"TILDONE_STORE": str(tmp_path / "fleet.db")})
    (person.folder / "a.md").write_text("- [ ] one: `true`\n", encoding="utf-8")
    assert person.run("fleet", "add", "a.md").code == 0

    terminal = person.at_terminal("fleet", "watch")
    terminal.until("queued")
    assert person.run("fleet", "cancel", "a").code == 0
    terminal.until("1 cancelled")
    terminal.type(b"\x03")
    ended = terminal.end()

    assert ended.code == 130
    assert ended.out.startswith("\x1b[?1049h")
    assert ended.out.rstrip("^C\n").endswith("\x1b[?1049l")


def test_watch_prints_an_object_for_each_change(operator: Operator) -> None:
    run = operator.add()
    command = [str(PROGRAM), "fleet", "watch", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=operator.folder, encoding="utf-8") as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        operator.fleet("cancel", run)
        second = json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        code = watching.wait(60)

    assert [each["runs"][0]["state"] for each in (first, second)] == ["queued", "cancelled"]
    assert code == 130


def test_watch_says_once_that_the_store_does_not_answer_and_keeps_the_list(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JSON, then on a terminal. The store answers once, not for two looks, and then Ctrl-C is pressed."""
    operator.add()
    looks: list[type[BaseException] | None] = []

    def look(*given: Any) -> Any:
        ending = looks.pop(0)
        if ending:
            raise ending("the database is away")
        return listed_rows(*given)

    monkeypatch.setattr(watch, "listed_rows", look)
    monkeypatch.setattr(watch, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(watch, "columns", lambda: 60)
    answers = []
    for is_terminal in (False, True):
        monkeypatch.setattr(watch, "on_terminal", lambda is_terminal=is_terminal: is_terminal)
        looks += [None, StoreUnreachable, StoreUnreachable, None, KeyboardInterrupt]
        answers.append(operator.run("fleet", "watch", *([] if is_terminal else ["--json"])))

    (code, lines, said), (drawn_code, drawn, _) = answers
    assert (code, drawn_code, said) == (130, 130, "tildone: the database is away; trying again\n")
    assert [json.loads(line)["runs"][0]["state"] for line in lines.splitlines()] == ["queued"]
    assert drawn.count("the database is away; trying again") == 2
    assert "queued" in drawn.partition("trying again")[2].partition("trying again")[0]


@needs_server
@pytest.mark.slow
def test_watch_says_that_the_database_is_away_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    """On a terminal, the newest list stays below; as JSON, each reason is said once."""
    with running_server("fsync=off") as server, server.database() as url:
        person = Person(tmp_path, tmp_path, columns=60, environ={"TILDONE_STORE": url})
        (person.folder / "a.md").write_text("- [ ] one: `true`\n", encoding="utf-8")
        assert person.run("fleet", "add", "a.md").code == 0
        terminal = person.at_terminal("fleet", "watch")
        command, pipe = [str(PROGRAM), "fleet", "watch", "--json"], subprocess.PIPE
        with subprocess.Popen(
            command, stdout=pipe, stderr=pipe, env=person.environment({}), cwd=tmp_path, encoding="utf-8"
        ) as watching:
            assert watching.stdout is not None
            assert watching.stderr is not None
            terminal.until("queued")
            first = json.loads(watching.stdout.readline())

            server.order("stop")
            terminal.until_after("trying again", "queued")
            said = [watching.stderr.readline()]
            server.order("start")
            assert person.run("fleet", "cancel", "a").code == 0
            terminal.until("1 cancelled")
            second = json.loads(watching.stdout.readline())

            terminal.type(b"\x03")
            watching.send_signal(signal.SIGINT)
            said += watching.stderr.read().splitlines(keepends=True)
        ended = terminal.end()

    assert [each["runs"][0]["state"] for each in (first, second)] == ["queued", "cancelled"]
    assert (watching.returncode, ended.code) == (130, 130)
    assert all(line.startswith("tildone: ") and line.endswith("; trying again\n") for line in said)
    assert all(line != following for line, following in pairwise(said))
