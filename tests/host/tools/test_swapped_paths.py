"""A path that is swapped for a link between the check and the use does not lead out of the working directory."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.host.tools.tool_bench import AnsweringUI, ToolBench
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.tools.files import read_file, replace_file
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.tools.result_view import ToolFailure

pytestmark = pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="files cannot be opened relative to a folder")

CHANGED = "its links form a circle, or have changed in the meantime"
ROUNDS = 400

RACER = """
import os, shutil, sys
place = sys.argv[1]
folder, link, aside = (os.path.join(place, name) for name in ("folder", "link", "aside"))

def put_back():
    if os.path.islink(folder):
        os.rename(folder, link)
    if os.path.isdir(aside):
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(aside, folder)

print("ready", flush=True)
complete = True
while True:
    try:
        if not complete:
            put_back()
        complete = False
        os.rename(folder, aside); os.rename(link, folder)
        os.rename(folder, link); os.rename(aside, folder)
        complete = True
    except OSError:
        continue  # a write has created the folder while it was missing
"""


class SwappingUI(AnsweringUI):
    """Replaces a folder by a link to another while the person is asked."""

    def __init__(self, folder: Path, target: Path) -> None:
        super().__init__()
        self.folder, self.target = folder, target

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.folder.rename(self.folder.with_name("aside"))
        self.folder.symlink_to(self.target)
        self.answers = [PermissionAnswer.ONCE]
        return await super().ask_permission(request)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def race(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the process that swaps, and wait until it is at work."""
    racer = subprocess.Popen([sys.executable, "-c", RACER, str(folder)], stdout=subprocess.PIPE)
    assert racer.stdout is not None
    racer.stdout.readline()
    return racer


@pytest.fixture
def elsewhere(folder: Path) -> Path:
    """A folder outside, with the same files as `folder` inside."""
    place = folder.parent / "elsewhere"
    for where, text in ((place, "secret"), (folder / "folder", "inside")):
        where.mkdir()
        (where / "file").write_text(text, encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("write", {"path": "folder/file", "content": "mine"}),
        ("write", {"path": "folder/new", "content": "mine"}),
        ("write", {"path": "folder/deep/new", "content": "mine"}),
        ("edit", {"path": "folder/file", "old_text": "inside", "new_text": "mine"}),
    ],
)
async def test_a_folder_that_is_swapped_while_the_person_is_asked(
    folder: Path, elsewhere: Path, tool: str, params: dict[str, Any]
) -> None:
    bench = ToolBench(folder, PermissionPolicy(), SwappingUI(folder / "folder", elsewhere))

    with pytest.raises(ToolFailure, match=CHANGED):
        await bench.call(tool, **params)

    assert contents(elsewhere) == {"file": "secret"}
    assert (folder / "aside/file").read_text(encoding="utf-8") == "inside"


@pytest.mark.parametrize("path", ["link/file", "file-link", "up/link/file"])
def test_a_resolved_path_is_used_without_following_links(folder: Path, elsewhere: Path, path: str) -> None:
    (folder / "up").mkdir()
    (folder / "link").symlink_to(elsewhere)
    (folder / "up/link").symlink_to(elsewhere)
    (folder / "file-link").symlink_to(elsewhere / "file")

    with pytest.raises(ToolFailure, match=f"shown: {CHANGED}"):
        read_file(str(folder.resolve() / path), "shown")
    with pytest.raises(ToolFailure, match=f"shown: {CHANGED}"):
        replace_file(str(folder.resolve() / path), b"mine", "shown")

    assert (elsewhere / "file").read_text(encoding="utf-8") == "secret"


@pytest.mark.usefixtures("elsewhere")
async def test_links_to_targets_inside_are_followed(folder: Path) -> None:
    """The file that the link leads to is replaced, and keeps its mode."""
    (folder / "folder/file").chmod(0o640)
    (folder / "link").symlink_to("folder")
    (folder / "file-link").symlink_to("link/file")
    bench = ToolBench(folder)

    await bench.call("write", path="file-link", content="one\n")
    await bench.call("edit", path="link/file", old_text="one", new_text="two")
    listed = await bench.call("read", path="link")

    assert (await bench.call("read", path="file-link")).text == "two\n"
    assert listed.text == "file\n"
    assert (folder / "file-link").is_symlink()
    assert stat.S_IMODE((folder / "folder/file").stat().st_mode) == 0o640
    assert os.listdir(folder / "folder") == ["file"]


async def test_a_failed_write_leaves_no_draft(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (folder / "file").write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "replace", fail)

    with pytest.raises(ToolFailure, match="file: No space left on device"):
        await ToolBench(folder).call("write", path="file", content="new")

    assert os.listdir(folder) == ["file"]
    assert (folder / "file").read_text(encoding="utf-8") == "old"


@pytest.mark.slow
async def test_nothing_gets_out_while_a_folder_and_a_link_are_swapped(folder: Path, elsewhere: Path) -> None:
    """Another process swaps a folder and a link as fast as it can, during several hundred reads and writes."""
    (folder / "link").symlink_to(elsewhere)
    bench = ToolBench(folder)
    read: set[str] = set()
    with race(folder) as racer:
        try:
            for number in range(ROUNDS):
                calls = (
                    bench.call("read", path="folder/file"),
                    bench.call("read", path="folder"),
                    bench.call("write", path=f"folder/new-{number}", content="mine"),
                    bench.call("write", path="folder/over", content=f"mine {number}"),
                )
                for outcome in await asyncio.gather(*calls, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        assert isinstance(outcome, ToolFailure), outcome
                    else:
                        read.add(outcome.text)
        finally:
            racer.kill()

    assert contents(elsewhere) == {"file": "secret"}
    assert "secret" not in read
    assert "inside" in read
