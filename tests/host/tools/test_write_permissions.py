"""Changing a file is asked for: the person sees the diff, and what is written is what they saw."""

from pathlib import Path
from typing import Any

import pytest

from tests.host.tools.tool_bench import AnsweringUI, ToolBench
from tildone.run.extension import PermissionAnswer, PermissionReply
from tildone.run.tools.files import MAX_DIFF_LINES, matches_path
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.tools.result_view import ToolFailure

ONCE, ALWAYS, NO = PermissionAnswer.ONCE, PermissionAnswer.ALWAYS, PermissionAnswer.NO


def bench_with(folder: Path, *answers: PermissionAnswer | PermissionReply | None) -> tuple[ToolBench, AnsweringUI]:
    person = AnsweringUI(*answers)
    return ToolBench(folder, PermissionPolicy(), person), person


@pytest.mark.parametrize(
    ("tool", "params"),
    [("write", {"content": "mine\n"}), ("edit", {"old_text": "old", "new_text": "mine"})],
)
async def test_without_a_person_a_change_needs_a_pattern(folder: Path, tool: str, params: dict[str, Any]) -> None:
    (folder / "a b.txt").write_text("old\n", encoding="utf-8")

    with pytest.raises(ToolFailure) as denied:
        await ToolBench(folder, PermissionPolicy(allow=("*",))).call(tool, path="a b.txt", **params)

    assert str(denied.value) == (
        "Not allowed: changing a b.txt\n"
        "Start with --allow-write 'a b.txt' to allow it, "
        "or with --allow-write '*' for every file in the working directory."
    )
    assert (folder / "a b.txt").read_text(encoding="utf-8") == "old\n"
    await ToolBench(folder, PermissionPolicy(allow_write=("a b.txt",))).call(tool, path="a b.txt", **params)
    assert (folder / "a b.txt").read_text(encoding="utf-8") == "mine\n"


async def test_a_person_sees_the_diff_of_an_edit(folder: Path) -> None:
    bench, person = bench_with(folder, ONCE)
    (folder / "a.py").write_text("one\ntwo\nthree\n", encoding="utf-8")

    await bench.call("edit", path="a.py", old_text="two", new_text="2\n\t2½\x1b")

    [request] = person.requests
    assert request.question == "Change a.py?  +2 −1"
    assert request.details == ("@@ -1,3 +1,4 @@", " one", "-two", "+2", "+    2½␛", " three")
    assert request.always == "every file in this folder and below"
    assert request.is_diff
    assert not request.plan


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

    await bench.call("write", path="a/b.txt", content="x")
    await bench.call("write", path="c.txt", content="x")
    with pytest.raises(ToolFailure):
        await bench.call("write", path=".git/config", content="x")

    assert [request.always for request in person.requests] == [
        "every file in this folder and below",
        "exactly this file",
    ]


async def test_always_covers_one_file_outside(folder: Path) -> None:
    person = AnsweringUI(ALWAYS, NO)
    bench = ToolBench(folder, PermissionPolicy(outside=True), person)

    await bench.call("write", path="../outside.txt", content="x")
    await bench.call("write", path="../outside.txt", content="y")
    with pytest.raises(ToolFailure, match=r"changing .*other\.txt"):
        await bench.call("write", path="../other.txt", content="x")

    assert len(person.requests) == 2


async def test_a_no_with_a_reason_is_told_to_the_model(folder: Path) -> None:
    bench, _ = bench_with(folder, PermissionReply(NO, "Use tabs"))

    with pytest.raises(ToolFailure) as denied:
        await bench.call("write", path="a", content="x")

    assert str(denied.value) == "Denied by the person who was asked: changing a\nTheir reason: Use tabs"
    assert not (folder / "a").exists()


@pytest.mark.parametrize("before", ["old", None])
async def test_what_is_written_is_what_was_shown(folder: Path, before: str | None) -> None:
    if before is not None:
        (folder / "a").write_text(before, encoding="utf-8")

    async def change_it(*_: object) -> PermissionReply:
        (folder / "a").write_text("theirs", encoding="utf-8")
        return PermissionReply(ONCE)

    with pytest.raises(ToolFailure, match="a has changed in the meantime; read it again"):
        await ToolBench(folder, PermissionPolicy(ask=change_it)).call("write", path="a", content="mine")

    assert (folder / "a").read_text(encoding="utf-8") == "theirs"


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.py", "*", True),
        ("src/deep/a.py", "*", True),
        ("src/deep/a.py", "src", True),
        ("src/deep/a.py", "./src/", True),
        ("src/deep/a.py", "src/*", True),
        ("src/deep/a.py", "*.py", True),
        ("srcs/a.py", "src", False),
        ("a.txt", "*.py", False),
        ("../b.txt", "*", False),
        ("../b.txt", "/*", True),
        (".git/hooks/x", "*", False),
        ("sub/.git/config", "*", False),
        (".git/hooks/x", ".git/*", True),
        (".github/x", "*", True),
    ],
)
def test_patterns_match_paths(folder: Path, path: str, pattern: str, *, fits: bool) -> None:
    assert matches_path(str((folder / path).resolve()), str(folder), pattern) is fits
