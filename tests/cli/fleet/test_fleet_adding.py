"""Queueing plans: all of them or none, and one living run for each plan."""

import os
import signal
import tomllib
from pathlib import Path
from unittest.mock import Mock, call

import pytest

from tests.cli.fleet.conftest import Operator
from tildone.app.settings import load, load_valid
from tildone.app.settings_file import FLEET_KEYS, MAX_MEGABYTES, MAX_SECONDS, MAX_SLOTS, fleet_config, table_fault
from tildone.base import StoreUnreachable
from tildone.cli import main
from tildone.cli.fleet import opening
from tildone.cli.fleet.work import DEFAULT_GRACE_SECONDS
from tildone.fleet.engine import TableEngine
from tildone.fleet.results import MIN_FREE_MB, WorkerOptions
from tildone.log.settings import ENGINES
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.model import Plan, Status, Task
from tildone.plan.names import MAX_LABELS
from tildone.plan.runs import RunQueued


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
    sessions = [info.name for info in operator.store.sessions()]
    assert sessions == [os.path.realpath(operator.folder / "a.md")]


def test_a_session_can_be_queued_by_its_name(operator: Operator) -> None:
    assert operator.run("todo", "add", "one: `true`", "--session", "mine")[0] == 0

    operator.fleet("add", "mine")

    facts = [type(event.fact) for event in operator.store.events("mine")]
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
    operator.refused(3, "fleet", "add", "mine")
    assert operator.run("todo", "check", "1", "--session", "mine", "--", "test", "-f", "a.md")[0] == 0
    operator.fleet("add", "mine")


def test_an_ended_plan_continues_where_it_stopped_unless_it_is_restarted(operator: Operator) -> None:
    """One without open tasks cannot."""
    operator.fleet("cancel", operator.add("a.md"))
    session = os.path.realpath("a.md")
    assert operator.run("todo", "done", "1", "--session", session)[0] == 0
    continued = operator.add("a.md")
    assert operator.json("show", continued)["hands"][0]["closed"] == 1
    operator.fleet("cancel", continued)
    assert operator.run("todo", "done", "2", "--session", session)[0] == 0

    err = operator.refused(3, "fleet", "add", "a.md")

    assert "all tasks of a.md are closed; add tasks to it, or to begin again: --restart" in err
    operator.refused(3, "fleet", "add", session)
    assert operator.json("show", operator.add("a.md", "--restart"))["hands"][0]["closed"] == 0


def test_what_is_restarted_has_no_proofs_of_before(operator: Operator) -> None:
    """Else a task could be called done that nobody has done again."""
    plan = operator.folder / "proved.md"
    plan.write_text("- [ ] One: `true`\n- [x] Two\n", encoding="utf-8")
    operator.fleet("cancel", operator.add("proved.md"))
    session = os.path.realpath(plan)
    for target in ("1", "2", "--plan"):
        assert operator.run("todo", "check", target, "--session", session, "--", "test", "-d", ".")[0] == 0
    assert operator.run("todo", "done", "1", "2", "--session", session)[0] == 0
    before = latest_state(operator.store.history(session)).plan

    operator.add("proved.md", "--restart")

    after = latest_state(operator.store.history(session)).plan
    assert [task.status for task in after.tasks] == [Status.PENDING, Status.COMPLETED]
    parts: list[list[Task | Plan]] = [[*plan.tasks, plan] for plan in (before, after)]
    assert [[part.proof is not None for part in each] for each in parts] == [[True] * 3, [False, True, False]]
    assert len({tuple(part.check for part in each) for each in parts}) == 1


def test_the_provider_follows_from_the_model_or_the_agent(operator: Operator) -> None:
    expected = {
        "a.md": (["--model", "openai:gpt"], "run", "openai"),
        "b.md": (["--agent", "claude"], "claude", "anthropic"),
        "c.md": (["--agent", "shell"], "shell", ""),
        "d.md": (["--agent", "opencode", "--model", "openai/gpt-5"], "opencode", "openai"),
        "e.md": (["--agent", "pi", "--model", "openrouter/deepseek/r1:free"], "pi", "openrouter"),
        "f.md": (["--agent", "claude", "--model", "us.anthropic.claude-v1:0"], "claude", "anthropic"),
        "g.md": (["--agent", "opencode"], "opencode", ""),
        "h.md": (["--model", "openai-chat:gpt"], "run", "openai"),
    }

    works = {name: operator.lease(operator.add(name, *options)).work for name, (options, _, _) in expected.items()}

    assert {name: (expected[name][0], work.agent, work.provider) for name, work in works.items()} == expected


