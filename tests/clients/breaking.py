"""Ways in which tildone breaks in a client in which it is installed, each as a context manager."""

import contextlib
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.clients.inside import InstalledClient, program
from tests.suite.forking import PROGRAM

Break = Callable[[InstalledClient, Path], AbstractContextManager[None]]

FULL_DISK = """\
mount -t tmpfs -o size=4m tmpfs /mnt || exit 0
cp -r {data}/. /mnt
mount --bind /mnt {data}
head -c 8000000 /dev/zero > {data}/filler 2> /dev/null
exec {program} "$@"
"""
"""A program whose data folder is on a full disk: a file system of its own, in a mount namespace of its own."""


@contextlib.contextmanager
def missing_program(client: InstalledClient, _folder: Path) -> Iterator[None]:
    """The program was uninstalled."""
    client.rewrite(str(PROGRAM), "/gone/bin/tildone")
    yield


@contextlib.contextmanager
def bad_config(client: InstalledClient, _folder: Path) -> Iterator[None]:
    """The person's config file is not TOML."""
    file = client.sandbox.home / ".config" / "tildone" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("dialect = [", encoding="utf-8")
    yield


@contextlib.contextmanager
def unusable_store(client: InstalledClient, _folder: Path) -> Iterator[None]:
    """A folder has the name of the store."""
    (client.data / "tildone.db").mkdir(parents=True)
    yield


@contextlib.contextmanager
def locked_store(client: InstalledClient, _folder: Path) -> Iterator[None]:
    """Another process holds the store's write lock all the time."""
    client.tildone("todo", "add", "Old task")
    client.tildone("todo", "done", "1")
    with contextlib.closing(sqlite3.connect(client.data / "tildone.db", isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


@contextlib.contextmanager
def full_disk(client: InstalledClient, folder: Path) -> Iterator[None]:
    """No byte can be written in the data folder."""
    if not can_mount():
        pytest.skip("this system does not let a user mount a file system")
    client.data.mkdir(parents=True, exist_ok=True)
    inner = program(folder / "inner", FULL_DISK.format(data=client.data, program=PROGRAM))
    client.rewrite(str(PROGRAM), str(program(folder / "bin", f'exec unshare -rm {inner} "$@"')))
    yield


@contextlib.contextmanager
def deleted_store(client: InstalledClient, _folder: Path) -> Iterator[None]:
    """The data folder was deleted after a plan had been kept there."""
    client.tildone("todo", "add", "Old task")
    client.tildone("todo", "done", "1")
    shutil.rmtree(client.data)
    yield


def can_mount() -> bool:
    """Whether a process may mount a file system of its own here."""
    unshare = shutil.which("unshare")
    command = [str(unshare), "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return unshare is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


WAYS: Mapping[str, Break] = {
    "missing program": missing_program,
    "bad config": bad_config,
    "full disk": full_disk,
    "unusable store": unusable_store,
    "deleted store": deleted_store,
    "locked store": locked_store,
}
"""By the name of the situation."""
