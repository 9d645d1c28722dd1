"""Queueing plans: all of them or none, and one living run for each plan."""

import os
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator
from tildone.cli.fleet import opening
from tildone.core.plan import Status
from tildone.errors import StoreUnreachable
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunQueued
from tildone.log.state import latest_state


def test_plans_are_queued_with_their_tasks(operator: Operator) -> None:
    operator.plan("a.md", "one", "two")
    operator.plan("b.md", "three")

    added = operator.json("add", "a.md", "b.md", "--labels", "gpu,linux", "--labels", "big", "--hands", "2")["runs"]

    assert [(run["session"], run["hands"]) for run in added] == [
        (os.path.realpath(operator.folder / name), 2) for name in ("a.md", "b.md")
    ]
    rows = operator.json("ls")["runs"]
    assert [(row["run"], row["hand"], row["state"], row["total"]) for row in rows if row["hand"] == 1] == [
        (added[0]["run"], 1, "queued", 2),
        (added[1]["run"], 1, "queued", 1),
    ]
    assert {tuple(row["labels"]) for row in rows} == {("gpu", "linux", "big")}
    assert {row["agent"] for row in rows} == {"shell"}
    assert {row["repo"] for row in rows} == {os.path.realpath(operator.folder)}


def test_a_pattern_that_allows_more_than_it_looks_like_says_so(operator: Operator) -> None:
    operator.plan("a.md", "one")

    code, out, err = operator.run("fleet", "add", "a.md", "--allow", "find *", "--allow", "ls *", "--allow", "*")

    assert (code, out.startswith("Queued ")) == (0, True)
    assert err == ("tildone: --allow 'find *' allows more than it looks like: find runs other programs with -exec\n")


def test_a_second_run_of_a_living_plan_is_refused_and_nothing_of_the_command_is_kept(operator: Operator) -> None:
    run = operator.add("a.md")
    operator.plan("b.md", "three")

    code, out, err = operator.run("fleet", "add", "b.md", "a.md")

    assert (code, out) == (3, "")
    assert f"run {run} of this plan has not ended" in err
    assert [row["run"] for row in operator.json("ls")["runs"]] == [run]
    sessions = operator.with_leases(lambda store, _: [info.name for info in store.sessions()])
    assert sessions == [os.path.realpath(operator.folder / "a.md")]


def test_an_ended_plan_continues_where_it_stopped_unless_it_is_restarted(operator: Operator) -> None:
    operator.fleet("cancel", operator.add("a.md"))
    session = os.path.realpath("a.md")
    assert operator.run("todo", "done", "1", "--session", session)[0] == 0

    continued = operator.add("a.md")
    assert operator.json("show", continued)["hands"][0]["closed"] == 1
    operator.fleet("cancel", continued)

    assert operator.json("show", operator.add("a.md", "--restart"))["hands"][0]["closed"] == 0


def test_a_session_can_be_queued_by_its_name(operator: Operator) -> None:
    assert operator.run("todo", "add", "one: `true`", "--session", "mine")[0] == 0

    operator.fleet("add", "mine")

    facts = operator.with_leases(lambda store, _: [type(event.fact) for event in store.events("mine")])
    assert facts == [PlanChanged, RunQueued]


def test_what_cannot_be_queued_is_refused(operator: Operator) -> None:
    operator.plan("a.md", "one")
    (operator.folder / "empty.md").write_text("# Nothing\n", encoding="utf-8")

    for argv, code, message in [
        (["nothing.md"], 4, "there is no file and no session"),
        (["empty.md"], 3, "contains no tasks"),
        (["a.md", "--repo", "https://ada:secret@example.org/x.git"], 2, "password"),
        (["a.md", "--agent", "cloude"], 2, "did you mean 'claude'?"),
        (["a.md", "--hands", "65"], 2, "--hands is 1 to 64"),
        (["a.md", "--priority", "high"], 2, "--priority requires a whole number"),
        (["a.md", "--labels", "a\x1b[2J"], 2, "cannot be printed"),
    ]:
        refused, out, err = operator.run("fleet", "add", *argv)

        assert (refused, out) == (code, ""), argv
        assert message in err
        assert "secret" not in err
        assert "\x1b" not in err
    assert operator.json("ls")["runs"] == []


def test_what_of_a_file_is_not_used_is_told_before_it_is_refused(operator: Operator) -> None:
    """Otherwise, a person would read that the task has no command, and see one."""
    (operator.folder / "a.md").write_text("- [ ] Say hello\n  $ echo hello\n", encoding="utf-8")
    told = [
        "tildone: a.md: line 2: an attribute of a task is not imported: a check ($ command) that can't fail",
        "tildone: a.md: a task has no command, and the agent shell has no model:",
    ]

    for verb in (("add", "a.md"), ("schedule", "0 3 * * *", "a.md")):
        code, out, err = operator.run("fleet", *verb)
        assert (code, out, err.splitlines()[:2]) == (3, "", told), verb


