"""Runs in lists, and what a person asks of them."""

import os

import pytest

from tests.cli.fleet.conftest import Operator
from tildone.base.ids import now
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Answered, Asked, Lease, WorkOutcome
from tildone.plan.text.amounts import DAY

ESCAPE = "\x1b[2J"


def asks(operator: Operator, lease: Lease, question: str, kind: str, text: str) -> None:
    """Let the agent of a run ask a person."""
    fact = Asked(lease.run, lease.hand, question, kind, text)
    operator.with_leases(lambda _, leases: leases.append(lease.fence, fact, f"e-{question}"))


def answers(operator: Operator, lease: Lease) -> list[tuple[str, str, str]]:
    """Return the questions of a run that were answered, the answers, and by whom."""
    facts = operator.with_leases(lambda store, _: [event.fact for event in store.events(lease.session)])
    return [(fact.question, fact.text, fact.who) for fact in facts if isinstance(fact, Answered)]


def states(operator: Operator) -> dict[str, str]:
    return {row["run"]: row["state"] for row in operator.json("ls", "--all")["runs"]}


def test_without_runs_the_list_says_how_to_queue_one(operator: Operator) -> None:
    assert "has no runs yet. To queue one: tildone fleet add PLAN" in operator.fleet()
    assert operator.json("ls")["runs"] == []


def test_a_run_is_listed_with_its_worker_and_the_task_made_printable(operator: Operator) -> None:
    operator.plan("a.md", f"wipe {ESCAPE} the screen", "two")
    run = operator.add("a.md")
    operator.take("elsewhere/1/a")

    shown = operator.fleet("ls")

    assert shown.startswith(f"{run}  running")
    assert "0/2" in shown
    assert "elsewhere/1/a" in shown
    assert "wipe" in shown
    assert "\x1b" not in shown + operator.fleet("show", run) + operator.fleet("ls", "--json")


def test_a_run_is_named_by_the_beginning_of_its_name(operator: Operator) -> None:
    run = operator.add("alpha.md")
    operator.add("alps.md")

    assert operator.json("show", "alpha")["run"] == run
    assert operator.run("fleet", "show", "al")[0] == 2
    code, _, err = operator.run("fleet", "show", ESCAPE)
    assert (code, "\x1b" in err) == (4, False)


def test_queued_runs_are_paused_resumed_cancelled_and_retried_at_once(operator: Operator) -> None:
    run = operator.add()

    assert operator.fleet("pause", run) == f"{run} is paused.\n"
    assert operator.fleet("resume", run) == f"{run} is queued.\n"
    assert operator.run("fleet", "retry", run)[0] == 3
    assert operator.fleet("cancel", run) == f"{run} is cancelled.\n"
    assert operator.run("fleet", "resume", run)[0] == 3
    assert operator.run("fleet", "cancel", run)[0] == 3
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
    operator.with_leases(lambda _, leases: leases.release(lease.fence, "stopped"))
    assert states(operator) == {run: "cancelled"}


def test_an_answer_queues_the_run_again(operator: Operator) -> None:
    run = operator.add()
    lease = operator.take()
    asks(operator, lease, "q1", "question", f"Which {ESCAPE} one?")
    operator.with_leases(lambda _, leases: leases.close(lease.fence, WorkOutcome.WAITING))

    shown = operator.fleet("answer")
    assert "Which" in shown
    assert "\x1b" not in shown
    assert operator.run("fleet", "approve", run)[0] == 4
    operator.fleet("answer", run, "the", "second")

    assert answers(operator, lease) == [("q1", "the second", "Ada")]
    assert states(operator) == {run: "queued"}
    assert operator.run("fleet", "answer", run, "again")[0] == 4


@pytest.mark.parametrize(
    ("options", "answer"), [((), "yes"), (("--deny",), "no"), (("--deny", "--reason", "not here"), "no: not here")]
)
def test_a_command_is_approved_or_denied(operator: Operator, options: tuple[str, ...], answer: str) -> None:
    run = operator.add()
    lease = operator.take()
    asks(operator, lease, "q1", "command", "make deploy")
    asks(operator, lease, "q2", "question", "Why?")

    assert [each["text"] for each in operator.json("approve")["questions"]] == ["make deploy"]
    operator.fleet("approve", run, *options)

    assert answers(operator, lease) == [("q1", answer, "Ada")]
    assert operator.run("fleet", "approve", run, "--question", "q2")[0] == 3


def test_what_is_dangerous_about_a_command_is_listed(operator: Operator) -> None:
    operator.add()
    asks(operator, operator.take(), "q1", "command", "sudo rm -rf build")

    assert "  sudo rm -rf build\n  Careful: it runs as another user, deletes files.\n" in operator.fleet("approve")


