"""What `gc` removes, what `doctor` finds, and how repositories and providers are limited, on both kinds of store."""

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.cli.fleet.conftest import Operator
from tests.cli.fleet.test_fleet_running import asks
from tests.fleet.repositories import bare, git, project
from tests.plans import plan_of
from tests.stores.postgres import execute
from tests.suite.waiting import until
from tildone.base.errors import shortened
from tildone.base.ids import now
from tildone.cli.fleet.doctor import MAX_FINDINGS
from tildone.fleet.workspaces import Workspace
from tildone.log.needs import Need
from tildone.plan.events import PlanChanged
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import PROTOCOL, Claimer, Lease, NewRun, Work, WorkOutcome
from tildone.plan.text.amounts import DAY

FIRST = [PlanChanged(plan_of("one"))]


def doctor(operator: Operator) -> tuple[int, str]:
    code, out, _ = operator.run("fleet", "doctor")
    return code, out


def claim(operator: Operator, slots: int) -> list[Lease]:
    owners = [f"here/1/a/{slot}" for slot in range(slots)]
    return operator.with_leases(lambda _, leases: leases.claim(Claimer("here/1/a"), owners))  # type: ignore[no-any-return]  # of any type above


def close(operator: Operator, lease: Lease) -> None:
    operator.with_leases(lambda _, leases: leases.close(lease.fence, WorkOutcome.FAILED, "no"))


def beat(operator: Operator, worker: WorkerInfo) -> None:
    operator.with_leases(lambda _, leases: leases.beat(worker))


def add(operator: Operator, run: str, work: Work) -> None:
    operator.with_leases(lambda _, leases: leases.add(NewRun(run, run, work), FIRST))


