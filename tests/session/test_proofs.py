"""Sessions with checks: no call makes a task done without its proof, which a reopened task keeps."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.repositories import Runner, make_repository, python
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, session_on
from tildone.app.check_runner import CheckRunner
from tildone.app.trust import Consent
from tildone.base import Refused, replace
from tildone.log.session import Session, SessionParts
from tildone.plan.dialects import DIALECTS, Dialect, dialect_named
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Actor, Author, SessionHead
from tildone.plan.faults import HasCheck
from tildone.plan.guard import PLAN, is_unproved
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task, is_passed
from tildone.plan.ops import Append, Mark, Numbered, Order, Remove, SetCheck, Write
from tildone.plan.reduce import Step
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

fields, any_of = st.fixed_dictionaries, st.sampled_from
TEXTS = ("parser", "docs", "release")
TESTS, ALL, DIST = Check(("pytest", "-q")), Check(("make", "all")), Check(("make", "dist"))

ids = st.integers(-1, 4) | any_of(TEXTS)
indices = st.lists(st.integers(-1, 3), max_size=3)
texts = any_of([*TEXTS, "new", "Parser"])
TODOS = {"text": texts, "status": any_of(["completed", "in_progress", "not_started"])}
ITEMS = {"content": texts, "status": any_of(["completed", "completed", "pending", "cancelled"])}
PHASES = fields({"phase": st.just("B"), "items": st.lists(texts, min_size=1, max_size=2)})
OPS = (
    fields({"op": any_of(["start", "done", "drop", "rm"]), "task": texts})
    | fields({"op": any_of(["done", "rm", "drop"])})
    | fields({"op": st.just("init"), "list": st.lists(PHASES, max_size=1)})
    | fields({"op": st.just("done"), "phase": st.just("A")})
    | fields({"op": st.just("append"), "phase": st.just("A"), "items": st.lists(texts, max_size=2)})
)
BRIEFLY = (
    st.dictionaries(any_of(["start", "done", "drop", "check"]), ids | st.lists(ids, max_size=3), max_size=2)
    | fields({"add": st.lists(texts, max_size=2)})
    | fields({"check": any_of(["1 true", "1 make", "2 pytest -q", "3 sh -c 'exit 0'"])})
    | fields({"after": any_of(["1 2", "2 1", "3 1 2", "1 none"]), "done": ids})
)
EDITS = fields({"action": any_of(["start", "complete", "complete", "abandon"]), "indices": indices})
WRITES = fields({"mode": any_of(["replace", "append"]), "todos": st.lists(fields(TODOS), max_size=4)})
CALLS: dict[str, st.SearchStrategy[tuple[str, dict[str, Any]]]] = {
    "brief": st.tuples(st.just("todo"), BRIEFLY),
    "indexed": st.tuples(st.just("edit_todos"), EDITS) | st.tuples(st.just("write_todos"), WRITES),
    "phased": st.tuples(st.just("todo_write"), fields({"ops": st.lists(OPS, max_size=3)})),
    "declared": st.tuples(
        st.just("TodoWrite"), fields({"summary": st.just("s"), "todos": st.lists(fields(ITEMS), max_size=4)})
    ),
}


class Scripted:
    """Gives checks the results of a list, in turn; `stale_ones` are stale."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results
        self.stale_ones: frozenset[int] = frozenset()
        self.approved: frozenset[Check] = frozenset({TESTS, ALL, DIST})
        self.passed: set[int] = set()
        self.runs = 0

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        proofs = {}
        for number, check in checks.items():
            result = self.results[self.runs % len(self.results)]
            proofs[number] = Proof(
                result, check.command, reason="why" if result is Result.FAILED else "", tail="E  boom"
            )
            self.runs += 1
            self.passed |= {number} if result is Result.PASSED else set()
        return proofs

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return self.stale_ones & frozenset(proofs)

    def is_allowed(self, check: Check) -> bool:
        return check in self.approved


