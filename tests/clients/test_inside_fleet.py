"""Real agents as agents of a fleet: started by their drivers, with nothing installed, against the scripted model."""

from pathlib import Path

import pytest

from tests.clients.agents import AGENTS, Sandbox, environment
from tests.clients.inside import GO_ON, WAIT, PatientModel, last_message
from tests.clients.model import Model
from tests.fleet.runs import HeldRun, hold
from tests.host.models.model_server import Turn
from tildone.core.plan import Task, flat

pytestmark = pytest.mark.slow

TASKS = ("Write the parser", "Wire it up")
SCRIPT: tuple[Turn, ...] = (
    {"tool": "todo", "args": {"done": [1]}},
    {"text": "I stop early."},
    {"tool": "todo", "args": {"done": [2]}},
    {"text": "Finished."},
)
HELD = ("claude", "codex")
MODELS = {"claude": "claude-sonnet-4-5"}


def held_run(name: str, folder: Path, model: Model) -> HeldRun:
    """A run whose worker knows only the address of the client's model."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    sandbox = Sandbox(home, work, model.url)
    start = AGENTS[name](sandbox, "")
    return hold(folder, flat(*map(Task, TASKS)), environment(name, sandbox) | start.environ)


@pytest.mark.parametrize("name", HELD)
def test_it_finishes_the_plan_of_its_run(name: str, tmp_path: Path) -> None:
    """It is held to it: it goes on after it has stopped with a task open."""
    with PatientModel(*SCRIPT, wait=WAIT.get(name)) as model:
        run = held_run(name, tmp_path, model)
        before = {path.name for path in (tmp_path / "work").iterdir()}
        done = run.run(name, run.context("*", model=MODELS.get(name, ""), prompt="Work on your plan."))

    assert done.returncode == 0, done
    assert run.tasks == [(text, "completed") for text in TASKS]
    assert GO_ON in last_message(model.requests[2])
    assert {path.name for path in (tmp_path / "work").iterdir()} == before


@pytest.mark.parametrize("name", HELD)
def test_it_stops_once_its_run_has_passed_to_another_worker(name: str, tmp_path: Path) -> None:
    """Its next tool call is refused, nothing is changed, and it is not told to go on."""
    with PatientModel(SCRIPT[0], wait=WAIT.get(name)) as model:
        run = held_run(name, tmp_path, model)
        run.pass_on()
        run.run(name, run.context("*", model=MODELS.get(name, ""), prompt="Work on your plan."))

    assert run.tasks == [(text, "pending") for text in TASKS]
    assert not any(GO_ON in last_message(request) for request in model.requests)
