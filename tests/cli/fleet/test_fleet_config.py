"""The table `[fleet]`, and what a worker is started with."""

import os
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tildone.cli import main
from tildone.cli.fleet.work import DEFAULT_GRACE_SECONDS
from tildone.config import load, load_valid
from tildone.config.fleet import KEYS, MAX_MEGABYTES, MAX_SECONDS, MAX_SLOTS, fleet_config, fleet_fault
from tildone.fleet.engine import TableEngine
from tildone.fleet.running import WorkerOptions
from tildone.fleet.upkeep import MIN_FREE_MB
from tildone.log.fleet.names import MAX_LABELS
from tildone.log.fleet.settings import ENGINES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "fleet-settings.md"


def written(home: Path, text: str) -> dict[str, str]:
    """Write the person's settings, and return the environment in which they count."""
    file = home / ".config" / "tildone" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / "data")}


def test_the_table_is_read_with_absolute_paths(tmp_path: Path) -> None:
    environ = written(tmp_path, '[fleet]\nstore = "runs.db"\nworktrees = "trees"\nslots = 3\nallow = ["make *"]\n')

    config = fleet_config(dict(load({}, environ, str(tmp_path)).fleet))

    folder = tmp_path / ".config" / "tildone"
    assert (config.worktrees, config.slots, config.allow) == (str(folder / "trees"), 3, ("make *",))
    assert config.store.endswith(str(folder / "runs.db"))


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

    assert sorted(rows) == sorted(KEYS)
    assert sorted(example["fleet"]) == sorted(KEYS)
    assert fleet_fault(example["fleet"]) == ""
    assert f"1 to {MAX_SLOTS} |" in rows["slots"]
    assert f"1 to {MAX_MEGABYTES} megabytes | {MIN_FREE_MB} |" in rows["min_free_mb"]
    assert all(f"1 to {MAX_SECONDS} seconds" in rows[key] for key in ("lease", "grace"))
    assert f"| {DEFAULT_GRACE_SECONDS} |" in rows["grace"]
    assert all(f'`"{engine}"`' in rows["engine"] for engine in ENGINES)
    assert f"at most {MAX_LABELS} entries" in text


def test_a_repository_has_no_say_in_a_fleet(tmp_path: Path) -> None:
    """Not even one that a person trusts could say what a worker runs; an untrusted one is ignored."""
    environ = written(tmp_path, "")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "tildone.toml").write_text('[fleet]\nallow = ["*"]\n', encoding="utf-8")

    assert load({}, environ, str(project)).fleet == ()


def test_that_persons_may_be_asked_for_nothing_differs_from_the_default(tmp_path: Path) -> None:
    environ = written(tmp_path, "[fleet]\nask = []\n")

    assert fleet_config(dict(load({}, environ, str(tmp_path)).fleet)).ask == ()
    assert fleet_config({}).ask is None


def test_asking_and_not_asking_exclude_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)

    assert main(["fleet", "work", "--ask", "make *", "--no-ask"]) == 2
    assert "--ask and --no-ask exclude each other" in capsys.readouterr().err


def test_a_worker_gets_its_options_and_obeys_signals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first signal drains it, the second stops it. Options of the command line come before settings."""
    for name, value in written(tmp_path, '[fleet]\nslots = 3\nlabels = ["gpu"]\nallow = ["make *"]\n').items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TILDONE_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    started: dict[str, Any] = {}
    told: list[str] = []

    class Recorded:
        def __init__(self, leases: object, options: WorkerOptions, store: str, engine: object, traces: object) -> None:
            started.update(options=options, leases=leases, store=store, engine=engine, traces=traces)

        def work(self) -> int:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            return 7

        def drain(self) -> None:
            told.append("drain")

        def stop(self) -> None:
            told.append("stop")

    monkeypatch.setattr("tildone.cli.fleet.work.Worker", Recorded)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert main(["fleet", "work", "--slots", "2", "--agents", "shell,run", "--grace", "3"]) == 7
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)

    assert told == ["drain", "stop"]
    reach = "allow of [fleet] 'make *' allows more than it looks like: make runs what the project's files tell it to"
    assert capsys.readouterr().err == f"tildone: {reach}\n"
    home = str(tmp_path / "data" / "tildone" / "fleet")
    assert started["options"] == WorkerOptions(
        slots=2,
        labels=frozenset({"gpu"}),
        allow=("make *",),
        agents=frozenset({"shell", "run"}),
        home=home,
        grace=3.0,
        ask=("*",),
    )
    assert started["store"].endswith("runs.db")
    assert (started["engine"], started["traces"]) == (TableEngine, None)