def test_gc_removes_workers_that_were_silent_for_long(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    beat(operator, WorkerInfo("here/1/a", "here"))
    days = 29
    monkeypatch.setattr("tildone.cli.fleet.gc.now", lambda: now() + days * DAY)

    def left() -> list[str]:
        operator.fleet("gc")
        return [worker["id"] for worker in operator.json("drain")["workers"]]

    assert left() == ["here/1/a"]
    days = 31
    assert left() == []


def test_gc_removes_files_checkpoints_and_rows_and_keeps_branch_and_log(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = project(tmp_path, "repository")
    remote = bare(tmp_path, repo)
    run = operator.add("a.md", "--repo", str(repo), "--hands", "2")
    home = tmp_path / "home" / ".local" / "share" / "tildone" / "fleet"
    for lease in claim(operator, 2):
        files = Workspace(lease, str(home))
        files.prepare([], 2)
        assert files.checkpoint(1, "a task")
        assert files.share(lambda: None)
        (home / "runs" / f"{files.name}.{lease.epoch}.output").touch()
        close(operator, lease)
    assert len(git(remote, "for-each-ref", "refs/tildone/").splitlines()) == 2

    later = now() + 31 * DAY
    monkeypatch.setattr("tildone.cli.fleet.gc.now", lambda: later)
    assert operator.run("fleet", "gc")[0] == 0

    assert operator.json("ls", "--all")["runs"] == []
    assert (home / "reports" / f"{run}.md").exists()
    assert (os.listdir(home / "worktrees"), os.listdir(home / "runs")) == ([], [])
    assert git(repo, "for-each-ref", "refs/tildone/") == git(remote, "for-each-ref", "refs/tildone/") == ""
    assert git(remote, "rev-parse", "--verify", f"tildone/{run}")
    assert operator.run("todo", "--session", os.path.realpath("a.md"))[0] == 0


def test_the_doctor_finds_checkpoints_of_runs_that_are_not_listed(operator: Operator, tmp_path: Path) -> None:
    repo = project(tmp_path, "repository")
    run = operator.add("a.md", "--repo", str(repo))
    git(repo, "update-ref", f"refs/tildone/{run}/1", "HEAD")
    assert "checkpoints of runs" not in doctor(operator)[1]

    git(repo, "update-ref", "refs/tildone/gone-1/1", "HEAD")

    assert f"{repo} has checkpoints of runs that are not listed: gone-1" in doctor(operator)[1]


def test_the_doctor_finds_leases_that_nobody_takes_over(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    run = operator.add()
    operator.fleet("up", "--lease", "2")
    operator.take("elsewhere/1/a")
    until(lambda: f"the lease of {run} has lapsed; worker elsewhere/1/a does not renew it" in doctor(operator)[1])

    later = now() + 60_000
    monkeypatch.setattr("tildone.cli.fleet.doctor.now", lambda: later)

    assert doctor(operator)[0] == 5


def test_the_doctor_finds_workers_of_another_protocol_silent_ones_and_full_disks(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.fleet("up")
    for worker in (WorkerInfo("old/1/a", "old", 1, "0", 0), WorkerInfo("full/2/b", "full", 2, "1", slots=0)):
        beat(operator, worker)

    _, out = doctor(operator)

    assert "worker old/1/a has protocol 0, and this version has 1" in out
    assert "worker full/2/b takes no run: its disk is nearly full" in out
    code, _, err = operator.run("fleet", "ls")
    assert (code, err) == (0, "tildone: worker full/2/b takes no run: its disk is nearly full\n")

    later = now() + 3_600_000
    monkeypatch.setattr("tildone.cli.fleet.doctor.now", lambda: later)
    assert "worker old/1/a is silent; it was last seen 1 hour ago" in doctor(operator)[1]


def test_the_doctor_says_that_nothing_is_stuck(operator: Operator) -> None:
    operator.add("a.md")
    operator.add("b.md")
    worker = operator.take("here/1/a").worker
    beat(operator, WorkerInfo(worker, "here", 1, "1.2", slots=3))

    code, out = doctor(operator)

    assert (code, "2 runs in work, none of them stuck" in out) == (0, True)
    assert "worker here/1/a: 3 slots, version 1.2" in out
    assert out.endswith("No problems found.\n")
    assert {check["status"] for check in operator.json("doctor")["checks"]} == {"ok"}


def test_the_doctor_finds_runs_that_wait_for_an_answer_or_for_a_newer_version(operator: Operator) -> None:
    operator.add("a.md")
    lease = operator.take("here/1/a")
    asks(operator, lease, "q1", "question", "Which?")
    operator.with_leases(lambda _, leases: leases.close(lease.fence, WorkOutcome.WAITING))
    add(operator, "newer", Work(protocol=PROTOCOL + 1))
    beat(operator, WorkerInfo("here/1/a", "here", 1, "1"))

    code, out = doctor(operator)

    assert code == 5
    assert f"{lease.run} waits for an answer" in out
    assert f"newer needs protocol {PROTOCOL + 1}" in out


def test_the_doctor_lists_the_first_runs_and_counts_the_others(operator: Operator) -> None:
    for number in range(MAX_FINDINGS + 2):
        add(operator, f"r{number:02}", Work(labels=("gpu",)))
    beat(operator, WorkerInfo("here/1/a", "here", 1, "1"))

    _, out = doctor(operator)

    assert out.count("is queued, and no worker has its labels: gpu") == MAX_FINDINGS
    assert "2 more runs need attention" in out


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of processes")
@pytest.mark.parametrize("held", [True, False])
def test_the_doctor_finds_frozen_and_orphaned_processes(operator: Operator, *, held: bool) -> None:
    operator.add()
    lease = operator.take("elsewhere/1/a")
    environ = os.environ | {"TILDONE_LEASE": str(lease.fence)}
    with subprocess.Popen(["sh", "-c", "kill -STOP $$"], env=environ) as process:
        try:
            if not held:
                operator.with_leases(lambda _, leases: leases.release(lease.fence, "stopped"))
            what = "is frozen" if held else "and is frozen"
            until(lambda: what in doctor(operator)[1])
            code, out = doctor(operator)
        finally:
            process.kill()

    assert f"process {process.pid} (sh)" in out
    assert code == (0 if held else 5)


def test_approve_permits_what_an_agent_that_waits_asks_for(operator: Operator) -> None:
    run = operator.add()
    session = operator.take().session
    need = Need("n1", session, "command", "make deploy", ("once", "always", "no"), 1, "tildone:a")
    operator.with_leases(lambda store, _: store.records.ask(need))

    operator.fleet("approve", run)

    decided = operator.with_leases(lambda store, _: store.records.need("n1"))
    assert (decided.answer, decided.answered_by) == ("once", "Ada")


def test_one_run_at_a_time_works_on_a_repository_however_it_is_spelled(operator: Operator, tmp_path: Path) -> None:
    repo, link = project(tmp_path, "repository"), tmp_path / "link"
    link.symlink_to(repo)
    for number, spelling in enumerate((str(repo), f"{repo}/", str(link), os.path.relpath(repo))):
        operator.add(f"path{number}.md", "--repo", spelling)
    for number, spelling in enumerate(("https://example.org/a.git", "https://example.org/a/", "https://EXAMPLE.org/a")):
        operator.add(f"url{number}.md", "--repo", spelling)

    assert len(claim(operator, 7)) == 2


def test_runs_of_a_provider_are_limited_and_labels_may_appear_later(operator: Operator) -> None:
    operator.fleet("up", "--limit", "anthropic=1")
    add(operator, "r1", Work(provider="anthropic"))
    add(operator, "r2", Work(provider="anthropic"))
    add(operator, "r3", Work(labels=("gpu",)))

    assert [lease.run for lease in claim(operator, 3)] == ["r1"]
    [late] = operator.with_leases(lambda _, leases: leases.claim(Claimer("gpu/1/a", ("gpu", "x")), ["gpu/1/a/1"]))
    assert late.run == "r3"


def test_a_row_that_somebody_else_has_changed_is_told_of_and_touches_no_files(
    operator: Operator, tmp_path: Path
) -> None:
    """It is neither worked on nor removed with the files that its name leads to, and the other run is done."""
    victim = tmp_path / "victim"
    (victim / "deep").mkdir(parents=True)
    ended, good = operator.add("a.md"), operator.add("b.md")
    lease = operator.take()
    assert lease.run == ended
    close(operator, lease)
    tamper(operator, ended, f"run = '{victim}', since = 1")

    shown = [operator.run("fleet", *words) for words in (("ls",), ("doctor",), ("show", str(victim)))]
    _, done, told = operator.run("fleet", "gc")

    wrong = f"a row of the fleet's table leases, '{shortened(str(victim))}', is wrong: the name of a run has 1 to 64"
    assert wrong in shown[0][2]
    assert good in shown[0][1]
    assert (shown[1][0], wrong in shown[1][1]) == (5, True)
    assert "tildone fleet gc removes the row" in shown[1][1]
    assert shown[2][0] != 0
    assert "No run ended" in done
    assert wrong in told
    assert "it is removed" in told
    assert (victim / "deep").exists()
    assert not victim.with_name("victim.md").exists()
    assert (doctor(operator)[0], operator.run("fleet", "ls")[2]) == (0, "")


def test_a_worker_tells_of_a_row_that_it_ignores(operator: Operator) -> None:
    """On a server, DBOS brings it the others."""
    bad, good = operator.add("a.md"), operator.add("b.md")
    tamper(operator, bad, "run = '../../x'")

    operator.fleet("up")
    command = [sys.executable, "-m", "tildone", "fleet", "work", "--until-idle", "--allow", "*", "--grace", "1"]
    worked = subprocess.run(command, cwd=operator.folder, capture_output=True, text=True, timeout=120, check=False)

    told = worked.stderr
    assert worked.returncode == 0, told
    assert told.count("a row of the fleet's table leases, '../../x', is wrong") == 1
    assert f"run {good} is done" in told


def tamper(operator: Operator, run: str, change: str) -> None:
    """Change a row of the table, as somebody does who can write to the database."""
    if "://" in operator.store_address:
        execute(operator.store_address, f"UPDATE tildone.leases SET {change} WHERE run = '{run}'")  # noqa: S608  our own words
    else:
        statement = f"UPDATE leases SET {change} WHERE run = '{run}'"  # noqa: S608  the same
        apsw.Connection(operator.store_address).execute(statement)