def test_a_database_that_is_away_is_waited_for(
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


PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "fleet-settings.md"


def written(home: Path, text: str) -> dict[str, str]:
    """Write the person's settings, and return the environment in which they count."""
    file = home / ".config" / "tildone" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / "data")}


def test_the_table_is_read_with_absolute_paths_and_a_repository_has_no_say(tmp_path: Path) -> None:
    """Not even a trusted repository could say what a worker runs; an untrusted one is ignored."""
    environ = written(tmp_path, '[fleet]\nstore = "runs.db"\nworktrees = "trees"\nslots = 3\nallow = ["make *"]\n')

    config = fleet_config(dict(load({}, environ, str(tmp_path)).fleet))

    folder = tmp_path / ".config" / "tildone"
    assert (config.worktrees, config.slots, config.allow) == (str(folder / "trees"), 3, ("make *",))
    assert config.store.endswith(str(folder / "runs.db"))

    assert fleet_config(dict(load({}, written(tmp_path, "[fleet]\nask = []\n"), str(tmp_path)).fleet)).ask == ()
    assert fleet_config({}).ask is None

    environ = written(tmp_path, "")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "tildone.toml").write_text('[fleet]\nallow = ["*"]\n', encoding="utf-8")

    assert load({}, environ, str(project)).fleet == ()


def test_an_invalid_setting_is_named(tmp_path: Path) -> None:
    lists = ["labels = 'x'", 'labels = [""]', 'allow = ["\\n"]']
    for line in ("slots = 0", "slots = true", "workers = 1", 'store = ""', *lists):
        settings, problems = load_valid({}, written(tmp_path, f"[fleet]\n{line}\n"), str(tmp_path))

        assert (settings.fleet, len(problems)) == ((), 1), line
        assert "[fleet]" in problems[0]


def test_the_page_of_the_settings_has_all_of_them_with_their_limits_and_its_example_is_valid() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {row.split("`")[1]: row for row in text.splitlines() if row.startswith("| `")}
    example = tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])

    assert sorted(rows) == sorted(FLEET_KEYS)
    assert sorted(example["fleet"]) == sorted(FLEET_KEYS)
    assert table_fault("fleet", example["fleet"]) == ""
    assert f"1 to {MAX_SLOTS} |" in rows["slots"]
    assert f"1 to {MAX_MEGABYTES} megabytes | {MIN_FREE_MB} |" in rows["min_free_mb"]
    assert all(f"1 to {MAX_SECONDS} seconds" in rows[key] for key in ("lease", "grace"))
    assert f"| {DEFAULT_GRACE_SECONDS} |" in rows["grace"]
    assert all(f'`"{engine}"`' in rows["engine"] for engine in ENGINES)
    assert f"at most {MAX_LABELS} entries" in text


def test_a_worker_gets_its_options_and_obeys_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first signal drains it, the second stops it. Options of the command line come before settings.

    To ask a person and not to ask exclude each other.
    """
    for name, value in written(tmp_path, '[fleet]\nslots = 3\nlabels = ["gpu"]\nallow = ["make *"]\n').items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)

    def work() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        return 7

    worker = Mock(work=Mock(side_effect=work))
    made = Mock(return_value=worker)
    monkeypatch.setattr("tildone.cli.fleet.work.Worker", made)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert main(["fleet", "work", "--slots", "2", "--agents", "shell,run", "--grace", "3"]) == 7
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)

    assert worker.mock_calls == [call.work(), call.drain(), call.stop()]
    reach = "allow of [fleet] 'make *' allows more than it looks like: make runs what the project's files tell it to"
    assert capsys.readouterr().err == f"tildone: {reach}\n"
    _, options, store = made.call_args.args
    home, agents = str(tmp_path / "data" / "tildone" / "fleet"), frozenset({"shell", "run"})
    assert options == WorkerOptions(2, frozenset({"gpu"}), ("make *",), agents, home, 3.0, ask=("*",))
    assert store.endswith("runs.db")
    assert made.call_args.kwargs == {"engine": TableEngine, "traces": None}
    assert main(["fleet", "work", "--ask", "make *", "--no-ask"]) == 2
    assert "--ask and --no-ask exclude each other" in capsys.readouterr().err
