"""What the answers "always" and "all commands of the plan" cover."""

from pathlib import Path

import pytest

from tests.host.tools.tool_bench import AnsweringUI, ToolBench
from tests.plans import plan_of
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.run.extension import PermissionAnswer, PermissionRequest, answer_labels
from tildone.run.tools.permissions import PermissionPolicy, plan_commands
from tildone.run.tools.result_view import ToolFailure

ALWAYS, NO, PLAN = PermissionAnswer.ALWAYS, PermissionAnswer.NO, PermissionAnswer.PLAN


COVERS = {
    "git status": "git status *",
    "git diff --stat": "git diff *",
    "git": "git",
    "git push --receive-pack=x y": "exactly this command",
    "git -c alias.x='!id' x": "exactly this command",
    "git x": "exactly this command",
    "find . -name x": "find *",
    "find . -exec rm {} +": "exactly this command",
    "npm run build": "exactly this command",
    "make all": "exactly this command",
    "python -c 1": "exactly this command",
    "python x.py": "python *",
    "sed -n 1p x": "sed *",
    "sed -i s/a/b/ x": "exactly this command",
    "echo $HOME": "exactly this command",
    "'my program' x": "'my program' *",
    "pwd": "pwd",
    "cd src && pytest -q | tail -3": "cd *, pytest *, tail *",
    "echo hi > out.txt": "> out.txt, echo *",
    "rm -rf build": "exactly this command",
    "cd src && rm -rf build": "exactly this command",
    "/bin/rm x": "exactly this command",
    "sudo ls /": "exactly this command",
    "X=1 make all": "exactly this command",
    "./*.sh a": "exactly this command",
    "echo hi > *": "exactly this command",
    "*": "exactly this command",
    "bash": "exactly this command",
    "for x in 1; do echo $x; done": "exactly this command",
}


async def test_the_question_names_what_always_covers(folder: Path) -> None:
    covered = {}
    for line in COVERS:
        person = AnsweringUI(NO)
        with pytest.raises(ToolFailure):
            await ToolBench(folder, PermissionPolicy(), person).bash(line)
        covered[line] = person.requests[0].always

    assert covered == COVERS


async def test_always_covers_the_pattern_and_nothing_else(folder: Path) -> None:
    person = AnsweringUI(ALWAYS, NO, NO)
    bench = ToolBench(folder, PermissionPolicy(), person)

    await bench.bash("echo one")
    await bench.bash("echo two")
    for line in ("echo three > file", "printf x"):
        with pytest.raises(ToolFailure):
            await bench.bash(line)

    assert [request.always for request in person.requests] == ["echo *", "> file", "printf *"]


async def test_the_commands_of_the_plan_can_be_allowed_at_once(folder: Path) -> None:
    """The plan at the time of the answer counts; each command is covered as it stands."""
    plans = [plan_of("Say it: `echo one`", "And `echo two; echo 2`")]
    person = AnsweringUI(PLAN, NO, NO)
    bench = ToolBench(folder, PermissionPolicy(), person, lambda _: plans[-1])

    await bench.bash("echo one")
    await bench.bash("echo two; echo 2")
    plans.append(plan_of("`echo one`", "`echo three`"))
    for line in ("echo two", "echo three"):
        with pytest.raises(ToolFailure):
            await bench.bash(line)

    assert [request.plan for request in person.requests] == [
        ("echo one", "echo two; echo 2"),
        (),
        ("echo one", "echo three"),
    ]


async def test_a_plan_with_one_command_offers_nothing_more(folder: Path) -> None:
    person = AnsweringUI(NO)

    with pytest.raises(ToolFailure):
        await ToolBench(folder, PermissionPolicy(), person, lambda _: plan_of("`ls`")).bash("ls")

    assert person.requests[0].plan == ()


def test_the_commands_of_a_plan_are_those_of_its_open_tasks() -> None:
    tasks = (
        Task("Run `ls -l` and ``echo `date` ``", notes=("Why not", "$ make\n$ make test")),
        Task("Again `ls -l`, ` `, ` pwd `"),
        Task("Done `rm x`", Status.COMPLETED),
        Task("No command"),
    )

    assert plan_commands(Plan((Phase("", tasks),))) == ("ls -l", "echo `date`", "make", "make test", "pwd")


def test_labels_say_what_each_answer_covers() -> None:
    request = PermissionRequest("Run this command?", ("ls",), always="ls *", plan=("ls", "pwd"))

    assert list(answer_labels(request)) == [
        "Allow once",
        "Always allow in this conversation: ls *",
        "Allow 2 commands of the plan: ls; pwd",
        "Deny",
    ]