def opened(dialect: Dialect, prover: Scripted) -> Session:
    session = session_on(dialect=dialect)
    tasks = (Task(TEXTS[0], IN_PROGRESS), *map(Task, TEXTS[1:]))
    steps: list[Step] = [Write((Phase("A", tasks),)), SetCheck(Numbered((1,)), TESTS), SetCheck(None, DIST)]
    session.change([*steps, SetCheck(Numbered((3,)), ALL), Order(Numbered((3,)), (1,))], Actor.USER)
    session = session.using(parts=replace(session.parts, prover=lambda: prover))
    session.set_seen_head(session.state.head)
    return session


def unproved(plan: Plan) -> list[Task]:
    return [
        task
        for task in plan.tasks
        if task.status is COMPLETED and task.check is not None and not is_passed(task.check, task.proof)
    ]


ASKED = {1: TESTS, 3: ALL, PLAN: DIST}
"""The checks that a person asked for in the plan of `opened`."""


@pytest.mark.parametrize("name", list(DIALECTS))
@settings(max_examples=40)
@given(data=st.data(), results=st.lists(any_of(Result), min_size=1, max_size=4))
def test_no_sequence_of_calls_ends_a_plan_without_the_proofs_that_a_person_asked_for(
    name: str, data: st.DataObject, results: list[Result]
) -> None:
    """A task with such a check leaves the plan only if it is proved, and nothing has changed since.

    No sequence completes a task without its proof either.
    """
    prover = Scripted(results)
    session = opened(dialect_named(name), prover)
    for tool, arguments in data.draw(st.lists(CALLS[name], max_size=6)):
        prover.stale_ones = data.draw(st.frozensets(st.integers(0, 3)))
        before, proved = session.plan, set(prover.passed)
        session.call(tool, arguments)
        plan = session.plan
        assert unproved(plan) == []
        left = {task.number: task.check for task in plan.tasks if task.status is not ABANDONED} | {PLAN: plan.check}
        there = {task.number for task in before.tasks if task.status is not ABANDONED}
        gone = there & ASKED.keys() - left.keys()
        assert gone <= proved - prover.stale_ones | (prover.passed - proved)
        assert all(left[number] == check for number, check in ASKED.items() if number in left)
        assert plan.tasks or PLAN in prover.passed
        is_finished = not any(task.status.is_open for task in plan.tasks) and not is_unproved(plan)
        assert not is_finished or prover.passed == ASKED.keys()


DROPPING: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "brief": [("todo", {"drop": 1}), ("todo", {"drop": "parser"}), ("todo", {"check": "1 make easy"})],
    "indexed": [("edit_todos", {"action": "abandon", "indices": [0]})],
    "phased": [
        ("todo_write", {"ops": [{"op": op, **of}]})
        for op in ("drop", "rm")
        for of in ({"task": "parser"}, {"phase": "A"}, {})
    ],
    "declared": [],
}


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in DROPPING.items() for call in calls])
def test_a_model_is_told_that_only_a_person_removes_a_task_with_a_check(
    name: str, call: tuple[str, dict[str, Any]]
) -> None:
    session = opened(dialect_named(name), Scripted([Result.FAILED]))
    before = session.plan

    reply = session.call(*call)

    assert session.plan == before
    assert "has a check: only a person can " in reply.text
    assert reply.failed or name == "phased"


LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "indexed": ("write_todos", {"mode": "replace", "todos": [{"text": "new"}]}),
    "phased": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["new"]}]}]}),
    "declared": ("TodoWrite", {"summary": "s", "todos": [{"content": "new", "status": "completed"}]}),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_lacks_tasks_with_checks_keeps_them_and_says_so(name: str) -> None:
    session = opened(dialect_named(name), Scripted([Result.FAILED]))

    reply = session.call(*LISTS[name])

    assert {task.text for task in session.plan.tasks} == {"new", "parser", "release"}
    kept = "kept “parser” (`pytest -q`), “release” (`make all`): they have checks; only a person can remove them"
    assert kept in reply.text
    assert not reply.failed
    assert session.turn_ended().prompt is not None


