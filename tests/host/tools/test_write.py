"""The `write` tool: replaces a file completely or not at all."""

import os
import stat

import pytest

from tests.host.tools.tool_bench import ToolBench
from tildone.run.tools.result_view import ToolFailure


async def test_a_file_is_created_with_its_folders(bench: ToolBench) -> None:
    result = await bench.call("write", path="näw/deep ✓/a.txt", content="one\r\ntwo ✓")

    assert (bench.folder / "näw/deep ✓/a.txt").read_bytes() == "one\r\ntwo ✓".encode()
    assert result.text == "Created näw/deep ✓/a.txt: 2 lines, 12 B"
    assert result.details == {"summary": "Created: 2 lines, 12 B", "lines": 2, "bytes": 12}


async def test_a_file_is_replaced_and_keeps_its_mode(bench: ToolBench) -> None:
    script = bench.folder / "run.sh"
    script.write_text("old", encoding="utf-8")
    script.chmod(0o751)

    result = await bench.call("write", path="run.sh", content="new\n")

    assert result.text == "Replaced run.sh: 1 line, 4 B"
    assert script.read_text(encoding="utf-8") == "new\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751


async def test_a_new_file_has_the_default_mode(bench: ToolBench) -> None:
    """The umask applies, unlike for temporary files."""
    (bench.folder / "other").touch()

    await bench.call("write", path="mine", content="")

    assert (bench.folder / "mine").stat().st_mode == (bench.folder / "other").stat().st_mode


async def test_a_link_stays_a_link(bench: ToolBench) -> None:
    (bench.folder / "real").write_text("old", encoding="utf-8")
    (bench.folder / "link").symlink_to("real")

    await bench.call("write", path="link", content="new")

    assert (bench.folder / "link").is_symlink()
    assert (bench.folder / "real").read_text(encoding="utf-8") == "new"


async def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.folder / "a").write_text("old", encoding="utf-8")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(ToolFailure, match=r"^a: No space left on device$"):
        await bench.call("write", path="a", content="new")
    assert os.listdir(bench.folder) == ["a"]
    assert (bench.folder / "a").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("path", "said"),
    [("folder", "folder is not a regular file"), ("file/x", "file/x: (Not a directory|File exists)")],
)
async def test_a_path_that_cannot_be_a_file_is_refused(bench: ToolBench, path: str, said: str) -> None:
    (bench.folder / "folder").mkdir()
    (bench.folder / "file").touch()

    with pytest.raises(ToolFailure, match=said):
        await bench.call("write", path=path, content="x")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
async def test_a_read_only_file_is_not_changed(bench: ToolBench) -> None:
    (bench.folder / "a").touch(mode=0o444)

    with pytest.raises(ToolFailure, match="a is read-only"):
        await bench.call("write", path="a", content="x")


async def test_a_lone_surrogate_is_not_written(bench: ToolBench) -> None:
    """Models sometimes write lone surrogates, which cannot be encoded."""
    with pytest.raises(ToolFailure, match=r"content holds half a character \(U\+D83D\) on line 2"):
        await bench.call("write", path="a", content="ok\nbad \ud83d")

    assert not (bench.folder / "a").exists()
