"""Checks in the host: its event loop goes on while one runs, and an abort ends it."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.checks.repositories import Runner, make_repository, python
from tests.extensions.stage import Answer, Stage
from tests.suite.waiting import until_async
from tildone.app.settings import Settings
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Append, Numbered, SetCheck
from tildone.run.events import ToolExecutionEnd
from tildone.run.extensions import extension_of
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.definition import markup
from tildone.run.subagents import CallRow
from tildone.stores import parse_address

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


DONE_CALLS = {
    "brief": ("todo", {"done": 1}),
    "indexed": ("edit_todos", {"action": "complete", "indices": [0]}),
    "phased": ("todo_write", {"ops": [{"op": "done", "task": "one"}]}),
    "declared": ("TodoWrite", {"summary": "s", "todos": [{"content": "one", "status": "completed"}]}),
}


@pytest.mark.parametrize(("dialect", "call"), DONE_CALLS.items())
async def test_a_task_that_its_check_kept_open_is_drawn_as_refused(
    tmp_path: Path, dialect: str, call: tuple[str, dict[str, object]]
) -> None:
    """In every dialect, although the model gets no error: it has the sign of one, and the person sees why."""
    name = "1" if dialect == "brief" else "“one”"
    checked = Checked(tmp_path, python("import sys; sys.exit('not made')"), {"call": call}, dialect=dialect)
    await checked.start()
    ended: list[ToolExecutionEnd] = []
    checked.stage.host.listen(lambda event: ended.append(event) if isinstance(event, ToolExecutionEnd) else None)

    await checked.stage.says("go")

    (event,) = ended
    row = CallRow("", call[0], checked.stage.host.tools[call[0]], call[1], cwd=".", invalidate=lambda: None)
    drawn = markup(row.result(event.result, RenderOptions()))
    assert not event.is_error
    assert event.result.failed
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
