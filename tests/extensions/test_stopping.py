"""How often an agent that stops is told to go on, the bound on requests that ends one that never stops, and checks."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.checks.repositories import Runner, make_repository, python
from tests.extensions.stage import Answer, Stage, completing
from tests.hooks.agent import HookedAgent, new_workspace
from tests.project.source import ROOT
from tests.suite.waiting import until_async
from tildone import MemoryStore, session_in
from tildone.agents.integrations.claude import INTEGRATION as CLAUDE
from tildone.app.settings import Settings, load
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects import DIALECTS, dialect_named
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Bound, Tripped
from tildone.plan.gate import GoOn, Patience
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Append, Numbered, SetCheck
from tildone.run.events import ToolExecutionEnd
from tildone.run.extension import SubagentTurn
from tildone.run.extensions import extension_of
from tildone.run.extensions.indexed import indexed
from tildone.run.extensions.skeleton import GO_ON, request_bounds
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.definition import markup
from tildone.run.rendering import CallRow
from tildone.stores import parse_address

PAGE = (ROOT / "docs" / "reference" / "dialects.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## An agent that stops\n")[2].partition("\n## ")[0]
ROWS = {
    cells[0]: cells[1:] for line in SECTION.splitlines() if len(cells := re.findall(r"(?<=\| )[^|]*(?= \|)", line)) == 5
}
MANY = 30
NAMES = sorted(DIALECTS)


def told(name: str, column: int) -> int:
    """Return the number in a cell of the row of a dialect; 0 if there is none."""
    cell = ROWS[f"`{name}`"][column]
    return int(cell.split(maxsplit=1)[0]) if cell[0].isdigit() else 0


def test_every_dialect_has_a_row() -> None:
    assert {f"`{name}`" for name in NAMES} <= set(ROWS)


@pytest.mark.parametrize("name", NAMES)
async def test_in_a_run(name: str, tmp_path: Path) -> None:
    stage = await on_stage(name, tmp_path)
    times, countdown = told(name, 0), told(name, 1) * 1000
    await stage.says("Go")

    for number in range(MANY if countdown else 0):
        before = len(stage.model.requests)
        await elapsed(stage, countdown - 1)
        assert len(stage.model.requests) == before
        await elapsed(stage, 1)
        assert len(stage.model.requests) == before + (number < times)

    assert len(stage.model.requests) == 1 + times
    assert not stage.host.pending


@pytest.mark.parametrize("name", NAMES)
async def test_a_prompt_begins_the_count_again(name: str, tmp_path: Path) -> None:
    stage = await on_stage(name, tmp_path)
    for _ in range(2):
        await stage.says("Go")
        for _ in range(MANY):
            await elapsed(stage, 3000)
        stage.open_session("conversation").reset_counts()

    assert len(stage.model.requests) == 2 * (1 + told(name, 0))


@pytest.mark.parametrize("name", NAMES)
def test_in_hooks(name: str, tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path)
    workspace.more["TILDONE_DIALECT"] = name
    workspace.plan(("One", "pending"))
    agent = HookedAgent(workspace, CLAUDE)

    answers = [agent.stops(f"Words {number}.") for number in range(MANY)]

    assert sum("One" in answer for answer in answers) == told(name, 2)


@pytest.mark.parametrize("name", NAMES)
def test_in_the_library(name: str) -> None:
    session = session_in(MemoryStore(), "s", dialect_named(name))
    session.change([Append((Task("One"),))])

    decisions = [session.turn_ended().decision for _ in range(MANY)]

    assert sum(isinstance(decision, GoOn) for decision in decisions) == told(name, 3)


async def on_stage(name: str, folder: Path) -> Stage:
    """A host in which the model never does anything, and one task is open."""
    stage = Stage(dialect_named(name))
    settings = load({}, {"HOME": str(folder)}, str(folder))
    await stage.start(extension_of(stage.dialect, stage.open_session, settings))
    stage.open_session("conversation").change([Append((Task("One"),))])
    return stage


async def elapsed(stage: Stage, milliseconds: int) -> None:
    stage.clock.advance(milliseconds)
    await stage.host.settled()


LIST: Answer = {"call": ("list_todos", {})}


def edit(action: str, index: int) -> Answer:
    return {"call": ("edit_todos", {"action": action, "indices": [index]})}


def write(*texts: str) -> Answer:
    return {"call": ("write_todos", {"mode": "append", "todos": [{"text": text} for text in texts]})}


async def bounded_by(patience: Patience, *script: Answer, says: int = 1) -> tuple[Stage, list[int]]:
    """Return a host whose sessions have these bounds, after so many prompts, and the requests after each of them."""
    stage = Stage(INDEXED, *script)

    def bounded(conversation: str) -> Session:
        session = stage.open_session(conversation)
        session.patience = patience
        return session

    stage.host.load([("request bounds", request_bounds(bounded))])
    await stage.host.dispatcher.emit(SubagentTurn("before a conversation is open"))
    await stage.start(indexed(bounded))
    requests = list[int]()
    for _ in range(says):
        await stage.says("go")
        requests.append(len(stage.model.requests))
    return stage, requests


def tripped(stage: Stage) -> list[Any]:
    session = stage.open_session("conversation")
    return [event.fact for event in session.store.events(session.name) if isinstance(event.fact, Tripped)]


async def test_a_model_that_only_lists_is_ended_when_its_plan_makes_no_progress() -> None:
    stage, requests = await bounded_by(Patience(idle_requests=7), write("One"), *[LIST] * 30)

    assert (requests, tripped(stage)) == ([8], [Tripped(Bound.IDLE_REQUESTS, 7)])
    assert [message for _, message in stage.screen.notices] == [
        f"Stopped: 7 requests to the model, and no task was closed or added. {GO_ON}"
    ]


async def test_closing_and_reopening_a_task_is_no_progress() -> None:
    toggle = [edit("complete", 0), edit("start", 0)] * 20
    stage, requests = await bounded_by(Patience(idle_requests=7), write("One", "Two"), *toggle)

    assert (requests, tripped(stage)) == ([9], [Tripped(Bound.IDLE_REQUESTS, 7)])


async def test_progress_starts_the_count_again_up_to_all_requests() -> None:
    closing = [step for index in range(20) for step in (LIST, LIST, edit("complete", index))]
    texts = [f"Task {number}" for number in range(20)]
    stage, requests = await bounded_by(Patience(idle_requests=5, requests=31), write(*texts), *closing)

    assert (requests, tripped(stage)) == ([31], [Tripped(Bound.REQUESTS, 31)])


async def test_a_persons_message_starts_every_count_again() -> None:
    stage, requests = await bounded_by(Patience(idle_requests=3), write("One"), *[LIST] * 30, says=2)

    assert (requests, tripped(stage)) == ([4, 7], [Tripped(Bound.IDLE_REQUESTS, 3)] * 2)


async def test_the_time_since_a_person_spoke_is_bounded() -> None:
    async def an_hour_later() -> dict[str, Any]:
        stage.clock.advance(3_600_000)
        return {"call": ("list_todos", {})}

    stage, _ = await bounded_by(Patience(hours=2), write("One"), says=0)
    stage.model.script[1:] = [an_hour_later] * 9
    await stage.says("go")
    first = len(stage.model.requests)
    await stage.says("go on")

    assert (first, len(stage.model.requests)) == (3, 5)
    assert tripped(stage) == [Tripped(Bound.HOURS, 2)] * 2
    assert stage.screen.notices[0][1] == f"Stopped: 2 hours have passed since you last spoke. {GO_ON}"


async def test_requests_of_subagents_count_towards_the_absolute_bound_only() -> None:
    """A subagent's work is not in the plan, so it is no sign that the agent is idle."""

    async def work() -> dict[str, Any]:
        for _ in range(4):
            await stage.host.dispatcher.emit(SubagentTurn("c"))
        return {"call": ("list_todos", {})}

    stage, _ = await bounded_by(Patience(requests=10, idle_requests=5), work, work, work, says=0)

    await stage.says("go")

    assert (len(stage.model.requests), tripped(stage)) == (2, [Tripped(Bound.REQUESTS, 10)])


