"""`tildone fleet work` as a process, with the shell agent and its secrets.

What `gc` and `doctor` find on a machine with workers.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock, PropertyMock

import apsw
import pytest

from tests.cli.fleet.conftest import Operator, postgres, sqlite, stop
from tests.cli.person import Person
from tests.fleet.agents import processes_of
from tests.fleet.repositories import bare, git, project
from tests.fleet.test_engines import needs_dbos
from tests.fleet.workers import Bench, said
from tests.plans import plan_of
from tests.stores.postgres import execute, needs_server
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.base import StoreBusy, replace, shortened
from tildone.base.distribution import install_extra
from tildone.base.ids import now
from tildone.cli.fleet.doctor import MAX_FINDINGS
from tildone.cli.fleet.work import wait_and_drain
from tildone.fleet.results import WorkerOptions
from tildone.fleet.worker import Worker
from tildone.fleet.workspaces import Workspace
from tildone.log.needs import Need
from tildone.plan.events import PlanChanged
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import PROTOCOL, Claimer, Lease, LeaseState, NewRun, RunReleased, Work, WorkOutcome
from tildone.plan.text.amounts import DAY

FAILING = """
import os, sys
from importlib import import_module
from tildone.cli import main

module, owner, method = sys.argv[1].split(":")
owner = getattr(import_module(module), owner)
original = getattr(owner, method)

def fails_later(*args):
    if os.path.exists("fail"):
        raise KeyError("a defect")
    return original(*args)

