"""The checks of sessions: where they run, who approves them, what is known; tasks set aside, and deleted stores."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.hooks.agent import WITH_HOOKS, HookedAgent, Workspace, new_workspace, nudge_in
from tests.web.boards import Place, board, place_in
from tildone.agents.integrations import HookPoint
from tildone.app.check_states import CheckFacts, CheckWord, check_state
from tildone.app.checks import STALE_SECONDS, CheckSet, SessionChecks, typed_check, words_of
from tildone.app.conflict import Conflict
from tildone.app.index import SessionIndex
from tildone.app.opening import check_approvals, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base import Refused, TildoneError, UsageError, replace
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
    own, other = str(here.folder), str(tmp_path)
    names = ("named", own, other, subagent_session(other, "x"), str(tmp_path / "gone"))

    assert [here.checks.working_tree(name) for name in names] == [own, own, other, other, ""]


def test_a_check_that_is_set_here_keeps_what_it_watches_and_a_line_that_is_no_command_is_refused(here: Here) -> None:
    was = here.give(("make", "test"))

    found = here.set(1, "pytest -q 'a b'", was)

    assert (found.edited.outcome.changed, found.approved, found.warnings) == (True, True, ())
    assert here.task.check == Check(("pytest", "-q", "a b"), watches=("watched",))
    assert not check_approvals(here.settings).is_allowed(was)
    with pytest.raises(UsageError, match="no closing quotation"):
        here.set(1, "pytest 'x")
    assert not here.set(1, "", here.task.check).approved
    assert here.task.check is None


def test_a_check_that_an_agent_or_somebody_else_sets_is_proposed(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not here.set(1, "pytest", None, approves=False).approved
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5f0c")
    assert not here.set(2, "pytest -x", None).approved
    here.session.change([SetCheck(None, Check(("make", "test")))])
    # The check of the plan is number 0.
    assert here.facts().proposed == {0, 1, 2}
    with pytest.raises(Refused, match="only a person can approve a check: this is the shell of claude 5f0c"):
        here.checks.approve(here.session, [Check(("pytest", "-x"))])


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


def test_the_output_of_a_failure_is_told_each_time(here: Here) -> None:
    here.give(FAILS, approved=True)

    assert [here.complete()[1].tail for _ in range(2)] == ["it is broken"] * 2
    here.set(1, command_line(PASSES), here.task.check)
    assert (here.complete()[1].result, here.task.status) == (Result.PASSED, Status.COMPLETED)


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


CHECK = Check(("pytest", "-q"))
ALL = frozenset({1})


def proof(result: Result, command: tuple[str, ...] = CHECK.command, **more: str | int) -> Proof:
    return Proof(result, command, **more)  # type: ignore[arg-type]  # fields by name


PASSED, EXIT_2 = proof(Result.PASSED), proof(Result.FAILED, exit_code=2)
SLOW = proof(Result.INCONCLUSIVE, reason="`pytest -q` is inconclusive: it took\x1b longer than 2 s")
HERE = CheckFacts(is_here=True)
STATES: list[tuple[Proof | None, CheckFacts, CheckWord, str]] = [
    (None, CheckFacts(), CheckWord.NONE, ""),
    (PASSED, CheckFacts(), CheckWord.PASSED, "passed"),
    (proof(Result.PASSED, imported=True), HERE, CheckWord.STALE, "stale"),
    (proof(Result.PASSED, ("make",)), CheckFacts(), CheckWord.NONE, ""),
    (PASSED, CheckFacts(stale=ALL), CheckWord.STALE, "stale"),
    (PASSED, CheckFacts(stale=ALL, checking=ALL), CheckWord.CHECKING, "checking…"),
    (EXIT_2, CheckFacts(), CheckWord.FAILED, "failed (exit 2)"),
    (EXIT_2, CheckFacts(proposed=ALL), CheckWord.PROPOSED, "proposed"),
    (proof(Result.REFUSED), CheckFacts(), CheckWord.PROPOSED, "proposed"),
    (proof(Result.REFUSED), HERE, CheckWord.NONE, ""),
    (SLOW, CheckFacts(), CheckWord.INCONCLUSIVE, "inconclusive: it took␛ longer than 2 s"),
]


def test_the_state_of_a_check() -> None:
    states = [check_state(1, CHECK, known, facts) for known, facts, _, _ in STATES]

    assert [(state.word, state.text) for state in states] == [(word, text) for _, _, word, text in STATES]
    assert {check_state(2, CHECK, None, facts).word for _, facts, _, _ in STATES} == {CheckWord.NONE}


AGENT = {"CLAUDE_CODE_SESSION_ID": "s1"}
TOLD = "the agent set aside #1 (check: make test)"
WAYS = {
    "blocks it": ["block 1 busy"],
    "orders it after a blocked one": ["block 2 busy", "after 1 2"],
    "orders it after a blocked one of its own": ["add Wait", "block 4 ever", "after 1 4"],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = place_in(tmp_path)
    made.session().change([Append((Task("One"), Task("Two"), Task("Three")), "")])
    made.session().change([SetCheck(Numbered((1,)), Check(("make", "test")))])
    check_approvals(made.settings()).approve(Check(("make", "test")))
    return made


def row(place: Place) -> tuple[str, str]:
    """The state of the session in a list, as `watch` and the board show it."""
    index = SessionIndex(place.store(), place.settings().agents_dir, now=lambda: 0, nudge_limit=20)
    index.refresh()
    found = index.row(place.settings().session)
    assert found is not None
    return found.word.value, found.why


@pytest.mark.parametrize("way", WAYS)
def test_a_task_with_a_check_that_an_agent_set_aside_needs_the_person(place: Place, way: str) -> None:
    """Also while it goes on with other tasks."""
    person = Person(place.folder, place.home, place.environment())
    assert (row(place)[0], person.run("status").out) == ("idle", "☐ 0/3 · #1 One\n")

    assert [person.run("todo", *words.split(), **AGENT).code for words in WAYS[way]] == [0] * len(WAYS[way])

    assert row(place) == ("needs you", TOLD)
    assert f"needs you: {TOLD}\n" in person.says("status", "--line")
    assert person.run("status", "--json").json["held_up"] == TOLD
    assert f"Needs you: {TOLD}\n" in person.says()


def test_the_status_line_names_the_checks_that_a_person_has_to_approve(place: Place) -> None:
    """Those of open tasks, and that of the plan."""
    person = Person(place.folder, place.home, place.environment())
    for number in "23":
        assert person.run("todo", "check", number, "--", *PASSES, **AGENT).code == 0
    line = HookedAgent(Workspace(place.folder, place.home)).report(HookPoint.STATUS_LINE).out

    assert line == "☐ 0/3 · #1 One · needs you: tildone approve 2 3\n"
    assert person.says("status", "--line") == line
    assert person.run("approve", "2", "--yes").code == 0
    assert person.says("status", "--line") == "☐ 0/3 · #1 One\n"
    person.run("todo", "check", "--plan", "--", "make", "all", **AGENT)
    assert person.says("status", "--line") == "☐ 0/3 · #1 One · needs you: tildone approve\n"


def test_it_is_over_when_the_person_acts_on_the_task(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment())
    person.run("todo", "block", "1", "no time", **AGENT)
    person.run("todo", "unblock", "1")
    assert row(place)[0] == "idle"
    person.run("todo", "block", "1", "really", **AGENT)
    assert row(place)[0] == "needs you"
    person.run("todo", "note", "1", "I see, wait for Monday", **AGENT)
    assert row(place)[0] == "needs you"

    person.run("todo", "note", "1", "I see, wait for Monday (really me)")

    assert (row(place)[0], "needs you" in person.says("status")) == ("idle", False)


def test_the_board_and_the_agent_itself_say_so_too(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment())
    workspace = Workspace(place.folder, place.home)
    agent = HookedAgent(workspace)
    agent.report(HookPoint.SESSION_START)
    person.run("todo", "block", "1", "no time", **AGENT)

    line = agent.report(HookPoint.STATUS_LINE).out
    person.run("todo", "done", "2", "3", **AGENT)
    stopped = agent.report(HookPoint.STOP)
    again = agent.report(HookPoint.STOP)
    with board(place) as started:
        [need] = started.browser().get("/api/needs").json["open"]

    assert line == f"☐ 0/3 · #2 Two · needs you: {TOLD}\n"
    assert TOLD in stopped.out
    assert again.out == ""
    assert (need["kind"], need["text"]) == ("waits", TOLD)


GONE = "no longer has the plan that an agent was held to here; was it deleted?"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = new_workspace(tmp_path)
    made.more["XDG_STATE_HOME"] = str(tmp_path / "state")
    made.plan(("Write the parser", "pending"))
    return made


def delete_data(workspace: Workspace) -> None:
    shutil.rmtree(Path(workspace.settings.store.location).parent)


def person_in(workspace: Workspace) -> Person:
    return Person(workspace.project, workspace.home, workspace.environ)


def test_the_person_and_the_model_are_told_once_also_behind_a_new_store(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    assert agent.stops()
    delete_data(workspace)
    shell = person_in(workspace)
    made, done = shell.run("todo", "add", "Nothing", **AGENT), shell.run("todo", "done", "1", **AGENT)

    told = agent.report(HookPoint.STOP)
    again = [agent.report(point).out for point in (HookPoint.STOP, HookPoint.PROMPT, HookPoint.SESSION_START)]

    assert (made.code, done.code, GONE in made.err, GONE in done.err) == (0, 0, True, True)
    assert GONE in told.json["systemMessage"]
    assert GONE in nudge_in(told.json)
    assert again == ["", "", ""]


def test_a_conversation_that_begins_later_is_told_too(workspace: Workspace) -> None:
    """The hooks remember nothing of it, as after a restart of the machine."""
    HookedAgent(workspace).stops()
    delete_data(workspace)
    later = HookedAgent(workspace, id="s2")

    told = later.report(HookPoint.SESSION_START)

    assert GONE in told.json["systemMessage"]
    assert GONE in told.json["hookSpecificOutput"]["additionalContext"]
    assert later.report(HookPoint.PROMPT).out == ""


def test_the_next_commands_say_so_until_a_person_has_read_it_at_a_terminal(workspace: Workspace) -> None:
    """Neither the agent nor a status bar takes the notice away."""
    HookedAgent(workspace).stops()
    delete_data(workspace)
    person = person_in(workspace)

    by_agent = person.at_terminal("todo", **AGENT).end()
    in_a_script = person.run("status", "--line")
    at_terminal = [person.at_terminal("status").end() for _ in range(2)]

    assert GONE in " ".join(by_agent.out.split())
    assert GONE in in_a_script.err
    assert [GONE in " ".join(each.out.split()) for each in at_terminal] == [True, False]
    assert GONE not in person.run("status").err


def test_a_store_that_no_agent_was_held_to_is_not_missed(workspace: Workspace) -> None:
    delete_data(workspace)

    assert (person_in(workspace).run("status").err, HookedAgent(workspace).report(HookPoint.STOP).out) == ("", "")
    assert not list((workspace.home.parent / "state").rglob("*"))


def test_marks_are_private_and_one_for_each_store(workspace: Workspace) -> None:
    HookedAgent(workspace).stops()
    others = Workspace(workspace.project, workspace.home, {**workspace.more, "TILDONE_STORE": "other.db"})

    [mark] = (workspace.home.parent / "state" / "tildone-state" / "held").iterdir()

    assert [path.stat().st_mode & 0o777 for path in (mark, mark.parent)] == [0o600, 0o700]
    assert str(mark) == workspace.settings.held_mark
    assert others.settings.held_mark != str(mark)
    memory = Workspace(workspace.project, workspace.home, {"TILDONE_STORE": "postgresql://host/db"}).settings
    assert (memory.held_mark, memory.lost_mark) == ("", "")


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_every_coding_agent_is_told_when_it_stops(workspace: Workspace, name: str) -> None:
    agent = HookedAgent(workspace, WITH_HOOKS[name])
    agent.report(HookPoint.STOP)
    agent.report(HookPoint.PROMPT)
    delete_data(workspace)

    told = agent.report(HookPoint.STOP)

    assert GONE in told.out
    assert json.loads(told.out)
