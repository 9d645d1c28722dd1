"""Programs that tests run in processes of their own: `python -m tests.stores.programs NAME ARGUMENT…`.

They import as little as they can, because a test may start many of them.
"""

import os
import random
import select
import signal
import sys
import time
from typing import TextIO

import apsw

from tildone.core.ops import At, Mark, Write
from tildone.core.plan import Phase, Status, Task
from tildone.dialects.indexed import INDEXED
from tildone.errors import TildoneError
from tildone.session import Session
from tildone.stores.sqlite import SqliteStore

NOBODY = 65534
CRAMPED = 100_000


def toggle(path: str, worker: str, times: str) -> None:
    """Start and complete the task of this worker in turn, as an agent or as a person."""
    store = SqliteStore(path)
    position = int(worker)
    for number in range(int(times)):
        session = session_of(store, f"{worker}-{number}")
        if position % 2:
            action = "complete" if number % 2 else "start"
            session.call("edit_todos", {"action": action, "indices": [position]})
        else:
            session.change([Mark(At((position,)), Status.COMPLETED if number % 2 else Status.IN_PROGRESS)])


def make(path: str) -> None:
    """Be ready to make a store, and do so when the input ends."""
    say("ready")
    sys.stdin.read()
    SqliteStore(path)


def hold(path: str) -> None:
    """Keep every other writer out until the input ends."""
    connection = apsw.Connection(path)
    connection.execute("BEGIN EXCLUSIVE")
    say("held")
    sys.stdin.read()
    connection.execute("ROLLBACK")


def keep_open(path: str) -> None:
    """Have written to a store, and hold on to it until the input ends."""
    store = SqliteStore(path)
    write_on(store, "held", 1)
    sys.stdin.read()


def busy(path: str) -> None:
    """Write on and on until the input ends; tell of all that was written."""
    store = SqliteStore(path)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        write_one(store, f"busy-{number}")
        number += 1


def cramped(path: str) -> None:
    """Write until files may not grow any more, then a little when they may again; tell of all that was written."""
    import resource  # noqa: PLC0415  only Unix has it, and other programs here run elsewhere, too

    store = SqliteStore(path)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        write_on(store, "cramped")
    except TildoneError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "free", 3)


def packed(path: str) -> None:
    """Pack a store anew when files may not grow; tell what came of it."""
    import resource  # noqa: PLC0415  see above

    store = SqliteStore(path)
    store.forget("old", expected=store.place("old").head)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        store.compact()
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "after", 1)


def unprivileged(path: str) -> None:
    """Read and write as somebody whom permissions bind, and tell how far that went."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        store = SqliteStore(path)
        say(f"read {store.place('s').head}")
        write_on(store, "mine", 1)
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")


def killed(path: str, kills: str, seed: str) -> None:
    """Start writers two at a time and kill each at a moment of its own; tell of all that they were told was written.

    The second of each pair comes when the first has begun to write, and may be killed before it does.
    """
    luck = random.Random(int(seed))  # noqa: S311  moments, not secrets
    for number in range(0, int(kills), 2):
        one, told_one = forked_writer(path, str(number))
        first = told_one.readline()
        other, told_other = forked_writer(path, str(number + 1))
        for process in (one, other):
            time.sleep(luck.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        with told_one, told_other:
            sys.stdout.writelines([first, *told_one, *told_other])


def forked_writer(path: str, prefix: str) -> tuple[int, TextIO]:
    """A process that writes for ever, and what it tells of each event that was acknowledged."""
    sys.stdout.flush()
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, os.fdopen(read)
    os.dup2(write, sys.stdout.fileno())
    write_on(SqliteStore(path), prefix)
    os._exit(0)


def write_on(store: SqliteStore, prefix: str, times: int = sys.maxsize) -> None:
    """Write plans, each under an id of its own, and tell of each once it is acknowledged."""
    for number in range(times):
        write_one(store, f"{prefix}-{number}")


def write_one(store: SqliteStore, event_id: str) -> None:
    """Write a plan, and tell of it once it is acknowledged."""
    session_of(store, event_id).change([Write((Phase("", (Task(event_id),)),))])
    say(event_id)


def session_of(store: SqliteStore, event_id: str) -> Session:
    """A session that will make one event."""
    return Session(store, "s", INDEXED, now=lambda: 1, new_id=lambda: event_id)


def say(line: str) -> None:
    """In one write, so that a line is told whole or not at all."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
