"""What the tools may touch, who is asked, and what is said when the answer is no."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.host.tools.desk import ANY_COMMAND, Desk, Person
from tildone.host.tools.permissions import PermissionAnswer, PermissionDenied, PermissionPolicy
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.signal import AbortController, Aborted

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
async def test_a_file_outside_is_refused(desk: Desk, tool: str, params: dict[str, Any]) -> None:
    with pytest.raises(PermissionDenied, match="outside the working directory\nStart with --outside to allow it"):
        await desk.call(tool, path=BEYOND, **params)

    assert outside(desk.folder).read_text(encoding="utf-8") == "secret\n"


@each_file_tool
async def test_a_link_that_leads_outside_is_refused(desk: Desk, tool: str, params: dict[str, Any]) -> None:
    """Of a file, and of a folder on the way to one."""
    (desk.folder / "link").symlink_to(outside(desk.folder))
    (desk.folder / "up").symlink_to("..")

    for path in ("link", "up/outside.txt"):
        with pytest.raises(
            PermissionDenied, match=f"{path}, which leads to .*outside.txt, is outside the working directory"
        ):
            await desk.call(tool, path=path, **params)

    assert outside(desk.folder).read_text(encoding="utf-8") == "secret\n"


async def test_nothing_is_made_outside_through_a_link(desk: Desk) -> None:
    (desk.folder / "up").symlink_to("..")

    with pytest.raises(PermissionDenied):
        await desk.call("write", path="up/new/file.txt", content="x")

    assert not (desk.folder.parent / "new").exists()


async def test_a_folder_whose_name_only_begins_alike_is_outside(desk: Desk) -> None:
    beside = desk.folder.with_name(desk.folder.name + "2")
    beside.mkdir()

    with pytest.raises(PermissionDenied):
        await desk.call("write", path=str(beside / "x"), content="x")


@pytest.mark.parametrize("path", ["~/x", "/etc/passwd", "a/../../outside.txt"])
async def test_there_are_many_ways_outside(desk: Desk, path: str) -> None:
    with pytest.raises(PermissionDenied):
        await desk.call("read", path=path)


@pytest.mark.parametrize(("path", "said"), [("", "empty"), (" ", "empty"), ("a\0b", "no path"), ("\ud800", "no path")])
async def test_what_is_no_path_is_said_to_be_none(desk: Desk, path: str, said: str) -> None:
    with pytest.raises(ToolFailure, match=said):
        await desk.call("read", path=path)


async def test_a_policy_can_let_files_outside_be_touched(folder: Path) -> None:
    desk = Desk(folder, PermissionPolicy(outside=True))

    await desk.call("edit", path=BEYOND, old_text="secret", new_text="mine")

    assert (await desk.call("read", path=str(outside(folder)))).text == "mine\n"


async def test_links_that_stay_inside_are_followed(desk: Desk) -> None:
    """Also when the working directory is itself reached by a link."""
    (desk.folder / "real.txt").write_text("here\n", encoding="utf-8")
    (desk.folder / "link").symlink_to("real.txt")
    way = desk.folder.parent / "way"
    way.symlink_to(desk.folder)

    result = await Desk(way).call("read", path="link")

    assert result.text == "here\n"


async def test_a_person_is_asked_for_a_file_outside(folder: Path) -> None:
    """To read it is not to write it, and once is once."""
    person = Person(PermissionAnswer.ONCE, PermissionAnswer.SESSION, PermissionAnswer.NO)
    desk = Desk(folder, PermissionPolicy(), person)

    first = await desk.call("read", path=BEYOND)
    second = await desk.call("read", path=BEYOND)
    third = await desk.call("read", path=BEYOND)
    with pytest.raises(PermissionDenied, match="Denied by the person"):
        await desk.call("write", path=BEYOND, content="x")

    assert first.text == second.text == third.text == "secret\n"
    asked = outside(folder).resolve()
    reading, writing = (f"{touch} {asked}, which is outside the working directory?" for touch in ("Read", "Write"))
    assert person.questions == [reading, reading, writing]


async def test_without_a_person_a_command_needs_a_pattern(folder: Path) -> None:
    desk = Desk(folder, PermissionPolicy(allow=("echo *", "true")))

    allowed = await desk.bash("echo one && echo two; true")
    with pytest.raises(PermissionDenied) as denied:
        await desk.bash("echo one; touch 'a b'; touch c > d")

    assert allowed.text == "one\ntwo"
    assert str(denied.value) == (
        "Not allowed: touch 'a b'; > d; touch c\n"
        "Start with --allow 'touch *' --allow '> d' to allow it, or with --allow bash for every command."
    )
    assert os.listdir(folder) == []


async def test_a_line_that_cannot_be_taken_apart_says_what_allows_it(folder: Path) -> None:
    desk = Desk(folder, PermissionPolicy(allow=("echo *",)))

    with pytest.raises(PermissionDenied, match="not made of simple commands alone, so only --allow bash"):
        await desk.bash("for x in 1; do echo $x; done")


async def test_a_person_allows_a_command_once_or_for_the_session(folder: Path) -> None:
    person = Person(PermissionAnswer.ONCE, PermissionAnswer.SESSION, None)
    desk = Desk(folder, PermissionPolicy(), person)

    for _ in range(3):
        assert (await desk.bash("echo hi")).text == "hi"
    assert (await desk.bash("echo hi && echo hi")).text == "hi\nhi"
    desk.sit("another session", person)
    with pytest.raises(PermissionDenied, match="--allow 'echo \\*'"):
        await desk.bash("echo hi")

    assert person.questions == ["Run this command?\necho hi"] * 3


async def test_what_was_allowed_together_is_not_allowed_apart(folder: Path) -> None:
    """Removing a folder here is not removing it there."""
    person = Person(PermissionAnswer.SESSION, PermissionAnswer.NO)
    desk = Desk(folder, PermissionPolicy(), person)
    line = "mkdir -p a/b && cd a && rmdir b"

    await desk.bash(line)
    await desk.bash(line)
    with pytest.raises(PermissionDenied):
        await desk.bash("rmdir b")

    assert len(person.questions) == 2


async def test_a_person_sees_what_a_command_would_hide(folder: Path) -> None:
    person = Person(PermissionAnswer.NO)
    desk = Desk(folder, PermissionPolicy(), person)

    with pytest.raises(PermissionDenied):
        await desk.bash("rm -rf x\r\x1b[2K\u202eecho hi")

    assert person.questions == ["Run this command?\nrm -rf x⏎␛[2K<U+202E>echo hi"]


async def test_one_answer_for_the_session_spares_the_same_question(folder: Path) -> None:
    """Calls that come together do not ask together."""
    person = Person(PermissionAnswer.SESSION)
    desk = Desk(folder, PermissionPolicy(), person)

    results = await asyncio.gather(*(desk.bash("echo hi") for _ in range(3)))

    assert [result.text for result in results] == ["hi"] * 3
    assert len(person.questions) == 1


async def test_a_question_ends_with_the_turn(folder: Path) -> None:
    """Nobody has to answer what no longer matters, and the next question can be asked."""
    person = Person()
    desk, turn = Desk(folder, PermissionPolicy(), person), AbortController()
    waiting = asyncio.create_task(desk.bash("echo hi", signal=turn.signal))
    await person.asked.wait()

    turn.abort()

    with pytest.raises(Aborted):
        await waiting
    person.answers = [PermissionAnswer.ONCE]
    assert (await desk.bash("echo hi")).text == "hi"


async def test_a_call_that_is_aborted_already_does_nothing(folder: Path) -> None:
    turn = AbortController()
    turn.abort()

    with pytest.raises(Aborted):
        await Desk(folder, ANY_COMMAND).bash("touch made", signal=turn.signal)

    assert os.listdir(folder) == []


async def test_who_is_asked_can_be_chosen(folder: Path) -> None:
    """A shell may ask in its own way, or never."""

    async def yes(_ctx: Any, _question: str) -> PermissionAnswer:
        return PermissionAnswer.ONCE

    assert (await Desk(folder, PermissionPolicy(ask=yes)).bash("echo hi")).text == "hi"
    with pytest.raises(PermissionDenied, match="Not allowed"):
        await Desk(folder, PermissionPolicy(ask=None), Person(PermissionAnswer.ONCE)).bash("echo hi")