setattr(owner, method, fails_later)
sys.exit(main(sys.argv[2:]))
"""
"""`tildone` in which a method fails as soon as there is a file named `fail`."""


on_postgres = pytest.mark.parametrize(
    "operator", [pytest.param(postgres, marks=[needs_server, needs_dbos])], indirect=True
)
on_sqlite = pytest.mark.parametrize("operator", [sqlite], indirect=True)


def queue(machine: Operator, name: str, *commands: str) -> str:
    """Queue a plan with a task for each command, and return the name of the run."""
    machine.plan(name, *(f"Run `{command}`" for command in commands))
    return machine.add(name)


@on_sqlite
def test_a_second_signal_ends_the_agents_and_queues_their_runs(machine: Operator) -> None:
    """The first one lets the agent go on."""
    run = queue(machine, "a.md", "sleep 3600")

    with machine.working("--allow", "*") as worker:
        until(lambda: processes_of(f"{run}/0/1"))
        stop(worker)
        worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 0
    assert (processes_of(f"{run}/0/1"), machine.leases.workers()) == ([], [])
    assert machine.lease(run).is_queued
    assert [fact.why for fact in machine.facts(run, RunReleased)] == ["its worker was stopped"]


def test_a_run_is_cancelled_at_once_by_another_process_and_retried(machine: Operator, tmp_path: Path) -> None:
    """The worker ends the agent in the middle of a task. The heartbeat is far too long for it to be noticed so."""
    machine.leases.configure(replace(machine.leases.settings(), lease=1_000_000, heartbeat=300_000))
    run = queue(machine, "a.md", f"test -e {tmp_path}/go || sleep 3600")

    with machine.working("--allow", "*"):
        until(lambda: processes_of(f"{run}/0/1"))
        machine.fleet("cancel", run, "--now")
        machine.becomes(run, LeaseState.CANCELLED)
        left = processes_of(f"{run}/0/1")
        (tmp_path / "go").touch()
        machine.fleet("retry", run)
        machine.becomes(run, LeaseState.DONE)

    assert left == []


@on_sqlite
@pytest.mark.parametrize(
    ("thread", "method"),
    [
        ("heartbeat", "tildone.fleet.upkeep:Heartbeat:beat"),
        ("reaper", "tildone.fleet.upkeep:Reaper:look"),
        ("claims", "tildone.fleet.upkeep:Slots:free"),
        ("idle", "tildone.fleet.worker:Worker:could_take"),
    ],
)
def test_a_worker_without_an_essential_thread_gives_its_runs_back(machine: Operator, thread: str, method: str) -> None:
    run = queue(machine, "a.md", "sleep 3600")
    program = [sys.executable, "-c", FAILING, method]

    with machine.working("--allow", "*", "--slots", "2", "--until-idle", program=program) as worker:
        until(lambda: processes_of(f"{run}/0/1"))
        (machine.folder / "fail").touch()
        errors = worker.communicate(timeout=LIMIT_SECONDS)[1].decode()

    assert worker.returncode == 1
    assert "KeyError: 'a defect'" in errors
    told = f"tildone: the thread '{thread}' has failed, and the worker stops; please report the error above\n"
    assert told in errors
    assert processes_of(f"{run}/0/1") == []
    assert machine.lease(run).is_queued


@on_sqlite
def test_a_worker_goes_on_when_the_thread_of_a_run_fails_and_ends_when_it_is_drained(machine: Operator) -> None:
    """Its lease lapses, and the other runs go on."""
    queue(machine, "a.md", "true")
    program = [sys.executable, "-c", FAILING, "tildone.fleet.running:Execution:run"]
    (machine.folder / "fail").touch()

    with machine.working("--allow", "*", "--slots", "2", program=program) as worker:
        errors = worker.stderr
        assert errors is not None
        until(lambda: b"KeyError: 'a defect'" in errors.readline())
        (machine.folder / "fail").unlink()
        second = queue(machine, "b.md", "true")
        machine.becomes(second, LeaseState.DONE)
        machine.fleet("drain", "--all")
        _, told = worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 0
    assert f"run {second} is done" in told.decode()
    assert machine.leases.workers() == []


class Drained(Worker):
    """A worker that does not begin, and counts how often it is drained."""

    drains = 0

    def drain(self) -> None:
        self.drains += 1


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("MARKS", "")
    return Bench(tmp_path)


@pytest.fixture
def drained(bench: Bench) -> Drained:
    options = WorkerOptions(1, frozenset(), ("*",), frozenset(), str(bench.folder), 1.0)
    return Drained(bench.leases, options, bench.address)


def drain_after(worker: Drained, bench: Bench, *steps: Callable[[], object]) -> None:
    """Check that the worker is drained when these steps have happened, each before a look, and not before."""
    left, before = list(steps), worker.drains

    def step(_seconds: float) -> None:
        left.pop(0)()

    wait_and_drain(worker, bench.leases, step)
    assert (worker.drains - before, left) == (1, [])


def test_a_worker_ends_at_once_when_nothing_is_queued_or_it_lacks_the_labels(drained: Drained, bench: Bench) -> None:
    drain_after(drained, bench, list)
    bench.add("true", labels=("gpu",))
    drain_after(drained, bench, list)


def test_a_worker_waits_for_what_is_queued_or_held_and_ends_when_it_is_done(drained: Drained, bench: Bench) -> None:
    bench.add("true")
    held: list[Lease] = []

    drain_after(
        drained,
        bench,
        list,
        lambda: held.extend(bench.leases.claim(Claimer("there/1/a"), ["there/1/a/0"])),
        lambda: bench.leases.close(held[0].fence, WorkOutcome.DONE),
    )


def test_a_worker_does_not_wait_for_a_run_that_it_has_refused(drained: Drained, bench: Bench) -> None:
    bench.add("true")
    [lease] = bench.leases.claim(Claimer(drained.id), [f"{drained.id}/0"])
    bench.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")

    drain_after(drained, bench, list)

    assert bench.lease().is_queued


def test_a_worker_that_cannot_read_the_store_or_writes_the_report_of_its_last_run_looks_again(
    drained: Drained, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is done by then, so nothing in the store tells of it."""
    with monkeypatch.context() as patched:
        patched.setattr(bench.leases, "active", Mock(side_effect=[StoreBusy("locked"), []]))
        drain_after(drained, bench, list, list)

    monkeypatch.setattr(Worker, "is_at_work", PropertyMock(side_effect=[True, False]))
    drain_after(drained, bench, list, list)