@pytest.mark.parametrize("shell", [{"CLAUDE_CODE_SESSION_ID": "c1"}, {"TILDONE_LEASE": "other/0/1"}])
def test_an_agent_cannot_do_what_is_for_a_person(
    operator: Operator, shell: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = operator.add()
    lease = operator.take()
    asks(operator, lease, "q1", "command", "make deploy")
    paused = operator.add("b.md", "--repo", str(operator.folder.parent))
    operator.fleet("pause", paused)
    for name, value in shell.items():
        monkeypatch.setenv(name, value)

    for argv in (["approve", run], ["answer", run, "yes"], ["resume", paused], ["retry", paused]):
        code, out, err = operator.run("fleet", *argv)
        assert (code, out, "only a person can" in err) == (3, "", True), argv

    assert answers(operator, lease) == []
    assert states(operator) == {run: "asking", paused: "paused"}


def test_workers_are_listed_and_drained(operator: Operator) -> None:
    operator.fleet("up")
    assert "There are no workers" in operator.fleet("drain")
    operator.with_leases(lambda _, leases: leases.beat(WorkerInfo("build-7/1/a", "build-7", 1, "1", labels=("gpu",))))

    assert operator.fleet("drain").startswith("build-7/1/a  1 slot, labels gpu")
    assert operator.run("fleet", "drain", "other")[0] == 4
    assert "build-7/1/a takes nothing more" in operator.fleet("drain", "build-7")
    assert operator.json("drain")["workers"][0]["draining"]


def test_the_doctor_tells_of_runs_that_no_worker_can_take(operator: Operator) -> None:
    run = operator.add("a.md", "--labels", "gpu")
    operator.with_leases(lambda _, leases: leases.beat(WorkerInfo("here/1/a", "here", 1, "1")))

    code, out, _ = operator.run("fleet", "doctor")

    assert code == 5
    assert f"{run} is queued, and no worker has its labels: gpu" in out


def test_the_doctor_tells_of_runs_that_every_worker_has_refused(operator: Operator) -> None:
    """One that has not is enough, whatever it will say."""
    run = operator.add()
    workers = [WorkerInfo("here/1/a", "here", 1, "1"), WorkerInfo("here/2/b", "here", 2, "1")]
    operator.with_leases(lambda _, leases: [leases.beat(worker) for worker in workers])

    assert [doctor_after_refusal(operator, worker) for worker in workers] == [
        (0, False),
        (5, True),
    ]
    assert states(operator) == {run: "queued"}


def doctor_after_refusal(operator: Operator, worker: WorkerInfo) -> tuple[int, bool]:
    """Let a worker refuse the run; return the exit code of the doctor, and whether it says that all have."""
    lease = operator.take(worker.id)
    operator.with_leases(lambda _, leases: leases.close(lease.fence, WorkOutcome.REFUSED, "not here"))
    code, out, _ = operator.run("fleet", "doctor")
    return code, f"{lease.run} is queued, and every worker has refused it" in out


def test_old_runs_become_reports(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    operator.plan("a.md", f"wipe {ESCAPE} the screen", "# not a heading")
    run = operator.add("a.md")
    operator.fleet("cancel", run)
    reports = operator.folder / "reports"

    assert "No run ended more than 30 days ago." in operator.fleet("gc", "--reports", str(reports))
    assert operator.json("gc", "--dry-run")["runs"] == []
    assert not reports.exists()

    later = now() + 31 * DAY
    monkeypatch.setattr("tildone.cli.fleet.gc.now", lambda: later)
    assert operator.json("gc", "--dry-run")["runs"][0]["run"] == run
    assert operator.json("ls", "--all")["runs"]
    assert operator.run("fleet", "gc", "--reports", str(reports))[0] == 0
    report = (reports / f"{run}.md").read_text(encoding="utf-8")
    assert report.startswith(f"# Run {run}\n")
    assert f"cancelled run {run}" in report
    assert "\x1b" not in report
    assert operator.json("ls", "--all")["runs"] == []
    assert operator.run("todo", "--session", os.path.realpath("a.md"))[0] == 0


def test_settings_and_limits_of_all_workers_are_stored(operator: Operator) -> None:
    shown = operator.fleet("up", "--lease", "30", "--limit", "anthropic=4/50")

    assert "a lease lasts 30 s and is renewed every 10 s" in shown
    assert "anthropic: at most 4 runs and 50 requests a minute" in shown
    assert operator.run("fleet", "up", "--limit", "anthropic")[0] == 2
    assert operator.run("fleet", "up", "--lease", "1")[0] == 2


def test_runs_are_added_again_from_the_logs(operator: Operator) -> None:
    """After a restore, the logs are there, and the leases are not."""
    run = operator.add()
    operator.fleet("cancel", run)
    operator.with_leases(lambda _, leases: leases.forget(run))
    assert operator.json("ls", "--all")["runs"] == []

    assert "1 lease added from the logs of the plans" in operator.fleet("up", "--rebuild")

    assert states(operator) == {run: "cancelled"}
    assert operator.run("fleet", "up", "--rebuild", "--check")[0] == 2


def test_schedules_are_added_listed_and_removed(operator: Operator) -> None:
    operator.plan("nightly.md", "one")
    assert "There are no schedules" in operator.fleet("schedule")

    added = operator.json("schedule", "add", "0 3 * * *", "nightly.md", "--zone", "Europe/Berlin")

    assert (added["name"], added["replaced"]) == ("nightly", False)
    assert operator.json("schedule", "add", "0 4 * * *", "nightly.md")["replaced"]
    [listed] = operator.json("schedule")["schedules"]
    assert (listed["name"], listed["cron"], listed["zone"]) == ("nightly", "0 4 * * *", "UTC")
    assert operator.run("fleet", "schedule", "remove", "nightly", "other")[0] == 4
    assert operator.fleet("schedule", "remove", "nightly") == "Removed nightly. Runs that are queued stay.\n"
    assert operator.json("schedule")["schedules"] == []
    faults = {"0 25 * * *": "the hour of a schedule is 0 to 23", "x * * * *": "the minute", "* * *": "has 5 fields"}
    for cron, said in faults.items():
        code, _, err = operator.run("fleet", "schedule", "add", cron, "nightly.md")
        assert (code, said in err) == (2, True), cron
    assert operator.run("fleet", "schedule", "add", "0 3 * * *", "nightly.md", "--zone", "../etc")[0] == 2