@pytest.mark.parametrize("name", LISTS)
def test_no_list_empties_a_plan_with_a_check_of_its_own(name: str) -> None:
    tool, arguments = LISTS[name]
    key, empty = {"indexed": ("todos", []), "declared": ("todos", []), "phased": ("ops", [{"op": "rm"}])}[name]
    session = session_on(dialect=dialect_named(name))
    session.change([Write((Phase("", (Task("a"),)),)), SetCheck(None, ALL)])

    reply = session.call(tool, {**arguments, key: empty})

    assert len(session.plan.tasks) == 1
    assert "the plan has a check: only a person can empty the plan or change the check" in reply.text


def test_a_model_gives_up_a_check_of_its_own_unless_a_person_has_approved_it() -> None:
    session = session_on(dialect=dialect_named("brief"))
    prover = Scripted([Result.PASSED])
    session.call("todo", {"add": ["a", "b"]})
    session.call("todo", {"check": {"1": "make test", "2": "make docs"}})
    prover.approved = frozenset({Check(("make", "docs"))})
    session = session.using(parts=replace(session.parts, prover=lambda: prover))

    assert session.call("todo", {"drop": 1}).text == "ok"
    assert session.call("todo", {"drop": 2}).text == "2 has a check: only a person can drop it or change the check"
    assert [task.status for task in session.plan.tasks] == [ABANDONED, PENDING]


@pytest.mark.parametrize("actor", [Actor.USER, Actor.IMPORT])
def test_what_an_agent_types_in_its_shell_is_the_doing_of_its_model(actor: Actor) -> None:
    session = opened(dialect_named("brief"), Scripted([Result.FAILED]))

    def in_shell(_actor: Actor) -> Author:
        return Author("ada", "claude:s1")

    by_person = session.author_of
    session.author_of = in_shell
    written = session.change([Write((Phase("", (Task("new"),)),))], actor)
    refused = session.change([SetCheck(Numbered((1,)), None)], actor)
    with pytest.raises(Refused, match="“parser” has a check: only a person can remove the task or change the check"):
        session.checkout(None)

    assert [task.text for task in session.plan.tasks] == ["new", "parser", "release"]
    assert (written.kept, refused.faults) == ((1, 3), (HasCheck(1, "parser"),))
    session.undo()
    assert [task.text for task in session.plan.tasks] == list(TEXTS)
    session.author_of = by_person
    assert [task.number for task in session.change([Remove(Numbered((1,)))]).after.tasks] == [2, 3]
    assert session.checkout(None) == Plan()


DONE_1: dict[str, tuple[str, dict[str, Any]]] = {
    "brief": ("todo", {"done": 1}),
    "indexed": ("edit_todos", {"action": "complete", "indices": [0]}),
    "phased": ("todo_write", {"ops": [{"op": "done", "task": "parser"}]}),
    "declared": (
        "TodoWrite",
        {
            "summary": "s",
            "todos": [
                {"content": text, "status": status}
                for text, status in zip(TEXTS, ("completed", "in_progress", "pending"), strict=True)
            ],
        },
    ),
}


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_failing_check_is_told_once_and_the_agent_goes_on_until_it_passes(name: str) -> None:
    prover = Scripted([Result.FAILED, Result.PASSED])
    session = opened(dialect_named(name), prover)

    failed = session.call(*DONE_1[name]).text
    nudge = session.turn_ended().prompt
    passed = session.call(*DONE_1[name]).text

    assert "is not done: why" in failed
    assert "E  boom" in failed
    assert "boom" not in passed
    assert nudge is not None
    assert nudge.lower().count("check failed") == nudge.count("pytest -q") == 1
    assert "why" not in nudge
    assert name != "indexed" or failed.startswith("Not completed [0]\n")
    assert session.plan.tasks[0].status is COMPLETED


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_stale_task_holds_the_agent_and_is_proved_again_when_marked_done(name: str) -> None:
    prover = Scripted([Result.PASSED])
    session = opened(dialect_named(name), prover)
    session.call(*DONE_1[name])
    assert prover.runs == 1
    prover.stale_ones = frozenset({1})

    nudge = session.turn_ended().prompt

    assert session.stale == {1}
    assert nudge is not None
    assert "Files changed since the check passed; mark it done again" in nudge
    assert session.plan.tasks[0].status is COMPLETED


