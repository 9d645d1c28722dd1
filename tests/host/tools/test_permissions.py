"""Permissions of the tools: what is allowed, how the person is asked, and the error messages."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.host.tools.tool_bench import ANY_COMMAND, AnsweringUI, ToolBench
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.tools.result_view import ToolFailure

BEYOND = "../outside.txt"

each_file_tool = pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("read", {}),
        ("write", {"content": "mine"}),
        ("edit", {"old_text": "secret", "new_text": "mine"}),
    ],
)


def outside(folder: Path) -> Path:
    return folder.parent / "outside.txt"


@each_file_tool
async def test_a_file_outside_is_refused(bench: ToolBench, tool: str, params: dict[str, Any]) -> None:
    with pytest.raises(ToolFailure, match="outside the working directory\nStart with --outside to allow it"):
        await bench.call(tool, path=BEYOND, **params)

    assert outside(bench.folder).read_text(encoding="utf-8") == "secret\n"


@each_file_tool
async def test_a_link_that_leads_outside_is_refused(bench: ToolBench, tool: str, params: dict[str, Any]) -> None:
    """The link may be the file or a folder of its path."""
    (bench.folder / "link").symlink_to(outside(bench.folder))
    (bench.folder / "up").symlink_to("..")

    for path in ("link", "up/outside.txt"):
        with pytest.raises(
            ToolFailure, match=f"{path}, which leads to .*outside.txt, is outside the working directory"
        ):
            await bench.call(tool, path=path, **params)

    assert outside(bench.folder).read_text(encoding="utf-8") == "secret\n"


async def test_no_file_is_created_outside_through_a_link(bench: ToolBench) -> None:
    (bench.folder / "up").symlink_to("..")

    with pytest.raises(ToolFailure):
        await bench.call("write", path="up/new/file.txt", content="x")

    assert not (bench.folder.parent / "new").exists()


async def test_a_folder_with_the_same_name_prefix_is_outside(bench: ToolBench) -> None:
    beside = bench.folder.with_name(bench.folder.name + "2")
    beside.mkdir()

    with pytest.raises(ToolFailure):
        await bench.call("write", path=str(beside / "x"), content="x")


@pytest.mark.parametrize("path", ["~/x", "/etc/passwd", "a/../../outside.txt"])
async def test_paths_that_lead_outside_are_refused(bench: ToolBench, path: str) -> None:
    with pytest.raises(ToolFailure):
        await bench.call("read", path=path)


@pytest.mark.parametrize(("path", "said"), [("", "empty"), (" ", "empty"), ("a\0b", "no path"), ("\ud800", "no path")])
async def test_an_invalid_path_is_an_error(bench: ToolBench, path: str, said: str) -> None:
    with pytest.raises(ToolFailure, match=said):
        await bench.call("read", path=path)


async def test_a_policy_can_allow_files_outside(folder: Path) -> None:
    bench = ToolBench(folder, PermissionPolicy(outside=True, allow_write=(str(outside(folder)),)))

    await bench.call("edit", path=BEYOND, old_text="secret", new_text="mine")

    assert (await bench.call("read", path=str(outside(folder)))).text == "mine\n"


async def test_links_that_stay_inside_are_followed(bench: ToolBench) -> None:
    """The working directory itself may be a link."""
    (bench.folder / "real.txt").write_text("here\n", encoding="utf-8")
    (bench.folder / "link").symlink_to("real.txt")
    way = bench.folder.parent / "way"
    way.symlink_to(bench.folder)

    result = await ToolBench(way).call("read", path="link")

    assert result.text == "here\n"


async def test_a_person_is_asked_for_a_file_outside(folder: Path) -> None:
    """Reading and writing are separate permissions, and an answer may be for one call only."""
    person = AnsweringUI(PermissionAnswer.ONCE, PermissionAnswer.ALWAYS, PermissionAnswer.NO)
    bench = ToolBench(folder, PermissionPolicy(), person)

    first = await bench.call("read", path=BEYOND)
    second = await bench.call("read", path=BEYOND)
    third = await bench.call("read", path=BEYOND)
    with pytest.raises(ToolFailure, match="Denied by the person"):
        await bench.call("write", path=BEYOND, content="x")

    assert first.text == second.text == third.text == "secret\n"
    asked = outside(folder).resolve()
    reading, writing = (f"{touch} {asked}, which is outside the working directory?" for touch in ("Read", "Change"))
    assert person.questions == [reading, reading, writing]


async def test_without_a_person_a_command_needs_a_pattern(folder: Path) -> None:
    bench = ToolBench(folder, PermissionPolicy(allow=("echo *", "true")))

    allowed = await bench.bash("echo one && echo two; true")
    with pytest.raises(ToolFailure) as denied:
        await bench.bash("echo one; touch 'a b'; touch c > d")

    assert allowed.text == "one\ntwo"
    assert str(denied.value) == (
        "Not allowed: touch 'a b'; > d; touch c\n"
        "Start with --allow 'touch *' --allow '> d' to allow it, or with --allow '*' for every command."
    )
    assert os.listdir(folder) == []


async def test_a_line_that_cannot_be_split_names_the_flag_that_allows_it(folder: Path) -> None:
    bench = ToolBench(folder, PermissionPolicy(allow=("echo *",)))

    with pytest.raises(ToolFailure, match=r"not made of simple commands alone, so only --allow '\*'"):
        await bench.bash("for x in 1; do echo $x; done")


async def test_a_person_allows_a_command_once_or_for_the_session(folder: Path) -> None:
    person = AnsweringUI(PermissionAnswer.ONCE, PermissionAnswer.ALWAYS, None)
    bench = ToolBench(folder, PermissionPolicy(), person)

    for _ in range(3):
        assert (await bench.bash("echo hi")).text == "hi"
    assert (await bench.bash("echo one && echo two")).text == "one\ntwo"
    bench.switch_conversation("another session", person)
    with pytest.raises(ToolFailure, match=r"^Denied by the person who was asked: echo hi$"):
        await bench.bash("echo hi")

    assert person.questions == ["Run this command?\necho hi"] * 3
    assert {request.always for request in person.requests} == {"echo *"}


async def test_a_permission_for_a_line_does_not_cover_its_parts(folder: Path) -> None:
    """A permission to remove a folder in one place does not allow it elsewhere."""
    person = AnsweringUI(PermissionAnswer.ALWAYS, PermissionAnswer.NO)
    bench = ToolBench(folder, PermissionPolicy(), person)
    line = "mkdir -p a/b && cd a && rmdir b"

    await bench.bash(line)
    await bench.bash(line)
    with pytest.raises(ToolFailure):
        await bench.bash("rmdir b")

    assert len(person.questions) == 2


async def test_control_characters_in_a_question_are_visible(folder: Path) -> None:
    person = AnsweringUI(PermissionAnswer.NO)
    bench = ToolBench(folder, PermissionPolicy(), person)

    with pytest.raises(ToolFailure):
        await bench.bash("rm -rf x\r\x1b[2K\u202eecho hi")

    assert person.questions == ["Run this command?\nrm -rf x⏎␛[2K<U+202E>echo hi"]


async def test_an_answer_for_the_session_also_answers_the_same_question(folder: Path) -> None:
    """Concurrent calls ask one after another."""
    person = AnsweringUI(PermissionAnswer.ALWAYS)
    bench = ToolBench(folder, PermissionPolicy(), person)

    results = await asyncio.gather(*(bench.bash("echo hi") for _ in range(3)))

    assert [result.text for result in results] == ["hi"] * 3
    assert len(person.questions) == 1


async def test_an_abort_ends_an_open_question(folder: Path) -> None:
    """The next question can be asked."""
    person = AnsweringUI()
    bench, turn = ToolBench(folder, PermissionPolicy(), person), AbortController()
    waiting = asyncio.create_task(bench.bash("echo hi", signal=turn.signal))
    await person.asked.wait()

    turn.abort()

    with pytest.raises(Aborted):
        await waiting
    person.answers = [PermissionAnswer.ONCE]
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
        return PermissionReply(PermissionAnswer.ONCE)

    assert (await ToolBench(folder, PermissionPolicy(ask=yes)).bash("echo hi")).text == "hi"
    with pytest.raises(ToolFailure, match="Not allowed"):
        await ToolBench(folder, PermissionPolicy(ask=None), AnsweringUI(PermissionAnswer.ONCE)).bash("echo hi")
