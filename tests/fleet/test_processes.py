"""Process trees and control groups, as the kernel shows them."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.fleet.agents import is_running, pid_in
from tests.needs import need_control_groups
from tests.suite.waiting import until
from tildone.fleet import process_tree as cgroup
from tildone.fleet import process_tree as processes
from tildone.fleet.process_tree import Cgroup, boot_seconds, descendants


def test_descendants_are_found_with_and_without_the_list_of_children(tmp_path: Path) -> None:
    script = "sh -c 'sleep 3600 & echo $! > leaf; wait' & wait"
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path, start_new_session=True) as root:
        leaf = pid_in(tmp_path / "leaf")

        listed, in_table = list(descendants(root.pid)), list(processes._descendants_in_table(root.pid))  # noqa: SLF001  used on kernels that this machine does not have
        os.killpg(root.pid, 9)

    assert listed == in_table
    assert listed[-1] == leaf
    assert len(listed) == 2


def test_a_process_without_children_has_no_descendants() -> None:
    with subprocess.Popen(["sleep", "3600"]) as process:
        assert list(descendants(process.pid)) == []
        process.kill()


def test_the_clock_is_that_of_the_machine() -> None:
    uptime = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])

    assert uptime - 1 <= boot_seconds() <= uptime + 120


def test_a_control_group_kills_what_is_in_it_and_in_groups_inside_it() -> None:
    need_control_groups()
    group = Cgroup.create()
    assert group is not None
    inner = Path(group.folder, "inner")
    inner.mkdir()
    with subprocess.Popen(["sleep", "3600"]) as process:
        (inner / "cgroup.procs").write_text(str(process.pid), encoding="utf-8")
        assert not group.remove()

        group.freeze(frozen=True)
        group.kill()

        until(lambda: not is_running(process.pid))
    assert until(group.remove)
    assert not inner.exists()


class PretendedKernel:
    """A hierarchy in an ordinary folder, for users who may make no control groups: it makes the files of a group."""

    def __init__(self, above: Path, monkeypatch: pytest.MonkeyPatch, *, without: str = "") -> None:
        self.group = above / "user.slice" / f"tildone-{os.getpid()}"
        self._without, self._mkdir, self._rmdir = without, os.mkdir, os.rmdir
        self.group.parent.mkdir()
        (above / "mounts").write_text(f"tmpfs /tmp tmpfs rw 0 0\nx {above} cgroup2 rw 0 0\n", encoding="utf-8")
        (above / "own").write_text("4:memory:/x\n0::/user.slice\n", encoding="utf-8")
        monkeypatch.setattr(cgroup, "_MOUNTS", str(above / "mounts"))
        monkeypatch.setattr(cgroup, "_OWN", str(above / "own"))
        monkeypatch.setattr(os, "mkdir", self.mkdir)
        monkeypatch.setattr(os, "rmdir", self.rmdir)

    def mkdir(self, path: str) -> None:
        self._mkdir(path)
        for name in {"cgroup.procs", "cgroup.freeze", "cgroup.kill"} - {self._without}:
            Path(path, name).touch()

    def rmdir(self, path: str) -> None:
        """The files of a group go with it. One with processes stays."""
        if Path(path, "busy").exists():
            raise OSError(errno.EBUSY, "a process is in it")
        for file in Path(path).glob("cgroup.*"):
            file.unlink()
        self._rmdir(path)

    def written(self, name: str) -> str:
        return (self.group / name).read_text(encoding="utf-8")


def test_what_is_written_to_the_files_of_a_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = PretendedKernel(tmp_path, monkeypatch)

    group = Cgroup.create()

    assert group is not None
    assert group.folder == str(kernel.group)
    group.enter()
    group.kill()
    group.freeze(frozen=True)
    assert [kernel.written(f"cgroup.{name}") for name in ("procs", "kill", "freeze")] == ["0", "1", "1"]
    group.freeze(frozen=False)
    assert kernel.written("cgroup.freeze") == "0"


def test_a_control_group_is_removed_with_those_inside_it_unless_one_has_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = PretendedKernel(tmp_path, monkeypatch)
    group = Cgroup.create()
    assert group is not None
    kernel.mkdir(str(kernel.group / "inner"))
    busy = kernel.group / "inner" / "busy"
    busy.touch()

    assert not group.remove()
    assert kernel.group.exists()
    busy.unlink()
    assert group.remove()
    assert not kernel.group.exists()


def test_a_control_group_that_was_left_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = PretendedKernel(tmp_path, monkeypatch)
    kernel.mkdir(str(kernel.group))
    kernel.mkdir(str(kernel.group / "inner"))

    assert Cgroup.create() is not None
    assert not (kernel.group / "inner").exists()


@pytest.mark.parametrize("without", ["cgroup.procs", "cgroup.freeze", "cgroup.kill"])
def test_a_kernel_that_cannot_do_all_of_it_leaves_nothing_behind(
    without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = PretendedKernel(tmp_path, monkeypatch, without=without)

    assert Cgroup.create() is None
    assert not kernel.group.exists()


@pytest.mark.parametrize(
    ("mounts", "own"),
    [
        ("tmpfs /tmp tmpfs rw 0 0\n", "0::/\n"),
        ("cgroup2 {above} cgroup2 rw 0 0\n", "4:memory:/x\n"),
        ("cgroup2 {above} cgroup2 rw 0 0\n", "0::/../outside\n"),
        ("cgroup2 {above}/missing cgroup2 rw 0 0\n", "0::/\n"),
        # An ordinary folder, in which the kernel creates no files.
        ("cgroup2 {above} cgroup2 rw 0 0\n", "0::/\n"),
    ],
    ids=["not mounted", "version 1", "outside", "missing", "no control group"],
)
def test_without_a_usable_hierarchy_there_is_no_control_group(
    mounts: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = tmp_path / "cgroups"
    above.mkdir()
    for name, text in (("_MOUNTS", mounts.format(above=above)), ("_OWN", own)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(cgroup, name, str(tmp_path / name))

    assert Cgroup.create() is None
    assert list(above.iterdir()) == []


def test_the_folder_of_a_control_group_may_contain_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text("cgroup2 /a\\040b cgroup2 rw 0 0\n", encoding="utf-8")
    (tmp_path / "own").write_text("1:cpu:/x\n0::/user.slice\n", encoding="utf-8")
    monkeypatch.setattr(cgroup, "_MOUNTS", str(tmp_path / "mounts"))
    monkeypatch.setattr(cgroup, "_OWN", str(tmp_path / "own"))

    assert cgroup._own_folder() == "/a b/user.slice"  # noqa: SLF001  nothing is mounted there
