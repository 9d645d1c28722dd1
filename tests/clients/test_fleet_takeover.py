"""A real agent in the middle of a task when its worker is lost, or when it is stopped itself."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.clients.fleets import FILES, AgentFleet, FleetModel, command, done, eventually, send, tree, work
from tests.clients.inside import GO_ON, last_message, without_tools
from tests.fleet.agents import processes_of
from tests.host.models.model_server import Turn
from tildone.log.settings import FleetSettings
from tildone.plan.dialects.native import FENCED
from tildone.plan.dialects.prompts import BEGUN, LAST_MESSAGES, TAKEN_OVER, WHY
from tildone.plan.events import Actor
from tildone.plan.runs import Claimer, Lease, LeaseState

pytestmark = pytest.mark.slow

SHORT = FleetSettings(lease=8000, heartbeat=1000, margin=1000, reaper=300, renewal=1000)
CROSSES_LEASE, LONG = 9.0, 70.0
"""For how many seconds an agent is stopped."""

KEY = "ghp_0123456789abcdefghijklmnop"
NOTE: Turn = {"tool": "todo", "args": {"note": "2 the wiring is in wiring"}}


def begun(name: str) -> list[Turn]:
    """The turns of an agent that has done one task, and waits for its model in the middle of the next."""
    told = {"text": f"I found the key {KEY}."}
    first = [command(name, "echo made > parser") | told, done(1), NOTE, command(name, "echo half > wiring")]
    return [*first, {**command(name, "echo made > wiring"), "waits": True}]


def successor(name: str) -> list[Turn]:
    return [*work(name, 2, 3), {"text": "Finished."}]


def fleet_of(name: str, folder: Path, model: FleetModel) -> AgentFleet:
    fleet = AgentFleet(name, folder, model, str(folder / "plans.db"))
    fleet.tildone("fleet", "up")
    return fleet


def agent_of(lease: Lease) -> list[int]:
    """The processes of the agent under a lease."""
    return processes_of(str(lease.fence))


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("claude", "here"),
        ("codex", "there"),
        pytest.param("claude", "there", marks=pytest.mark.long),
        pytest.param("codex", "here", marks=pytest.mark.long),
    ],
)
def test_another_worker_goes_on_where_a_killed_one_left_off(name: str, home: str, tmp_path: Path) -> None:
    """On the same machine, it gets the working tree; on another one, the newest checkpoint. It is told which."""
    with FleetModel(name, *begun(name), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        run = fleet.add("--repo", fleet.repository.as_uri())
        with fleet.worker() as worker:
            assert model.waits.wait(600)
            first = fleet.lease(run)
            os.kill(worker, signal.SIGKILL)
            eventually(lambda: not agent_of(first))
            requests = len(model.requests)
            with fleet.worker(home):
                lease = fleet.ended(run)
            model.go.set()

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        assert fleet.files(run) >= set(FILES)
        told = without_tools(model.requests[requests])
        for expected in (TAKEN_OVER, WHY, BEGUN, LAST_MESSAGES, "- [x] Write the parser", "the wiring is in wiring"):
            assert expected in told
        assert "assistant: I found the key [redacted]." in told
        assert KEY not in told
        assert ("is lost" in told) == (home == "there")
        assert ("echo half" in told) == (home == "here")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("claude", CROSSES_LEASE),
        pytest.param("codex", CROSSES_LEASE, marks=pytest.mark.long),
        pytest.param("claude", LONG, marks=pytest.mark.long),
        pytest.param("codex", LONG, marks=pytest.mark.long),
    ],
)
def test_an_agent_that_was_stopped_in_a_request_goes_on(name: str, seconds: float, tmp_path: Path) -> None:
    """Its worker holds the lease all the time."""
    with FleetModel(name, *begun(name), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        fleet.leases.configure(SHORT)
        run = fleet.add()
        with fleet.worker():
            assert model.waits.wait(600)
            first = fleet.lease(run)
            stopped = agent_of(first)
            send(signal.SIGSTOP, stopped)
            # Not a wait for anything: the time itself is what the agent has to survive.
            time.sleep(seconds)
            model.go.set()
            send(signal.SIGCONT, stopped)
            lease = fleet.ended(run)

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        # An agent that had ended with an error would count as a failure.
        assert lease.fails == 0


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_agent_that_wakes_after_its_run_was_taken_is_told_once_to_stop(name: str, tmp_path: Path) -> None:
    """Nothing is changed and nothing is nudged; the new holder's agent finishes the plan."""
    with FleetModel(name, *begun(name), command(name, "echo again > wiring"), done(2), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        fleet.leases.configure(SHORT)
        run = fleet.add()
        with fleet.worker() as worker:
            assert model.waits.wait(600)
            first = fleet.lease(run)
            everything, agents = tree(worker), agent_of(first)
            send(signal.SIGSTOP, everything)
            eventually(lambda: fleet.leases.reap(SHORT.lease))
            [taken] = fleet.leases.claim(Claimer("there/2/b"), ["there/2/b/1"])
            before = len(fleet.events(run))
            model.go.set()
            # Its supervisor and its worker are still stopped: only the hooks keep it from going on.
            send(signal.SIGCONT, agents)
            eventually(lambda: not agent_of(first))
            told = [request for request in model.requests if FENCED in last_message(request)]
            late = [event for event in fleet.events(run)[before:] if event.actor is Actor.AGENT]
            send(signal.SIGCONT, everything)
            fleet.leases.release(taken.fence, "stopped")
            # The turns that are left begin with those of the successor.
            model.script = (*model.script[: len(model.requests)], *successor(name))
            lease = fleet.ended(run)

        assert late == []
        assert len(told) <= 1
        assert fleet.output(run, first).count(FENCED) + len(told) >= 1
        assert not any(GO_ON in last_message(request) for request in model.requests)
        assert lease.state is LeaseState.DONE
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