ATTEMPTS = "SELECT workflow_uuid, status, executor_id FROM tildone_dbos.workflow_status ORDER BY 1"
IMPORTED = """
import json, sys
from tildone.cli import main

for verb in json.loads(sys.argv[1]):
    assert main(["fleet", *verb]) == 0, verb
    assert "dbos" not in sys.modules, verb
"""


@on_postgres
def test_a_fleet_on_postgresql_is_prepared_used_and_emptied(operator: Operator) -> None:
    """From nothing to a run that is done. The worker prints what it always does, and nothing of the engine's."""
    execute(operator.store_address, "DROP SCHEMA IF EXISTS tildone_dbos CASCADE")
    code, out, _ = operator.run("fleet", "up", "--check")
    assert (code, "no engine is chosen for the workers" in out) == (5, True)
    assert "is not prepared for workers: tildone fleet up" in operator.refused(5, "fleet", "work")
    execute(operator.store_address, "UPDATE tildone.fleet SET engine = 'dbos'")
    code, out, _ = operator.run("fleet", "up", "--check")
    assert (code, "the tables of the engine dbos are missing, or too old" in out) == (5, True)
    assert "is not prepared for workers: tildone fleet up" in operator.refused(5, "fleet", "work")
    execute(operator.store_address, "UPDATE tildone.fleet SET engine = ''")

    assert "the engine of the workers is dbos" in operator.run("fleet", "up")[1]
    assert "the engine of the workers is dbos" in operator.run("fleet", "up", "--check")[1]
    (operator.folder / "a.md").write_text("- [ ] one\n  $ test -e parser.py\n", encoding="utf-8")
    run = operator.add("a.md", "--agent", "shell", "--repo", str(project(operator.folder)))
    with operator.working("--allow", "*", program=(sys.executable, "-m", "tildone")) as worker:
        operator.becomes(run, LeaseState.DONE)
        worker.terminate()
        printed, errors = (stream.decode() for stream in worker.communicate())

    assert (worker.returncode, printed) == (0, "")
    assert [line for line in said(errors) if not line.startswith(("worker ", "taking ", f"run {run}"))] == []
    [(name, status, executor)] = execute(operator.store_address, ATTEMPTS)
    assert (name, status) == (f"{run}.0.1", "SUCCESS")
    assert executor != "local"
    verbs = (["ls"], ["show", run], ["answer"], ["add", operator.plan("b.md", "one")])
    assert subprocess.run([sys.executable, "-c", IMPORTED, json.dumps(verbs)], check=False).returncode == 0
    execute(operator.store_address, "UPDATE tildone.leases SET since = 0 WHERE state <> 'open'")
    assert "Removed 1 run" in operator.fleet("gc")
    assert execute(operator.store_address, ATTEMPTS) == []


