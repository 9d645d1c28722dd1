"""The `edit` tool: changes a part of a file and nothing else."""

import asyncio
import stat
from pathlib import Path

import pytest

from tests.host.tools.tool_bench import ToolBench
from tildone.run.tools.result_view import ToolFailure


def put(bench: ToolBench, data: str | bytes, name: str = "a.py") -> Path:
    path = bench.folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


async def test_text_is_replaced_and_the_diff_returned(bench: ToolBench) -> None:
    path = put(bench, "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    path.chmod(0o640)

    result = await bench.call("edit", path="a.py", old_text="five\n", new_text="5\n5½\n")

    assert path.read_text(encoding="utf-8") == "one\ntwo\nthree\nfour\n5\n5½\nsix\nseven\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert result.text == "Edited a.py: 1 place, +2 -1 lines, from line 5 on"
    assert result.details == {
        "summary": "1 place, +2 -1",
        "diff": "--- a.py\n+++ a.py\n@@ -2,6 +2,7 @@\n two\n three\n four\n-five\n+5\n+5½\n six\n seven",
        "firstChangedLine": 5,
        "added": 2,
        "removed": 1,
    }


async def test_missing_text_is_an_error_that_names_the_most_similar_line(bench: ToolBench) -> None:
    path = put(bench, "import os\n\ndef greet(name):\n    return name\n")

    with pytest.raises(ToolFailure, match=r"^old_text is not in a\.py\. Most like it is line 3: def greet\(name\):$"):
        await bench.call("edit", path="a.py", old_text="def great(name):\n    pass", new_text="")
    with pytest.raises(ToolFailure, match="Only its white space differs from what begins on line 3"):
        await bench.call("edit", path="a.py", old_text="  def greet(name):\n\treturn name", new_text="")
    with pytest.raises(ToolFailure, match="Read the file"):
        await bench.call("edit", path="a.py", old_text="@@@@", new_text="")

    assert path.read_text(encoding="utf-8").count("greet") == 1


async def test_ambiguous_text_is_not_replaced(bench: ToolBench) -> None:
    path = put(bench, "x = 1\ny = 2\nx = 1\n" + "x = 1\n" * 10)

    with pytest.raises(ToolFailure) as failed:
        await bench.call("edit", path="a.py", old_text="x = 1", new_text="x = 2")

    assert str(failed.value) == (
        "old_text stands 12 times in a.py, on lines 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, …. "
        "Give more of the text around the one you mean, or set all to true."
    )
    assert "x = 2" not in path.read_text(encoding="utf-8")


async def test_all_matches_can_be_replaced(bench: ToolBench) -> None:
    path = put(bench, "x = 1\ny = 2\nx = 1")

    result = await bench.call("edit", path="a.py", old_text="x = 1", new_text="x = 3", all=True)

    assert path.read_text(encoding="utf-8") == "x = 3\ny = 2\nx = 3"
    assert result.details["summary"] == "2 places, +2 -2"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb\n", "1\n2\n3\n", "1\r\n2\r\n3\r\nc\r\n"),
        ("a\r\nb\r\n", "a", "1\n2", "1\r\n2\r\nb\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "1\r\n2", "1\r\n2\r\n"),
        ("a\nb\n", "a\r\nb", "1\r\n2", "1\n2\n"),
        ("a\r\nb\nc\nd\n", "a\nb", "1\n2", "1\r\n2\nc\nd\n"),
        ("a\r\nb\nc\nd\n", "c", "1\n2", "a\r\nb\n1\n2\nd\n"),
        ("one line", "one", "1\r\n2", "1\r\n2 line"),
        ("a\r\n", "\n", "", "a"),
    ],
)
async def test_new_text_adopts_the_line_ends_around_it(
    bench: ToolBench, before: str, old: str, new: str, after: str
) -> None:
    """Models write line feeds even for files with CRLF."""
    path = put(bench, before)

    await bench.call("edit", path="a.py", old_text=old, new_text=new)

    assert path.read_bytes() == after.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfold\n", b"\xef\xbb\xbfnew\n"),
        ("old ✓\n".encode("utf-16"), "new ✓\n".encode("utf-16")),
        (b"caf\xe9 old \xff\xfe\n", b"caf\xe9 new \xff\xfe\n"),
    ],
)
async def test_the_encoding_of_the_file_is_preserved(bench: ToolBench, before: bytes, after: bytes) -> None:
    """This includes undecodable bytes."""
    path = put(bench, before)

    result = await bench.call("edit", path="a.py", old_text="old", new_text="new")

    assert path.read_bytes() == after
    assert result.details["diff"].encode()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "x", "old_text is empty"),
        ("one", "one", "the same"),
        ("one\n", "one\r\n", "the same"),
        ("one", "\udc41", "half a character"),
    ],
)
async def test_an_invalid_edit_is_refused(bench: ToolBench, old: str, new: str, said: str) -> None:
    path = put(bench, "one\ntwo\n")

    with pytest.raises(ToolFailure, match=said):
        await bench.call("edit", path="a.py", old_text=old, new_text=new)

    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, r"a\.py does not exist; to make a file, use write"),
        (b"one\0", r"a\.py is a binary file"),
        (b"\xff\xfeo", r"a\.py is not the UTF-16-LE that its first bytes say it is"),
    ],
)
async def test_a_file_that_cannot_be_edited_is_an_error(bench: ToolBench, data: bytes | None, said: str) -> None:
    if data is not None:
        put(bench, data)

    with pytest.raises(ToolFailure, match=said):
        await bench.call("edit", path="a.py", old_text="one", new_text="two")


async def test_old_text_is_not_a_pattern(bench: ToolBench) -> None:
    path = put(bench, "a.b axb (c)\\1")

    await bench.call("edit", path="a.py", old_text="a.b", new_text="\\1\\g<0>")

    assert path.read_text(encoding="utf-8") == "\\1\\g<0> axb (c)\\1"


async def test_concurrent_edits_are_all_applied(bench: ToolBench) -> None:
    """Each reads, changes and writes the file before the next one reads it."""
    names = [f"<{number}>" for number in range(40)]
    path = put(bench, "\n".join(names))
    (bench.folder / "link.py").symlink_to("a.py")

    await asyncio.gather(
        *(
            bench.call("edit", path=("a.py", "./link.py")[number % 2], old_text=name, new_text=f"[{number}]")
            for number, name in enumerate(names)
        )
    )

    assert path.read_text(encoding="utf-8") == "\n".join(f"[{number}]" for number in range(40))


async def test_an_edit_in_a_large_file_is_fast(bench: ToolBench) -> None:
    """Every other line changes; comparing all lines would take minutes."""
    put(bench, "old\nsame\n" * 50_000)

    result = await bench.call("edit", path="a.py", old_text="old", new_text="new", all=True)

    assert result.details["summary"] == "50,000 places, +50000 -50000"
    assert len(result.details["diff"]) <= 50_000
