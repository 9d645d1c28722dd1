"""The checks of sessions on this machine: where they run, who approves them, and what is known about them."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tildone.app.check_commands import Interrupted
from tildone.app.check_states import CheckFacts
from tildone.app.checks import STALE_SECONDS, CheckSet, SessionChecks, typed_check, words_of
from tildone.app.opening import check_approvals, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base import replace
from tildone.base.errors import Conflict, Refused, TildoneError, UsageError
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Check, Proof, Result, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck
from tildone.plan.text.proofs import check_text
from tildone.stores.assignment import subagent_session

PASSES = (sys.executable, "-c", "import sys; sys.exit(0)")
FAILS = (sys.executable, "-c", "raise SystemExit('it is broken')")


class Here:
    """A project with a plan of two tasks."""

    def __init__(self, settings: Settings, store: Store, folder: Path) -> None:
        self.settings, self.store, self.folder = settings, store, folder
        self.seconds = 0.0
        self.checks = SessionChecks(settings, lambda: self.seconds)
        self.session = self.opened("p")
        self.session.change([Append((Task("One"), Task("Two")), "")])

    def opened(self, name: str) -> Session:
        session = open_session(replace(self.settings, session=name), BY_HAND, self.store)
        return session.using(parts=replace(session.parts, prover=None))

    def give(self, command: tuple[str, ...], *, approved: bool = False) -> Check:
        check = Check(command, watches=("watched",))
        self.session.change([SetCheck(Numbered((1,)), check)])
        if approved:
            check_approvals(self.settings).approve(check)
        return check

    def set(self, number: int, line: str, was: Check | None = None, *, approves: bool = True) -> CheckSet:
        return self.checks.set_check(self.session, number, typed_check(line, was), was, approves=approves)

    def complete(self) -> dict[int, Proof]:
        mark = [Mark(Numbered((1,)), Status.COMPLETED)]
        return dict(self.checks.complete(self.session, [1], lambda own: own.change(mark))[1])

    def facts(self) -> CheckFacts:
        return self.checks.facts("p", self.session.plan)

    @property
    def task(self) -> Task:
        return self.session.plan.tasks[0]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    folder = tmp_path / "project"
    folder.mkdir()
    settings = load({"store": str(tmp_path / "plans.db")}, os.environ, str(folder))
    settings = replace(settings, agents_dir=str(tmp_path / "agents"), user="Ada")
    store = open_store(settings)
    yield Here(settings, store, folder)
    store.close()


def test_the_working_tree_of_a_session(here: Here, tmp_path: Path) -> None:
    own = str(here.folder)

    assert here.checks.working_tree("named") == own
    assert here.checks.working_tree(own) == own
    assert here.checks.working_tree(str(tmp_path)) == str(tmp_path)
    assert here.checks.working_tree(subagent_session(str(tmp_path), "x")) == str(tmp_path)
    assert here.checks.working_tree(str(tmp_path / "gone")) == ""


def test_a_check_that_is_set_here_is_approved_and_keeps_what_it_watches(here: Here) -> None:
    was = here.give(("make", "test"))

    found = here.set(1, "pytest -q 'a b'", was)

    assert (found.edited.outcome.changed, found.approved, found.warnings) == (True, True, ())
    assert here.task.check == Check(("pytest", "-q", "a b"), watches=("watched",))
    assert not check_approvals(here.settings).is_allowed(was)
    assert not here.set(1, "", here.task.check).approved
    assert here.task.check is None


def test_a_check_that_an_agent_or_somebody_else_sets_is_proposed(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not here.set(1, "pytest", None, approves=False).approved
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f0c")
    assert not here.set(2, "pytest -x", None).approved
    assert here.facts().proposed == {1, 2}
    with pytest.raises(Refused, match="only a person can approve a check: this is the shell of claude:5f0c"):
        here.checks.approve(here.session, [Check(("pytest", "-x"))])


def test_a_line_that_is_no_command_is_refused(here: Here) -> None:
    with pytest.raises(UsageError, match="no closing quotation"):
        here.set(1, "pytest 'x")
    assert here.task.check is None


def test_approving_lets_only_those_go_on_that_waited_for_this_check(here: Here) -> None:
    check = here.give(PASSES)
    refused = Proof(Result.REFUSED, PASSES)
    here.session.change([SetCheck(Numbered((2,)), Check(FAILS))])
    here.session.record_proofs({1: refused, 2: Proof(Result.REFUSED, FAILS)})
    here.session.change([Mark(Numbered((1, 2)), Status.BLOCKED)])

    _, [warning] = here.checks.approve(here.session, [check])

    assert "passed in an empty folder" in warning
    assert [task.status.value for task in here.session.plan.tasks] == ["pending", "blocked"]
    assert here.facts().proposed == {2}
    assert not here.checks.approve(here.session, [check])[0].changed


def test_an_approval_that_cannot_be_recorded_is_an_error(here: Here) -> None:
    """It is recorded before the check is set, so that nobody sees the check without it."""
    (Path(here.settings.agents_dir).parent / "approved").write_text("a file")

    with pytest.raises(TildoneError, match="the approval cannot be recorded"):
        here.checks.approve(here.session, [Check(("pytest",))])
    with pytest.raises(TildoneError, match="the approval cannot be recorded"):
        here.set(1, "pytest", None)

    assert here.task.check is None


def test_nothing_is_run_without_approval_or_elsewhere(here: Here, tmp_path: Path) -> None:
    here.give(PASSES)
    with pytest.raises(Refused, match="a person has to approve the check first"):
        here.complete()
    with pytest.raises(Refused, match="a person has to approve the check first"):
        here.checks.verify(here.session, [1])
    assert (here.task.status, here.task.proof) == (Status.PENDING, None)
    elsewhere = here.opened(str(tmp_path / "gone"))
    elsewhere.change([Append((Task("One"), Task("Two")), ""), SetCheck(Numbered((1,)), Check(PASSES))])
    for act in (
        lambda: here.checks.verify(elsewhere, [1]),
        lambda: here.checks.complete(elsewhere, [1], lambda own: own.change([])),
        lambda: here.checks.approve(elsewhere, [Check(PASSES)]),
    ):
        with pytest.raises(Refused, match="the working tree of this plan is not on this machine"):
            act()
    outcome, _ = here.checks.complete(elsewhere, [2], lambda own: own.change([Mark(Numbered((2,)), Status.COMPLETED)]))
    assert outcome.after.tasks[1].status is Status.COMPLETED
    assert here.checks.facts(elsewhere.name, elsewhere.plan) == CheckFacts()
    assert not here.checks.set_check(elsewhere, 2, Check(("pytest",)), None).approved


def test_a_task_is_completed_by_a_pass_and_the_output_of_a_failure_is_told_each_time(here: Here) -> None:
    here.give(FAILS, approved=True)
    for _ in range(2):
        assert here.complete()[1].tail == "it is broken"
    assert here.task.status is Status.IN_PROGRESS
    here.set(1, command_line(PASSES), here.task.check)

    assert here.complete()[1].result is Result.PASSED
    done = here.task
    assert done.status is Status.COMPLETED
    assert done.proof is not None
    assert done.proof.by == "Ada"


def command_line(command: tuple[str, ...]) -> str:
    line = check_text(Check(command))
    assert words_of(line, "the command") == command
    return line


def test_staleness_is_found_out_at_most_every_few_seconds_unless_the_proofs_change(here: Here) -> None:
    (here.folder / "watched").write_text("1")
    here.give(PASSES, approved=True)
    here.complete()
    assert here.facts() == CheckFacts(is_here=True)
    (here.folder / "watched").write_text("2")
    assert here.facts().stale == frozenset()
    here.seconds += STALE_SECONDS
    assert here.facts().stale == {1}
    here.checks.verify(here.session, [1])
    assert here.facts().stale == frozenset()


def test_the_check_of_a_plan_is_number_0(here: Here) -> None:
    here.session.change([SetCheck(None, Check(("make", "test")))])

    assert here.facts().proposed == {0}


def test_a_check_is_marked_while_it_runs_and_only_once(here: Here) -> None:
    here.checks.begin("p", [1])
    here.give(PASSES, approved=True)
    for act in (lambda: here.checks.begin("p", [2, 1]), here.complete, lambda: here.checks.verify(here.session, [1])):
        with pytest.raises(Conflict, match="the check of #1 is running already"):
            act()
    here.checks.begin("q", [1])
    assert here.checks.checking("p") == {1}
    here.checks.end("p", [1])
    assert here.checks.checking("p") == frozenset()
    assert here.facts().checking == frozenset()


def test_a_check_is_ended_when_the_program_ends_and_nothing_is_recorded(here: Here) -> None:
    here.give((sys.executable, "-c", "open('began', 'w'); import time; time.sleep(60)"), approved=True)

    def stop() -> None:
        while not (here.folder / "began").exists():
            threading.Event().wait(0.02)
        here.checks.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()

    with pytest.raises(Interrupted):
        here.complete()

    stopping.join()
    assert (here.task.status, here.task.proof) == (Status.PENDING, None)