DONE: Answer = {"call": ("todo", {"done": 1})}
WAITS = python(
    "import os, pathlib, time\n"
    "open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up')\n"
    "while not pathlib.Path('go').exists(): time.sleep(0.01)",
    seconds=50,
)
SECONDS = 30.0


class Checked:
    """A stage whose plan has a task with a check, in a repository."""

    def __init__(
        self, folder: Path, check: Check, *script: Answer, of_plan: bool = False, dialect: str = "brief"
    ) -> None:
        self.project = make_repository(folder / "project")
        self.stage = Stage(dialect_named(dialect), *script)
        self._runner = Runner(self.project, folder)
        self._runner.approvals.approve(check)
        self.open("conversation").change([Append((Task("one"),)), SetCheck(None if of_plan else Numbered((1,)), check)])

    def open(self, name: str) -> Session:
        session = self.stage.open_session(name)
        return session.using(parts=replace(session.parts, prover=lambda: self._runner.runner))

    async def start(self) -> None:
        settings = Settings(store=parse_address("unused.db"), session="s", project=str(self.project))
        await self.stage.start(extension_of(self.stage.dialect, self.open, settings))

    @property
    def task(self) -> Task:
        return self.stage.open_session("conversation").plan.tasks[0]

    async def until_up(self) -> str:
        """Wait until the check runs, and return its process id."""
        await until_async((self.project / "up").exists)
        return (self.project / "up").read_text(encoding="utf-8")


