"""Permissions of the tools: what is allowed, how the person is asked, what "always" covers, the diff of a change."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.host.tools.tool_bench import ANY_COMMAND, COMMANDS, AnsweringUI, ToolBench
from tests.plans import plan_of
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest, answer_labels
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.tools.files import MAX_DIFF_LINES, matches_path
from tildone.run.tools.permissions import PermissionPolicy, plan_commands

BEYOND = "../outside.txt"
ALWAYS, NO, ONCE, PLAN = PermissionAnswer.ALWAYS, PermissionAnswer.NO, PermissionAnswer.ONCE, PermissionAnswer.PLAN

FILE_TOOLS: dict[str, dict[str, Any]] = {
    "read": {},
    "write": {"content": "mine"},
    "edit": {"old_text": "secret", "new_text": "mine"},
}


def bench_with(folder: Path, *answers: PermissionAnswer | PermissionReply | None) -> tuple[ToolBench, AnsweringUI]:
    person = AnsweringUI(*answers)
    return ToolBench(folder, PermissionPolicy(), person), person


def outside(folder: Path) -> Path:
    return folder.parent / "outside.txt"


@pytest.mark.parametrize("tool", FILE_TOOLS)
async def test_a_file_outside_and_a_link_that_leads_there_are_refused(bench: ToolBench, tool: str) -> None:
    """The link may be the file or a folder of its path."""
    (bench.folder / "link").symlink_to(outside(bench.folder))
    (bench.folder / "up").symlink_to("..")

    said = {
        path: await bench.refusal(tool, path=path, **FILE_TOOLS[tool]) for path in (BEYOND, "link", "up/outside.txt")
    }

    assert "outside the working directory\nStart with --outside to allow it" in said.pop(BEYOND)
    for path, words in said.items():
        assert re.search(f"{path}, which leads to .*outside.txt, is outside the working directory", words)
    assert outside(bench.folder).read_text(encoding="utf-8") == "secret\n"


@pytest.mark.parametrize("path", ["~/x", "/etc/passwd", "a/../../outside.txt", "up/new/file.txt", "../beside/x"])
async def test_paths_that_lead_outside_are_refused(folder: Path, path: str) -> None:
    """A folder whose name begins with that of the working directory is outside, too."""
    folder = folder / "work"
    folder.mkdir()
    (folder / "up").symlink_to("..")
    path = path.replace("beside", f"{folder.name}2")

    assert "outside the working directory" in await ToolBench(folder).refusal("read", path=path)
    if not path.startswith(("~", "/")):
        assert "outside the working directory" in await ToolBench(folder).refusal("write", path=path, content="x")
    assert os.listdir(folder.parent) == ["work"]


async def test_an_invalid_path_is_an_error(bench: ToolBench) -> None:
    for path, said in (("", "empty"), (" ", "empty"), ("a\0b", "no path"), ("\ud800", "no path")):
        assert said in await bench.refusal("read", path=path)


async def test_a_policy_can_allow_files_outside(folder: Path) -> None:
    bench = ToolBench(folder, PermissionPolicy(outside=True, allow_write=(str(outside(folder)),)))

    await bench.call("edit", path=BEYOND, old_text="secret", new_text="mine")

    assert await bench.read(str(outside(folder))) == "mine\n"


async def test_links_that_stay_inside_are_followed(bench: ToolBench) -> None:
    """The working directory itself may be a link."""
    (bench.folder / "real.txt").write_text("here\n", encoding="utf-8")
    (bench.folder / "link").symlink_to("real.txt")
    way = bench.folder.parent / "way"
    way.symlink_to(bench.folder)

    assert await ToolBench(way).read("link") == "here\n"


async def test_a_person_is_asked_for_a_file_outside(folder: Path) -> None:
    """Reading and writing are separate permissions, and an answer may be for one call only."""
    bench, person = bench_with(folder, ONCE, ALWAYS, NO)

    assert [await bench.read(BEYOND) for _ in range(3)] == ["secret\n"] * 3
    assert "Denied by the person" in await bench.refusal("write", path=BEYOND, content="x")

    asked = outside(folder).resolve()
    reading, writing = (f"{touch} {asked}, which is outside the working directory?" for touch in ("Read", "Change"))
    assert person.questions == [reading, reading, writing]


async def test_without_a_person_a_command_needs_a_pattern(folder: Path) -> None:
    """A line that cannot be split needs the one that allows every line."""
    bench = ToolBench(folder, PermissionPolicy(allow=("echo *", "true")))

    loop = await bench.refusal("bash", command="for x in 1; do echo $x; done")

    assert (await bench.bash("echo one && echo two; true")).text == "one\ntwo"
    assert await bench.refusal("bash", command="echo one; touch 'a b'; touch c > d") == (
        "Not allowed: touch 'a b'; > d; touch c\n"
        "Start with --allow 'touch *' --allow '> d' to allow it, or with --allow '*' for every command."
    )
    assert "not made of simple commands alone, so only --allow '*'" in loop
    assert os.listdir(folder) == []


async def test_a_person_allows_a_command_once_or_for_the_session(folder: Path) -> None:
    bench, person = bench_with(folder, ONCE, ALWAYS, None)

    for _ in range(3):
        assert (await bench.bash("echo hi")).text == "hi"
    assert (await bench.bash("echo one && echo two")).text == "one\ntwo"
    bench.switch_conversation("another session", person)
    said = await bench.refusal("bash", command="echo hi")

    assert said == "Denied by the person who was asked: echo hi"
    assert person.questions == ["Run this command?\necho hi"] * 3
    assert {request.always for request in person.requests} == {"echo *"}


async def test_a_permission_for_a_line_does_not_cover_its_parts(folder: Path) -> None:
    """A permission to remove a folder in one place does not allow it elsewhere."""
    bench, person = bench_with(folder, ALWAYS, NO)
    line = "mkdir -p a/b && cd a && rmdir b"

    await bench.bash(line)
    await bench.bash(line)
    await bench.refusal("bash", command="rmdir b")

    assert len(person.questions) == 2


async def test_control_characters_in_a_question_are_visible(folder: Path) -> None:
    bench, person = bench_with(folder, NO)

    await bench.refusal("bash", command="rm -rf x\r\x1b[2K\u202eecho hi")

    assert person.questions == ["Run this command?\nrm -rf x⏎␛[2K<U+202E>echo hi"]


async def test_an_answer_for_the_session_also_answers_the_same_question(folder: Path) -> None:
    """Concurrent calls ask one after another."""
    bench, person = bench_with(folder, ALWAYS)

    results = await asyncio.gather(*(bench.bash("echo hi") for _ in range(3)))

    assert [result.text for result in results] == ["hi"] * 3
    assert len(person.questions) == 1


async def test_an_abort_ends_an_open_question(folder: Path) -> None:
    """The next question can be asked."""
    (bench, person), turn = bench_with(folder), AbortController()
    waiting = asyncio.create_task(bench.bash("echo hi", signal=turn.signal))
    await person.asked.wait()

    turn.abort()

    with pytest.raises(Aborted):
        await waiting
    person.answers = [ONCE]
    assert (await bench.bash("echo hi")).text == "hi"


async def test_an_aborted_call_does_nothing(folder: Path) -> None:
    turn = AbortController()
    turn.abort()

    with pytest.raises(Aborted):
        await ToolBench(folder, ANY_COMMAND).bash("touch made", signal=turn.signal)

    assert os.listdir(folder) == []


async def test_the_function_that_asks_can_be_replaced(folder: Path) -> None:
    """A policy may ask in its own way, or never."""

    async def yes(_ctx: Any, _request: PermissionRequest) -> PermissionReply:
        return PermissionReply(ONCE)

    silent = ToolBench(folder, PermissionPolicy(ask=None), AnsweringUI(ONCE))

    assert (await ToolBench(folder, PermissionPolicy(ask=yes)).bash("echo hi")).text == "hi"
    assert "Not allowed" in await silent.refusal("bash", command="echo hi")


COVERS = {
    "git status": "git status *",
    "git diff --stat": "git diff *",
    "git": "git",
    "find . -name x": "find *",
    "python x.py": "python *",
    "sed -n 1p x": "sed *",
    "'my program' x": "'my program' *",
    "pwd": "pwd",
    "cd src && pytest -q | tail -3": "cd *, pytest *, tail *",
    "echo hi > out.txt": "> out.txt, echo *",
    **dict.fromkeys(COMMANDS["exact"], "exactly this command"),
}


async def test_the_question_names_what_always_covers(folder: Path) -> None:
    covered = {}
    for line in COVERS:
        bench, person = bench_with(folder, NO)
        await bench.refusal("bash", command=line)
        covered[line] = person.requests[0].always

    assert covered == COVERS


async def test_always_covers_the_pattern_and_nothing_else(folder: Path) -> None:
    bench, person = bench_with(folder, ALWAYS, NO, NO)

    await bench.bash("echo one")
    await bench.bash("echo two")
    for line in ("echo three > file", "printf x"):
        await bench.refusal("bash", command=line)

    assert [request.always for request in person.requests] == ["echo *", "> file", "printf *"]


async def test_the_commands_of_the_plan_can_be_allowed_at_once(folder: Path) -> None:
    """The plan at the time of the answer counts; each command is covered as it stands. One command is not offered."""
    plans = [plan_of("Say it: `echo one`", "And `echo two; echo 2`")]
    person = AnsweringUI(PLAN, NO, NO, NO)
    bench = ToolBench(folder, PermissionPolicy(), person, lambda _: plans[-1])

    await bench.bash("echo one")
    await bench.bash("echo two; echo 2")
    plans.append(plan_of("`echo one`", "`echo three`"))
    for line in ("echo two", "echo three"):
        await bench.refusal("bash", command=line)
    plans.append(plan_of("`ls`"))
    await bench.refusal("bash", command="ls")

    offered = [("echo one", "echo two; echo 2"), (), ("echo one", "echo three"), ()]
    assert [request.plan for request in person.requests] == offered


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


@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_without_a_person_a_change_needs_a_pattern(folder: Path, tool: str) -> None:
    (folder / "a b.txt").write_text("secret\n", encoding="utf-8")
    change = {"path": "a b.txt", **FILE_TOOLS[tool]}

    assert await ToolBench(folder, PermissionPolicy(allow=("*",))).refusal(tool, **change) == (
        "Not allowed: changing a b.txt\n"
        "Start with --allow-write 'a b.txt' to allow it, "
        "or with --allow-write '*' for every file in the working directory."
    )
    assert (folder / "a b.txt").read_text(encoding="utf-8") == "secret\n"
    await ToolBench(folder, PermissionPolicy(allow_write=("a b.txt",))).call(tool, **change)
    assert (folder / "a b.txt").read_text(encoding="utf-8").strip() == "mine"


async def test_a_person_sees_the_diff_of_an_edit(folder: Path) -> None:
    bench, person = bench_with(folder, ONCE)
    (folder / "a.py").write_text("one\ntwo\nthree\n", encoding="utf-8")

    await bench.call("edit", path="a.py", old_text="two", new_text="2\n\t2½\x1b")

    assert person.requests == [
        PermissionRequest(
            "Change a.py?  +2 −1",
            ("@@ -1,3 +1,4 @@", " one", "-two", "+2", "+    2½␛", " three"),
            always="every file in this folder and below",
            is_diff=True,
        )
    ]


async def test_a_person_sees_the_diff_of_a_file_that_is_replaced(folder: Path) -> None:
    bench, person = bench_with(folder, ONCE, ONCE, ONCE, ONCE)
    (folder / "a.txt").write_bytes(b"".join(b"line %d\r\n" % number for number in range(20)))
    after = "".join(f"line {number}\r\n" for number in range(20) if number != 15).replace("line 3", "drei")

    await bench.call("write", path="a.txt", content=after)
    await bench.call("write", path="a.txt", content=after)
    await bench.call("write", path="new.txt", content="x\n")
    await bench.call("write", path="empty.txt", content="")

    assert person.questions[0] == (
        "Change a.txt?  +1 −2\n@@ -1,7 +1,7 @@\n line 0\n line 1\n line 2\n-line 3\n+drei\n line 4\n line 5\n line 6\n"
        "@@ -13,7 +13,6 @@\n line 12\n line 13\n line 14\n-line 15\n line 16\n line 17\n line 18"
    )
    assert person.questions[1:] == [
        "Change a.txt?\nNothing changes",
        "Create new.txt?  +1 −0\n@@ -0,0 +1 @@\n+x",
        "Create empty.txt?\nAn empty file",
    ]


async def test_a_binary_file_and_a_long_diff_say_what_is_not_shown(folder: Path) -> None:
    bench, person = bench_with(folder, ONCE, ONCE)
    (folder / "b.bin").write_bytes(b"\0\1\2")

    await bench.call("write", path="b.bin", content="text")
    await bench.call("write", path="long.txt", content="x\n" * (MAX_DIFF_LINES + 9))

    assert person.questions[0] == "Change b.bin?\nA binary file: 3 B before, 4 B after"
    assert person.requests[1].details[-1] == "… 10 more lines that cannot be shown here"


async def test_always_covers_every_file_below_except_git(folder: Path) -> None:
    bench, person = bench_with(folder, ALWAYS, NO)
    (folder / ".git").mkdir()

    for path in ("a/b.txt", "c.txt"):
        await bench.call("write", path=path, content="x")
    await bench.refusal("write", path=".git/config", content="x")

    covered = ["every file in this folder and below", "exactly this file"]
    assert [request.always for request in person.requests] == covered


async def test_always_covers_one_file_outside(folder: Path) -> None:
    person = AnsweringUI(ALWAYS, NO)
    bench = ToolBench(folder, PermissionPolicy(outside=True), person)

    for text in "xy":
        await bench.call("write", path=BEYOND, content=text)
    said = await bench.refusal("write", path="../other.txt", content="x")

    assert re.search(r"changing .*other\.txt", said)
    assert len(person.requests) == 2


async def test_a_no_with_a_reason_is_told_to_the_model(folder: Path) -> None:
    bench, _ = bench_with(folder, PermissionReply(NO, "Use tabs"))

    said = await bench.refusal("write", path="a", content="x")

    assert said == "Denied by the person who was asked: changing a\nTheir reason: Use tabs"
    assert not (folder / "a").exists()


@pytest.mark.parametrize("before", ["old", None])
async def test_what_is_written_is_what_was_shown(folder: Path, before: str | None) -> None:
    if before is not None:
        (folder / "a").write_text(before, encoding="utf-8")

    async def change_it(*_: object) -> PermissionReply:
        (folder / "a").write_text("theirs", encoding="utf-8")
        return PermissionReply(ONCE)

    said = await ToolBench(folder, PermissionPolicy(ask=change_it)).refusal("write", path="a", content="mine")

    assert "a has changed in the meantime; read it again" in said
    assert (folder / "a").read_text(encoding="utf-8") == "theirs"


MATCHED = {
    **dict.fromkeys([("a.py", "*"), ("src/deep/a.py", "*"), (".git/hooks/x", ".git/*"), (".github/x", "*")], True),
    **{("src/deep/a.py", pattern): True for pattern in ("src", "./src/", "src/*", "*.py")},
    ("../b.txt", "/*"): True,
    ("srcs/a.py", "src"): False,
    ("a.txt", "*.py"): False,
    **{(path, "*"): False for path in ("../b.txt", ".git/hooks/x", "sub/.git/config")},
}


def test_patterns_match_paths(folder: Path) -> None:
    def matches(path: str, pattern: str) -> bool:
        return matches_path(str((folder / path).resolve()), str(folder), pattern)

    assert {case: matches(*case) for case in MATCHED} == MATCHED