@on_postgres
def test_without_the_package_the_table_is_the_engine(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    assert f"is not installed: {install_extra('fleet')}; or" in operator.refused(2, "fleet", "up")

    operator.configure('engine = "table"')

    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    assert execute(operator.store_address, "SELECT engine FROM tildone.fleet") == [("table",)]


@on_sqlite
def test_a_file_needs_no_engine_but_its_own_table(operator: Operator) -> None:
    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    operator.configure('engine = "dbos"')
    assert "needs a PostgreSQL database" in operator.refused(2, "fleet", "up")
    operator.configure('engine = "other"')
    assert "engine must be table or dbos" in operator.run("fleet", "up")[2]
    assert not Path("dbos").exists()


FIRST = [PlanChanged(plan_of("one"))]


def doctor(operator: Operator) -> tuple[int, str]:
    code, out, _ = operator.run("fleet", "doctor")
    return code, out


def add(operator: Operator, run: str, work: Work) -> None:
    operator.leases.add(NewRun(run, run, work), FIRST)


def test_gc_removes_all_but_the_branch_and_the_log(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = project(tmp_path, "repository")
    remote = bare(tmp_path, repo)
    run = operator.add("a.md", "--repo", str(repo), "--hands", "2")
    home = tmp_path / "home" / ".local" / "share" / "tildone" / "fleet"
    for lease in operator.take_all(2):
        files = Workspace(lease, str(home))
        files.prepare([], 2)
        assert files.checkpoint(1, "a task")
        assert files.share(lambda: None) == ()
        (home / "runs" / f"{files.name}.{lease.epoch}.output").touch()
        operator.leases.close(lease.fence, WorkOutcome.FAILED, "no")
    assert len(git(remote, "for-each-ref", "refs/tildone/").splitlines()) == 2

    later = now() + 31 * DAY
    monkeypatch.setattr("tildone.cli.fleet.doctor.now", lambda: later)
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

    assert doctor(operator)[0] == 1


def test_the_doctor_finds_workers_of_another_protocol_and_silent(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.fleet("up")
    for worker in (WorkerInfo("old/1/a", "old", 1, "0", 0), WorkerInfo("full/2/b", "full", 2, "1", slots=0)):
        operator.leases.beat(worker)

    _, out = doctor(operator)

    assert f"worker old/1/a has protocol 0, and this version has {PROTOCOL}" in out
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
    operator.leases.beat(WorkerInfo(worker, "here", 1, "1.2", slots=3))

    code, out = doctor(operator)

    assert (code, "2 runs in work, none of them stuck" in out) == (0, True)
    assert "worker here/1/a: 3 slots, version 1.2" in out
    assert out.endswith("No problems found.\n")
    assert {check["status"] for check in operator.json("doctor")["checks"]} == {"ok"}


def test_the_doctor_lists_the_first_runs_that_wait_and_counts_the_others(operator: Operator) -> None:
    operator.add("a.md")
    lease = operator.take("here/1/a")
    operator.asks(lease, "q1", "question", "Which?")
    operator.leases.close(lease.fence, WorkOutcome.WAITING)
    add(operator, "newer", Work(protocol=PROTOCOL + 1))
    for number in range(MAX_FINDINGS):
        add(operator, f"r{number:02}", Work(labels=("gpu",)))
    operator.leases.beat(WorkerInfo("here/1/a", "here", 1, "1"))

    code, out = doctor(operator)

    assert (code, out.count("is queued, and no worker has its labels: gpu")) == (1, MAX_FINDINGS - 2)
    assert f"{lease.run} waits for an answer" in out
    assert f"newer needs protocol {PROTOCOL + 1}" in out
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
                operator.leases.release(lease.fence, "stopped")
            what = "is frozen" if held else "and is frozen"
            until(lambda: what in doctor(operator)[1])
            code, out = doctor(operator)
        finally:
            process.kill()

    assert f"process {process.pid} (sh)" in out
    assert code == (0 if held else 1)


def test_approve_permits_what_an_agent_that_waits_asks_for(operator: Operator) -> None:
    run = operator.add()
    session = operator.take().session
    need = Need("n1", session, "command", "make deploy", ("once", "always", "no"), 1, "tildone:a")
    operator.store.records.ask(need)

    operator.fleet("approve", run)

    decided = operator.store.records.need("n1")
    assert decided is not None
    assert (decided.answer, decided.answered_by) == ("once", "Ada")


def test_one_run_at_a_time_works_on_a_repository_however_it_is_spelled(operator: Operator, tmp_path: Path) -> None:
    repo, link = project(tmp_path, "repository"), tmp_path / "link"
    link.symlink_to(repo)
    for number, spelling in enumerate((str(repo), f"{repo}/", str(link), os.path.relpath(repo))):
        operator.add(f"path{number}.md", "--repo", spelling)
    for number, spelling in enumerate(("https://example.org/a.git", "https://example.org/a/", "https://EXAMPLE.org/a")):
        operator.add(f"url{number}.md", "--repo", spelling)

    assert len(operator.take_all(7)) == 2


def test_a_row_that_somebody_else_has_changed_is_told_of_and_touches_no_files(
    operator: Operator, tmp_path: Path
) -> None:
    """It is neither worked on nor removed with the files that its name leads to, and the other run is done."""
    victim = tmp_path / "victim"
    (victim / "deep").mkdir(parents=True)
    ended, good = operator.add("a.md"), operator.add("b.md")
    lease = operator.take()
    assert lease.run == ended
    operator.leases.close(lease.fence, WorkOutcome.FAILED, "no")
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
    assert (doctor(operator)[0], operator.run("fleet", "ls")[2]) == (1, "")


def test_a_worker_tells_of_a_row_that_it_ignores(operator: Operator) -> None:
    """On a server, DBOS brings it the others."""
    bad, good = operator.add("a.md"), operator.add("b.md")
    tamper(operator, bad, "run = '../../x'")

    operator.fleet("up")
    with operator.working("--until-idle", "--allow", "*", program=(sys.executable, "-m", "tildone")) as worker:
        told = worker.communicate(timeout=LIMIT_SECONDS)[1].decode()

    assert worker.returncode == 0, told
    assert told.count("a row of the fleet's table leases, '../../x', is wrong") == 1
    assert f"run {good} is done" in told


def tamper(operator: Operator, run: str, change: str) -> None:
    """Change a row of the table, as somebody does who can write to the database."""
    if "://" in operator.store_address:
        execute(operator.store_address, f"UPDATE tildone.leases SET {change} WHERE run = '{run}'")  # noqa: S608  our own words
    else:
        statement = f"UPDATE leases SET {change} WHERE run = '{run}'"  # noqa: S608  the same
        apsw.Connection(operator.store_address).execute(statement)


SECRETS = {
    "ANTHROPIC_API_KEY": "of-anthropic",
    "OPENAI_API_KEY": "of-openai",
    "GITHUB_TOKEN": "of-github",
    "DATABASE_URL": "postgresql://app:of-database@db/app",
    "SSH_AUTH_SOCK": "of-ssh",
}
CLAUDE = '#!/bin/sh\nenv > "$SEEN/claude"\nexec tildone todo done 1\n'


@pytest.mark.skipif(sys.platform != "linux", reason="workers run on Linux")
def test_an_agent_sees_the_secrets_of_its_own_provider_only(person: Person, tmp_path: Path) -> None:
    """And the commands of agents without a model see none."""
    seen, programs = tmp_path / "seen", tmp_path / "programs"
    (person.folder / ".git").rmdir()
    for folder in (seen, programs):
        folder.mkdir()
    (programs / "claude").write_text(CLAUDE)
    (programs / "claude").chmod(0o755)
    path = os.pathsep.join((str(programs), str(PROGRAM.parent), os.environ["PATH"]))
    (person.folder / "model.md").write_text("- [ ] Look around\n")
    for agent in ("shell", "run"):
        (person.folder / f"{agent}.md").write_text(f"- [ ] Look around: `sh -c 'env > {seen / agent}'`\n")
    person.says("fleet", "up")
    person.says("fleet", "add", "model.md", "--agent", "claude")
    for agent in ("shell", "run"):
        person.says("fleet", "add", f"{agent}.md", "--agent", agent)

    worked = person.run("fleet", "work", "--allow", "*", "--until-idle", PATH=path, SEEN=str(seen), **SECRETS)

    assert worked.code == 0, worked
    assert {row["state"] for row in person.run("fleet", "ls", "--all", "--json").json["runs"]} == {"done"}
    found = {file.name: file.read_text() for file in seen.iterdir()}
    assert {name: [each for each in SECRETS.values() if each in text] for name, text in found.items()} == {
        "claude": ["of-anthropic"],
        "shell": [],
        "run": [],
    }
