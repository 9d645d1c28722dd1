"""Runs in lists, what a run waits for, and what a person asks of runs.

From the first command to the last, with real verbs.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.fleet.conftest import Operator, sqlite
from tests.cli.person import Person
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.base import StoreUnreachable
from tildone.base.ids import now
from tildone.cli.fleet import lists as watch
from tildone.cli.fleet.lists import listed_rows
from tildone.plan.events import Actor, Event
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Answered, Asked, Lease, LeaseState, RunReleased, WorkOutcome
from tildone.plan.text.amounts import DAY

ESCAPE = "\x1b[2J"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="workers need Linux")


def answers(operator: Operator, lease: Lease) -> list[tuple[str, str, str]]:
    """Return the questions of a run that were answered, the answers, and by whom."""
    return [(fact.question, fact.text, fact.who) for fact in operator.facts(lease.run, Answered)]


def states(operator: Operator) -> dict[str, str]:
    return {row["run"]: row["state"] for row in operator.json("ls", "--all")["runs"]}


def test_without_runs_the_list_says_how_to_queue_one_and_a_new_fleet_is_told_what_is_next(operator: Operator) -> None:
    assert "has no runs yet. To queue one: tildone fleet add PLAN" in operator.fleet()
    assert operator.json("ls")["runs"] == []

    shown = operator.fleet("up")

    assert shown.endswith(
        "No problems found.\nNext: tildone fleet add PLAN, then a worker: tildone fleet work --allow PATTERN\n"
    )
    operator.add()
    code, out, _ = operator.run("fleet", "doctor")
    assert (code, "✗ there are no workers" in out) == (1, True)


def test_a_run_is_listed_with_its_worker_and_the_task_made_printable(operator: Operator) -> None:
    operator.plan("a.md", f"wipe {ESCAPE} the screen", "two")
    run = operator.add("a.md")
    operator.take("elsewhere/1/a")

    shown = operator.fleet("ls")

    assert shown.startswith(f"{run}  working")
    assert "0/2" in shown
    assert "elsewhere/1/a" in shown
    assert "wipe" in shown
    assert "\x1b" not in shown + operator.fleet("show", run) + operator.fleet("ls", "--json")


def test_a_run_is_named_by_the_beginning_of_its_name(operator: Operator) -> None:
    """Of several, the living one is meant."""
    ended = operator.add("alpha.md")
    operator.fleet("cancel", ended)
    run = operator.add("alpha.md")
    operator.add("alps.md")

    assert operator.json("show", "alpha")["run"] == run
    operator.refused(2, "fleet", "show", "al")
    assert "\x1b" not in operator.refused(4, "fleet", "show", ESCAPE)
    operator.fleet("cancel", "alpha")
    operator.refused(2, "fleet", "show", "alpha")


def test_queued_runs_are_paused_resumed_cancelled_and_retried_at_once(operator: Operator) -> None:
    run = operator.add()

    assert operator.fleet("pause", run) == f"{run} is paused.\n"
    assert operator.fleet("resume", run) == f"{run} is queued.\n"
    operator.refused(3, "fleet", "retry", run)
    assert operator.fleet("cancel", run) == f"{run} is cancelled.\n"
    operator.refused(3, "fleet", "resume", run)
    operator.refused(3, "fleet", "cancel", run)
    assert operator.fleet("retry", run) == f"{run} is queued.\n"


def test_the_holder_of_a_run_is_asked(operator: Operator) -> None:
    run = operator.add()
    lease = operator.take()

    told = "worker elsewhere/1/a has been told."
    assert operator.fleet("cancel", run) == f"{run} is cancelled when its next task is done; {told}\n"
    assert operator.fleet("cancel", run, "--now") == f"{run} is cancelled now; {told}\n"
    [asked] = operator.json("cancel", run)["runs"]
    assert (asked["asked"], asked["done"]) == ("cancel now", False)
    assert states(operator) == {run: "cancelling"}
    operator.leases.release(lease.fence, "stopped")
    assert states(operator) == {run: "cancelled"}


def test_an_answer_queues_the_run_again(operator: Operator) -> None:
    run = operator.add()
    lease = operator.take()
    operator.asks(lease, "q1", "question", f"Which {ESCAPE} one?")
    operator.leases.close(lease.fence, WorkOutcome.WAITING)

    shown = operator.fleet("answer")
    assert "Which" in shown
    assert "\x1b" not in shown
    operator.refused(4, "fleet", "approve", run)
    operator.fleet("answer", run, "the", "second")

    assert answers(operator, lease) == [("q1", "the second", "Ada")]
    assert states(operator) == {run: "queued"}
    operator.refused(4, "fleet", "answer", run, "again")


@pytest.mark.parametrize(
    ("options", "answer"), [((), "yes"), (("--deny",), "no"), (("--deny", "--reason", "not here"), "no: not here")]
)
def test_a_command_is_listed_with_what_is_dangerous_about_it_and_approved_or_denied(
    operator: Operator, options: tuple[str, ...], answer: str
) -> None:
    run = operator.add()
    lease = operator.take()
    operator.asks(lease, "q1", "command", "sudo rm -rf build")
    operator.asks(lease, "q2", "question", "Why?")

    assert [each["text"] for each in operator.json("approve")["questions"]] == ["sudo rm -rf build"]
    assert "  sudo rm -rf build\n  Careful: it runs as another user, deletes files.\n" in operator.fleet("approve")
    operator.fleet("approve", run, *options)

    assert answers(operator, lease) == [("q1", answer, "Ada")]
    operator.refused(3, "fleet", "approve", run, "--question", "q2")


def test_settings_and_limits_are_stored_and_workers_are_listed_and_drained(operator: Operator) -> None:
    operator.fleet("up")
    assert "There are no workers" in operator.fleet("drain")
    operator.leases.beat(WorkerInfo("build-7/1/a", "build-7", 1, "1", labels=("gpu",)))

    assert operator.fleet("drain").startswith("build-7/1/a  1 slot, labels gpu")
    operator.refused(4, "fleet", "drain", "other")
    assert "build-7/1/a takes nothing more" in operator.fleet("drain", "build-7")
    assert operator.json("drain")["workers"][0]["draining"]

    shown = operator.fleet("up", "--lease", "30", "--limit", "anthropic=4/50")

    assert "a lease lasts 30 s and is renewed every 10 s" in shown
    assert "anthropic: at most 4 runs and 50 requests a minute" in shown
    operator.refused(2, "fleet", "up", "--limit", "anthropic")
    operator.refused(2, "fleet", "up", "--lease", "1")


def test_the_doctor_tells_of_runs_that_every_worker_has_refused(operator: Operator) -> None:
    """One that has not is enough, whatever it will say."""
    run = operator.add()
    for number in (1, 2):
        operator.leases.beat(WorkerInfo(f"here/{number}/a", "here", number, "1"))

    for number, code in ((1, 0), (2, 1)):
        operator.leases.close(operator.take(f"here/{number}/a").fence, WorkOutcome.REFUSED, "not here")
        ended, out, _ = operator.run("fleet", "doctor")
        assert (ended, f"{run} is queued, and every worker has refused it" in out) == (code, code == 1)

    assert states(operator) == {run: "queued"}


def test_old_runs_become_reports_and_workers_that_were_silent_for_long_are_removed(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.plan("a.md", f"wipe {ESCAPE} the screen", "# not a heading")
    run = operator.add("a.md")
    operator.fleet("cancel", run)
    operator.leases.beat(WorkerInfo("here/1/a", "here"))
    reports, days = operator.folder / "reports", 29
    monkeypatch.setattr("tildone.cli.fleet.doctor.now", lambda: now() + days * DAY)

    assert "No run ended more than 30 days ago." in operator.fleet("gc", "--reports", str(reports))
    assert operator.json("gc", "--dry-run")["runs"] == []
    assert not reports.exists()

    days = 31
    assert operator.json("gc", "--dry-run")["runs"][0]["run"] == run
    assert operator.json("ls", "--all")["runs"]
    assert [worker["id"] for worker in operator.json("drain")["workers"]] == ["here/1/a"]
    assert operator.run("fleet", "gc", "--reports", str(reports))[0] == 0
    report = (reports / f"{run}.md").read_text(encoding="utf-8")
    assert report.startswith(f"# A\n\n- Run: `{run}`\n")
    assert f"cancelled run {run}" in report
    assert "\x1b" not in report
    assert operator.json("ls", "--all")["runs"] == operator.json("drain")["workers"] == []
    assert operator.run("todo", "--session", os.path.realpath("a.md"))[0] == 0


def test_runs_are_added_again_from_the_logs(operator: Operator) -> None:
    """After a restore, the logs are there, and the leases are not."""
    run = operator.add()
    operator.fleet("cancel", run)
    operator.leases.forget(run)
    assert operator.json("ls", "--all")["runs"] == []

    assert "1 lease added from the logs of the plans" in operator.fleet("up", "--rebuild")

    assert states(operator) == {run: "cancelled"}
    operator.refused(2, "fleet", "up", "--rebuild", "--check")


def test_schedules_are_added_listed_and_removed(operator: Operator) -> None:
    operator.plan("nightly.md", "one")
    assert "There are no schedules" in operator.fleet("schedule")

    added = operator.json("schedule", "add", "0 3 * * *", "nightly.md", "--zone", "Europe/Berlin")

    assert (added["name"], added["replaced"]) == ("nightly", False)
    assert operator.json("schedule", "add", "0 4 * * *", "nightly.md")["replaced"]
    [listed] = operator.json("schedule")["schedules"]
    assert (listed["name"], listed["cron"], listed["zone"]) == ("nightly", "0 4 * * *", "UTC")
    operator.refused(4, "fleet", "schedule", "remove", "nightly", "other")
    assert operator.fleet("schedule", "remove", "nightly") == "Removed nightly. Runs that are queued stay.\n"
    assert operator.json("schedule")["schedules"] == []
    faults = {"0 25 * * *": "the hour of a schedule is 0 to 23", "x * * * *": "the minute", "* * *": "has 5 fields"}
    for cron, said in faults.items():
        code, _, err = operator.run("fleet", "schedule", "add", cron, "nightly.md")
        assert (code, said in err) == (2, True), cron
    operator.refused(2, "fleet", "schedule", "add", "0 3 * * *", "nightly.md", "--zone", "../etc")


@pytest.mark.parametrize("operator", [sqlite], indirect=True)
def test_without_a_store_lists_are_empty_no_run_can_be_named_and_none_is_made(operator: Operator) -> None:
    code, _, err = operator.run("fleet", "show", "x")

    assert code == 4
    assert "fleet.db yet; to prepare one: tildone fleet up" in err

    for verb, shown in [
        ("ls", "fleet.db has no runs yet. To queue one: tildone fleet add PLAN"),
        ("approve", "No run waits for approval."),
        ("answer", "No run waits for an answer."),
        ("drain", "There are no workers. To start one: tildone fleet work"),
        ("schedule", "There are no schedules."),
    ]:
        assert shown in operator.fleet(verb)
        assert next(found for found in operator.json(verb).values() if isinstance(found, list)) == [], verb
    assert not Path(operator.store_address).exists()


def test_a_long_list_is_cut_and_says_so(operator: Operator) -> None:
    for name in ("a.md", "b.md", "c.md"):
        operator.add(name)
    operator.fleet("cancel", "c")

    shown = operator.fleet("ls", "--limit", "1")

    assert shown.splitlines()[1] == "2 more: 1 queued, 1 cancelled. To list them: tildone fleet ls --limit 3"
    assert (len(operator.json("ls", "--limit", "1")["runs"]), operator.json("ls", "--limit", "1")["more"]) == (1, 2)
    assert [row["state"] for row in operator.json("ls")["runs"]] == ["queued", "queued", "cancelled"]
    operator.refused(2, "fleet", "ls", "--limit", "none")


def test_a_run_that_asks_is_first_with_its_question(operator: Operator) -> None:
    operator.add("a.md")
    operator.add("b.md", "--priority", "-1")
    operator.asks(operator.take(), "q1", "command", "make deploy")

    first, second = operator.json("ls")["runs"]

    assert (first["state"], first["asks"], second["state"]) == ("asking", "make deploy", "queued")
    assert "asks: make deploy" in operator.fleet("ls").splitlines()[0]


def test_show_says_what_a_run_waits_for_and_where_its_results_are(operator: Operator, tmp_path: Path) -> None:
    """The files of a run are shown on the machine that has them."""
    run = operator.add("a.md")
    other = operator.add("b.md")
    assert operator.json("show", run)["waits"] == "there are no workers"
    lease = operator.take()
    operator.leases.beat(WorkerInfo("elsewhere/1/a", "elsewhere", 1, "1", slots=2))
    home = tmp_path / "home" / ".local" / "share" / "tildone" / "fleet"
    (home / "worktrees" / lease.run).mkdir(parents=True)
    (home / "runs").mkdir()
    (home / "runs" / f"{lease.run}.1.output").touch()

    shown, waiting = operator.json("show", lease.run), ({run, other} - {lease.run}).pop()

    assert operator.json("show", waiting)["waits"] == f"{lease.run} works on the same repository"
    assert (shown["waits"], set(shown["places"])) == (None, {"branch", "folder", "output"})
    assert shown["places"]["branch"] == f"tildone/{lease.run}"
    assert f"folder  {home / 'worktrees' / lease.run}\n" in operator.fleet("show", lease.run)
    operator.leases.close(lease.fence, WorkOutcome.RETRY, "it failed")
    assert ", after 1 failed attempt" in operator.json("show", lease.run)["waits"]


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


def test_watch_says_once_that_the_store_is_away_and_keeps_it(
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


@on_linux
def test_a_run_cannot_widen_what_its_worker_permits(machine: Operator, tmp_path: Path) -> None:
    machine.plan("a.md", f"Mark: `touch {tmp_path / 'mark'}`")
    run = machine.add("a.md", "--allow", "*")

    with machine.working("--allow", "echo *"):
        [released] = until(lambda: machine.facts(run, RunReleased))

    assert released.why == "not permitted here: the commands that the run allows"
    assert not (tmp_path / "mark").exists()


@on_linux
@pytest.mark.parametrize("options", [(), ("--no-ask",)])
def test_an_approval_that_is_only_in_the_database_permits_nothing(
    machine: Operator, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """On a server, persons may be asked only if the worker says so; for a file, it can say that they may not."""
    mark = tmp_path / "mark"
    machine.plan("a.md", f"Mark: `touch {mark}`")
    run = machine.add("a.md")
    session = machine.lease(run).session
    asked = Asked(run, 0, "q", "command", f"touch {mark}")
    for fact in (asked, Answered(run, 0, "q", "yes", "Ada")):
        head = machine.store.session_head(session).head
        machine.store.append(session, Event(type(fact).__name__, head, 1, Actor.USER, fact))

    with machine.working("--allow", "echo *", *options):
        if "://" in machine.store_address or options:
            [released] = until(lambda: machine.facts(run, RunReleased))
            assert released.why == f"not permitted here: the command touch {mark}"
            until(lambda: "every worker has refused it" in machine.run("fleet", "doctor")[1])
        else:
            machine.becomes(run, LeaseState.DONE)

    assert mark.exists() is ("://" not in machine.store_address and not options)