def runs(pid: str) -> bool:
    return subprocess.run(["ps", "-p", pid], capture_output=True, check=False).returncode == 0


async def test_the_host_goes_on_while_a_check_runs(tmp_path: Path) -> None:
    checked = Checked(tmp_path, WAITS, DONE, {"text": "All done."})
    await checked.start()
    turn = asyncio.create_task(checked.stage.says("go"))

    await checked.until_up()
    assert not turn.done()
    (checked.project / "go").touch()
    await asyncio.wait_for(turn, SECONDS)

    assert checked.task.status is Status.COMPLETED
    assert checked.task.proof is not None


@pytest.mark.parametrize("of_plan", [False, True])
async def test_a_failed_check_holds_the_agent_and_a_passed_one_lets_it_finish(tmp_path: Path, *, of_plan: bool) -> None:
    check = python("import os, sys; sys.exit('not made' if not os.path.exists('made') else 0)")
    project = tmp_path / "project"

    async def make() -> dict[str, object]:
        (project / "made").touch()
        return {"call": ("todo", {"done": 1})}

    checked = Checked(tmp_path, check, DONE, {"text": "I stop."}, make, {"text": "All done."}, of_plan=of_plan)
    await checked.start()

    await checked.stage.says("go")

    told = checked.stage.told()
    assert sum("failed with exit code 1\nnot made" in text for text in told) == 1
    assert sum("is not done:\n" in text for text in told) == 1
    assert len(checked.stage.model.requests) == 4
    assert checked.task.status is Status.COMPLETED


@pytest.mark.parametrize("dialect", NAMES)
async def test_a_task_that_its_check_kept_open_is_drawn_as_refused(tmp_path: Path, dialect: str) -> None:
    """In every dialect, although the model gets no error: it has the sign of one, and the person sees why."""
    name, done = "1" if dialect == "brief" else "“one”", completing(dialect)
    checked = Checked(tmp_path, python("import sys; sys.exit('not made')"), done, dialect=dialect)
    await checked.start()
    ended: list[ToolExecutionEnd] = []
    checked.stage.host.listen(lambda event: ended.append(event) if isinstance(event, ToolExecutionEnd) else None)

    await checked.stage.says("go")

    (event,) = ended
    tool, arguments = done["call"]
    row = CallRow("", tool, checked.stage.host.tools[tool], arguments, cwd=".", invalidate=lambda: None)
    drawn = markup(row.result(event.result, RenderOptions()))
    assert (event.is_error, event.result.failed) == (False, True)
    assert f"{name} is not done: " in drawn
    assert "not made" in drawn
    if dialect != "declared":
        assert f"<error>{name} is not done: " in drawn
    if dialect == "phased":
        assert drawn.startswith("<error>✘</error>")


async def test_an_abort_ends_the_check_and_changes_nothing(tmp_path: Path) -> None:
    checked = Checked(tmp_path, WAITS, DONE)
    await checked.start()
    turn = asyncio.create_task(checked.stage.says("go"))
    pid = await checked.until_up()

    checked.stage.host.request_abort("the person pressed Escape")
    await asyncio.wait_for(turn, SECONDS)

    assert not runs(pid)
    assert (checked.task.status, checked.task.proof) == (Status.PENDING, None)
