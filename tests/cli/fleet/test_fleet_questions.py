"""A run that has to ask a person, from the first command to the last: the real verbs, a real worker, both stores."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator
from tests.suite.waiting import until
from tildone.log.lease_port import RunLeases
from tildone.log.store import Store
from tildone.plan.events import Actor, Event
from tildone.plan.runs import Answered, Asked, LeaseState

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers need Linux")


class Work:
    """`tildone fleet work` as a process."""

    def __init__(self, operator: Operator, *options: str) -> None:
        words = [sys.executable, "-m", "tildone", "fleet", "work", *options]
        environ = os.environ | {"TILDONE_STORE": operator.store_address}
        self.process = subprocess.Popen(words, env=environ, cwd=operator.folder, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        self.process.terminate()
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def operator_outside_git(operator: Operator) -> Operator:
    os.rmdir(operator.folder / ".git")
    # The other engine of a server takes long to import.
    operator.configure('engine = "table"')
    operator.fleet("up")
    return operator


def state(operator: Operator, run: str) -> LeaseState:
    return operator.with_leases(lambda _, leases: leases.look(run)[0].lease.state)  # type: ignore[no-any-return]  # of any type above


def test_a_command_that_is_not_permitted_is_asked_for(operator_outside_git: Operator, tmp_path: Path) -> None:
    """The rest of the plan is done before. What is denied is not run, and the run fails."""
    operator, marks = operator_outside_git, [tmp_path / "approved", tmp_path / "denied"]
    for mark in marks:
        operator.plan(f"{mark.name}.md", f"Mark: `touch {mark}`", "Greet: `echo hello`")
    approved, denied = runs = [operator.add(f"{mark.name}.md") for mark in marks]
    work = Work(operator, "--slots", "2", "--allow", "echo *", "--ask", "touch *")
    try:
        until(lambda: {state(operator, run) for run in runs} == {LeaseState.WAITING})
        asked = operator.json("approve")["questions"]
        assert {(each["kind"], each["text"]) for each in asked} == {("command", f"touch {mark}") for mark in marks}
        assert operator.fleet("ls").count("1/2") == 2
        assert not any(mark.exists() for mark in marks)

        operator.fleet("approve", approved)
        operator.fleet("approve", denied, "--deny", "--reason", "not here")
        until(lambda: not any(state(operator, run).is_active for run in runs))
    finally:
        work.close()

    assert [state(operator, run) for run in runs] == [LeaseState.DONE, LeaseState.FAILED]
    assert [mark.exists() for mark in marks] == [True, False]
    assert ["denied by a person" in operator.fleet("show", run) for run in runs] == [False, True]


def test_a_run_cannot_widen_what_its_worker_permits(operator_outside_git: Operator, tmp_path: Path) -> None:
    operator, mark = operator_outside_git, tmp_path / "mark"
    operator.plan("a.md", f"Mark: `touch {mark}`")
    run = operator.add("a.md", "--allow", "*")
    work = Work(operator, "--allow", "echo *")
    try:
        shown = until(lambda: next(iter(released(operator, run)), ""))
    finally:
        work.close()

    assert shown == "not permitted here: the commands that the run allows"
    assert not mark.exists()


def test_an_approval_that_is_only_in_the_database_permits_nothing(
    operator_outside_git: Operator, tmp_path: Path
) -> None:
    """On a server, persons may be asked only if the worker says so; for a file, it can say that they may not."""
    operator, mark = operator_outside_git, tmp_path / "mark"
    operator.plan("a.md", f"Mark: `touch {mark}`")
    run = operator.add("a.md")
    forge_approval(operator, run, f"touch {mark}")
    is_server = "://" in operator.store_address
    work = Work(operator, "--allow", "echo *", *(() if is_server else ("--no-ask",)))
    try:
        why = until(lambda: next(iter(released(operator, run)), ""))
        doctor = until(lambda: refused_by_all(operator))
    finally:
        work.close()

    assert why == f"not permitted here: the command touch {mark}"
    assert "every worker has refused it" in doctor
    assert not mark.exists()


def test_the_approvals_of_a_file_count_unless_the_worker_says_otherwise(
    operator_outside_git: Operator, tmp_path: Path
) -> None:
    operator, mark = operator_outside_git, tmp_path / "mark"
    if "://" in operator.store_address:
        pytest.skip("a server may have many users: see the test above")
    operator.plan("a.md", f"Mark: `touch {mark}`")
    run = operator.add("a.md")
    forge_approval(operator, run, f"touch {mark}")
    work = Work(operator, "--allow", "echo *")
    try:
        until(lambda: state(operator, run) is LeaseState.DONE)
    finally:
        work.close()

    assert mark.exists()


def forge_approval(operator: Operator, run: str, command: str) -> None:
    """Write rows that say that a command of a run was asked for and approved."""

    def write(store: Store, leases: RunLeases) -> None:
        session = leases.look(run)[0].lease.session
        facts: list[Asked | Answered] = [Asked(run, 0, "q", "command", command), Answered(run, 0, "q", "yes", "Ada")]
        for number, fact in enumerate(facts):
            store.append(session, Event(f"f{number}", store.session_head(session).head, 1, Actor.USER, fact))

    operator.with_leases(write)


def refused_by_all(operator: Operator) -> str:
    """Return what the doctor says, once it has found a run that every worker has refused."""
    _, out, _ = operator.run("fleet", "doctor")
    return out if "refused" in out else ""


def released(operator: Operator, run: str) -> list[str]:
    lease = operator.with_leases(lambda _, leases: leases.look(run)[0].lease)
    facts = operator.with_leases(lambda store, _: [event.fact for event in store.events(lease.session)])
    return [fact.why for fact in facts if type(fact).__name__ == "RunReleased"]
