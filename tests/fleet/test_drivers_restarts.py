"""An agent that cannot be held to its plan is started again, as long as it makes progress."""

import sys
from pathlib import Path

import pytest

from tests.fleet import workers
from tests.fleet.workers import Bench
from tests.suite.waiting import until
from tildone.errors import Refused
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.log.fleet.facts import Asked, RunReleased
from tildone.log.fleet.lease import LeaseState

ONE_TASK = 'echo >> starts; n=$(wc -l < starts); [ "$n" -gt {most} ] || {python} -m tildone todo done "$n"'
"""A command that completes one task at each start, at most so many in all."""


def early(context: AgentContext) -> AgentLaunch:
    own = {"TILDONE_STORE": context.store, "TILDONE_SESSION": context.session}
    return AgentLaunch(("sh", "-c", context.model), {**context.environ, **own}, stops_early=True)


def refusing(_context: AgentContext) -> AgentLaunch:
    raise Refused("it runs every command")


@pytest.fixture(autouse=True)
def _agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "AGENTS", {"early": early, "refusing": refusing})


def starts(bench: Bench) -> int:
    return len((bench.folder / "home" / "folders" / bench.run / "starts").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("most", "state", "expected"), [(3, LeaseState.DONE, 3), (1, LeaseState.FAILED, 2)])
def test_it_is_started_until_a_start_does_nothing(bench: Bench, most: int, state: LeaseState, expected: int) -> None:
    """All under one lease; what did nothing once would do so again."""
    bench.add(ONE_TASK.format(most=most, python=sys.executable), "early", tasks=3)

    with bench.worker(agents=("early",)):
        lease = bench.becomes(LeaseState.DONE, LeaseState.FAILED)

    assert lease.state is state
    assert (starts(bench), lease.epoch) == (expected, 1)


def test_an_agent_with_an_open_question_is_not_started_again(bench: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = ONE_TASK.format(most=3, python=sys.executable)
    bench.add(f"{command}; until [ -e {go} ]; do sleep 0.05; done", "early", tasks=3)

    with bench.worker(agents=("early",)):
        lease = until(lambda: bench.lease().is_held and bench.lease())
        bench.leases.append(lease.fence, Asked(bench.run, 0, "q1", "question", "Which one?"), "e1")
        go.touch()
        bench.becomes(LeaseState.WAITING)

    assert starts(bench) == 1


def test_a_worker_that_cannot_hold_an_agent_to_its_rules_gives_the_run_back(bench: Bench) -> None:
    """Another worker may have other rules. It is no failure."""
    bench.add("", "refusing")

    with bench.worker(agents=("refusing",)):
        [released] = until(lambda: bench.facts(RunReleased))

    assert isinstance(released, RunReleased)
    assert (released.why, released.fails) == ("not permitted here: it runs every command", 0)