def test_a_plan_whose_tasks_have_no_commands_is_not_for_the_shell_agent(operator: Operator) -> None:
    """The tasks are named. A task with a check needs no command; a model needs neither."""
    (operator.folder / "a.md").write_text("- [ ] Say hello: `echo`\n- [ ] Think\n- [x] Rest\n", encoding="utf-8")

    for verb in (("add", "a.md"), ("schedule", "0 3 * * *", "a.md")):
        code, out, err = operator.run("fleet", *verb)
        assert (code, out) == (3, "")
        assert "a.md: a task has no command, and the agent shell has no model:\n  #2 Think\nEnd each" in err
    assert operator.json("ls")["runs"] == operator.json("schedule")["schedules"] == []

    operator.add("a.md", "--agent", "claude")
    assert operator.run("todo", "add", "Think", "--session", "mine")[0] == 0
    assert operator.run("fleet", "add", "mine")[0] == 3
    assert operator.run("todo", "check", "1", "--session", "mine", "--", "test", "-f", "a.md")[0] == 0
    operator.fleet("add", "mine")


def test_a_plan_without_open_tasks_is_refused_unless_it_is_restarted(operator: Operator) -> None:
    operator.fleet("cancel", operator.add("a.md"))
    session = os.path.realpath("a.md")
    assert operator.run("todo", "done", "1", "2", "--session", session)[0] == 0

    code, _, err = operator.run("fleet", "add", "a.md")

    assert (code, "all tasks of a.md are closed; add tasks to it, or to begin again: --restart" in err) == (3, True)
    assert operator.run("fleet", "add", session)[0] == 3
    operator.add("a.md", "--restart")


def test_what_is_restarted_has_no_proofs_of_before(operator: Operator) -> None:
    """Else a task could be called done that nobody has done again."""
    plan = operator.folder / "proved.md"
    plan.write_text("- [ ] One: `true`\n- [x] Two\n", encoding="utf-8")
    operator.fleet("cancel", operator.add("proved.md"))
    session = os.path.realpath(plan)
    for target in ("1", "2", "--plan"):
        assert operator.run("todo", "check", target, "--session", session, "--", "test", "-d", ".")[0] == 0
    assert operator.run("todo", "done", "1", "2", "--session", session)[0] == 0
    before = operator.with_leases(lambda store, _: latest_state(store.history(session)).plan)
    assert [task.proof is not None for task in (*before.tasks, before)] == [True] * 3

    operator.add("proved.md", "--restart")

    after = operator.with_leases(lambda store, _: latest_state(store.history(session)).plan)
    assert [task.status for task in after.tasks] == [Status.PENDING, Status.COMPLETED]
    assert [task.proof is not None for task in (*after.tasks, after)] == [False, True, False]
    assert [task.check for task in (*after.tasks, after)] == [task.check for task in (*before.tasks, before)]


def test_of_several_runs_the_living_one_is_meant(operator: Operator) -> None:
    first = operator.add("a.md")
    operator.fleet("cancel", first)
    second = operator.add("a.md")

    assert operator.json("show", "a")["run"] == second
    operator.fleet("cancel", "a")
    assert operator.run("fleet", "show", "a")[0] == 2


def test_the_provider_follows_from_the_model_or_the_agent(operator: Operator) -> None:
    for name, options in {
        "a.md": ["--model", "openai:gpt"],
        "b.md": ["--agent", "claude"],
        "c.md": ["--agent", "shell"],
        "d.md": ["--agent", "opencode", "--model", "openai/gpt-5"],
        "e.md": ["--agent", "pi", "--model", "openrouter/deepseek/r1:free"],
        "f.md": ["--agent", "claude", "--model", "us.anthropic.claude-v1:0"],
        "g.md": ["--agent", "opencode"],
        "h.md": ["--model", "openai-chat:gpt"],
    }.items():
        operator.add(name, *options)

    works = operator.with_leases(lambda _, leases: {view.lease.session[-4:]: view.lease.work for view in leases.look()})
    assert {name: (work.agent, work.provider) for name, work in works.items()} == {
        "a.md": ("run", "openai"),
        "b.md": ("claude", "anthropic"),
        "c.md": ("shell", ""),
        "d.md": ("opencode", "openai"),
        "e.md": ("pi", "openrouter"),
        "f.md": ("claude", "anthropic"),
        "g.md": ("opencode", ""),
        "h.md": ("run", "openai"),
    }


def test_a_database_that_does_not_answer_is_waited_for(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first attempt finds no server; nothing is queued, and the person is told once."""
    pytest.importorskip("psycopg")
    operator.plan("a.md", "one")
    monkeypatch.setattr(opening, "WAIT_SECONDS", 0.8)
    monkeypatch.setattr(opening, "PAUSE_SECONDS", 0.1)

    code, out, err = operator.run("fleet", "add", "a.md", "--store", f"postgresql:///plans?host={tmp_path}")

    assert (code, out) == (5, "")
    assert err.count("waiting up to") == 1
    assert err.count("cannot reach") == 2


def test_work_is_done_once_the_database_answers(capsys: pytest.CaptureFixture[str]) -> None:
    attempts, pauses = [], list[float]()

    def work() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise StoreUnreachable("cannot reach the database")
        return "queued"

    assert opening.patiently(work, pauses.append) == "queued"
    assert len(pauses) == 2
    assert capsys.readouterr().err == (
        "tildone: cannot reach the database; waiting up to 30 seconds; nothing is queued yet\n"
    )