@pytest.mark.parametrize("result", [Result.INCONCLUSIVE, Result.REFUSED])
def test_an_agent_is_not_continued_for_a_check_that_needs_a_person(result: Result) -> None:
    session = opened(dialect_named("brief"), Scripted([result]))

    for number in (1, 2, 3):
        session.call("todo", {"done": number})

    assert [task.status for task in session.plan.tasks] == [Status.BLOCKED, COMPLETED, Status.BLOCKED]
    assert session.turn_ended().prompt is None


CHECK = python("open('.git/runs', 'a').write('x'); import pathlib, sys; sys.exit(pathlib.Path('broken').exists())")
DONE = [Mark(Numbered((1,)), Status.COMPLETED)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def session(project: Path, tmp_path: Path) -> Session:
    """A session with one task, whose check has passed, and which was reopened."""
    runner = Runner(project, tmp_path)
    runner.approvals.approve(CHECK)
    session = session_on()
    session = session.using(parts=replace(session.parts, prover=lambda: runner.runner))
    session.change([Append((Task("parse"), Task("wire")))])
    session.change([SetCheck(Numbered((1,)), CHECK)])
    session.change(DONE)
    session.change([Mark(Numbered((1,)), Status.PENDING)])
    return session


def runs(project: Path) -> int:
    return len((project / ".git" / "runs").read_text())


def test_a_check_is_run_again_only_with_other_files_and_if_that_fails_the_task_is_not_done(
    session: Session, project: Path
) -> None:
    assert session.change(DONE).after.tasks[0].status is Status.COMPLETED
    assert runs(project) == 1

    session.change([Mark(Numbered((1,)), Status.PENDING)])
    (project / "README").write_text("Other words.\n")
    session.change(DONE)
    assert session.plan.tasks[0].status is Status.COMPLETED
    assert (runs(project), session.stale) == (2, frozenset())

    session.change([Mark(Numbered((1,)), Status.PENDING)])
    (project / "README").write_text("And others.\n")
    (project / "broken").touch()
    outcome = session.change(DONE)
    task = outcome.after.tasks[0]
    assert task.proof is not None
    assert (outcome.unproved, task.status, task.proof.result) == ((1,), Status.IN_PROGRESS, Result.FAILED)


def marking(name: str, code: int = 0) -> Check:
    """Return a check that leaves its name behind when it is run."""
    return python(f"open('.git/runs', 'a').write('{name}'); raise SystemExit({code})")


A, B, FAILS = marking("a"), marking("b"), marking("f", 1)


def sets(number: int | None, check: Check | None) -> Step:
    return SetCheck(None if number is None else Numbered((number,)), check)


MORE = Append((Task("more"),))
MEANWHILE: dict[str, tuple[list[Step], list[Step], str, list[Status]]] = {
    "set": ([], [sets(1, A)], "a", [COMPLETED, COMPLETED]),
    "set, and fails": ([], [sets(2, FAILS)], "f", [COMPLETED, IN_PROGRESS]),
    "set for another task": ([sets(1, A)], [sets(2, B)], "ab", [COMPLETED, COMPLETED]),
    "the same set for another task": ([sets(1, A)], [sets(2, A)], "a", [COMPLETED, COMPLETED]),
    "replaced": ([sets(1, A)], [sets(1, B)], "ab", [COMPLETED, COMPLETED]),
    "replaced by one that fails": ([sets(1, A)], [sets(1, FAILS)], "af", [IN_PROGRESS, COMPLETED]),
    "given to another task": ([sets(1, FAILS)], [sets(1, None), sets(2, FAILS)], "f", [COMPLETED, IN_PROGRESS]),
    "removed": ([sets(1, FAILS)], [sets(1, None)], "f", [COMPLETED, COMPLETED]),
    "none": ([sets(1, A)], [MORE], "a", [COMPLETED, COMPLETED, IN_PROGRESS]),
    "one that fails, none": ([sets(1, None), sets(2, FAILS)], [MORE], "f", [COMPLETED, IN_PROGRESS, PENDING]),
    "set for the plan": ([sets(1, A)], [sets(None, B)], "ab", [COMPLETED, COMPLETED]),
    "that of the plan, none": ([sets(1, A), sets(None, A)], [sets(2, None)], "a", [COMPLETED, COMPLETED]),
}


@pytest.mark.parametrize("which", MEANWHILE)
def test_a_task_is_done_only_with_the_checks_that_a_person_set_meanwhile_and_each_is_run_once(
    which: str, project: Path, tmp_path: Path
) -> None:
    """The person has a connection of their own, and is faster: after the plan was read, or while a check runs."""
    before, meanwhile, runs, statuses = MEANWHILE[which]
    runner = Runner(project, tmp_path)
    for check in (A, B, FAILS):
        runner.approvals.approve(check)
    with closing(SqliteStore(tmp_path / "plans.db")) as own, closing(SqliteStore(tmp_path / "plans.db")) as other:
        agent, person = session_on(own, BRIEF, prefix="a"), session_on(other, BRIEF, prefix="p")
        waiting = [meanwhile]

        def interfere(_number: int, _check: Check) -> None:
            if waiting:
                person.change(waiting.pop())

        def prover() -> CheckRunner:
            made = runner.runner
            made.started = interfere
            return made

        agent = agent.using(parts=replace(agent.parts, prover=prover))
        agent.call("todo", {"add": ["parse", "wire"]})
        if before:
            person.change([sets(1, B)])
            assert agent.plan.tasks[0].check == B
        person.change(before or waiting.pop())
        agent.call("todo", {"done": [1, 2]})

        assert not waiting
        assert (project / ".git" / "runs").read_text() == runs
        assert [task.status for task in person.plan.tasks] == statuses
        assert unproved(person.plan) == []
        assert not is_unproved(person.plan)


@pytest.mark.parametrize(("approves", "status", "runs"), [(True, COMPLETED, "a"), (False, Status.BLOCKED, "")])
def test_a_refused_check_is_run_if_the_person_has_approved_it_elsewhere_and_else_asked_about_once(
    project: Path, tmp_path: Path, status: Status, runs: str, *, approves: bool
) -> None:
    runner, asked = Runner(project, tmp_path), list[Check]()
    (project / ".git" / "runs").touch()
    with closing(SqliteStore(tmp_path / "plans.db")) as own, closing(SqliteStore(tmp_path / "plans.db")) as other:
        agent, person = session_on(own, BRIEF, prefix="a"), session_on(other, BRIEF, prefix="p")

        def ask(_number: int, check: Check) -> Consent:
            asked.append(check)
            if approves:
                runner.approvals.approve(check)
            person.change([MORE])
            return Consent.NO

        def prover() -> CheckRunner:
            made = runner.runner
            made.ask = ask
            return made

        agent = agent.using(parts=replace(agent.parts, prover=prover))
        agent.call("todo", {"add": ["parse", "wire"]})
        person.change([sets(1, A)])
        agent.call("todo", {"done": 1})

        assert (person.plan.tasks[0].status, (project / ".git" / "runs").read_text(), asked) == (status, runs, [A])


def test_a_plan_without_checks_is_not_read_again_before_a_change() -> None:
    """It takes no more reads than in a session that runs no checks."""
    reads = list[str]()

    class Counted(MemoryStore):
        def session_head(self, session: str) -> SessionHead:
            reads.append(session)
            return super().session_head(session)

    for parts in (SessionParts(), SessionParts(prover=lambda: Scripted([Result.PASSED]))):
        session = session_on(Counted(), BRIEF, name=str(parts.prover is None)).using(parts=parts)
        session.call("todo", {"add": ["parse", "wire"]})
        reads = [name for name in reads if name != session.name]
        session.call("todo", {"done": 1})

    assert reads.count("True") == reads.count("False")
