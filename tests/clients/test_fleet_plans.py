"""Real agents as the agents of a fleet, from `tildone fleet add` to the branch with the results."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.fleets import FILES, TASKS, AgentFleet, FleetModel, command, done, eventually, work
from tests.clients.inside import GO_ON, last_message
from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tildone.plan.runs import LeaseState

__all__ = ["server", "url"]

pytestmark = pytest.mark.slow

STOP = {"text": "I stop early."}
OTHER_KEY, OTHERS = "MISTRAL_API_KEY", "marked-3b7a90d2c4"

Database = Callable[[pytest.FixtureRequest], str]


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "plans.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.mark.parametrize(
    ("name", "database"),
    [
        ("claude", sqlite),
        pytest.param("codex", postgres, marks=needs_server),
        pytest.param("codex", sqlite, marks=pytest.mark.long),
        ("gemini", sqlite),
        pytest.param("opencode", sqlite, marks=pytest.mark.long),
        ("pi", sqlite),
    ],
)
def test_it_finishes_the_plan_of_its_run(
    name: str, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """It is held to it, or started again: it goes on after it has stopped with a task open."""
    with FleetModel(name, *work(name, 1, 2), STOP, *work(name, 3)) as model:
        fleet = AgentFleet(name, tmp_path, model, database(request))
        fleet.tildone("fleet", "up")
        run = fleet.add()
        with fleet.worker():
            lease = fleet.ended(run)
            eventually(fleet.report(run).exists)

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        assert fleet.files(run) >= set(FILES)
        report = fleet.report(run).read_text(encoding="utf-8")
        assert all(f"- [x] {task}" in report for task in TASKS)
        assert {path.name for path in fleet.repository.iterdir()} == {".git", "readme"}
        has_gone_on = GO_ON in last_message(model.requests[5]) or name == "opencode"
        assert has_gone_on, last_message(model.requests[5])


@pytest.mark.parametrize("name", ["claude", pytest.param("codex", marks=pytest.mark.long)])
def test_it_gets_the_keys_of_its_provider_only_and_none_are_stored(name: str, tmp_path: Path) -> None:
    """Not even if the agent prints them, and fails."""
    key = "sk-ant-marked-5f1c9e0a7d"
    show = "echo key is $ANTHROPIC_API_KEY $MISTRAL_API_KEY, then fail"
    with FleetModel(
        name, command(name, f"{show} | tee seen; env > names"), done(1), {"text": f"It is {key}."}
    ) as model:
        fleet = AgentFleet(name, tmp_path, model, str(tmp_path / "plans.db"))
        fleet.environ |= {"ANTHROPIC_API_KEY": key, OTHER_KEY: OTHERS}
        fleet.tildone("fleet", "up")
        run = fleet.add()
        with fleet.worker():
            lease = fleet.ended(run)

        assert lease.state is LeaseState.FAILED
        names = (fleet.worktree(run) / "names").read_text(encoding="utf-8")
        assert OTHERS not in names
        assert ("ANTHROPIC_API_KEY" in names) == (name == "claude")
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("plans.db*"))
        assert key.encode() not in stored
        assert OTHERS.encode() not in stored
        assert key not in fleet.kept(run)
        assert "It is [redacted]." in fleet.kept(run)
