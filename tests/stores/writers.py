"""Concurrent writers for tests of any kind of store: they write continuously, are killed, or reach file size limits."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages
from typing import TextIO

from tildone.base import TildoneError
from tildone.log.needs import NeedAnswered
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import At, Mark, Write

NOBODY = 65534
CRAMPED = 100_000


def toggle_on(store: Store, worker: str, times: str) -> None:
    """Start and complete this worker's task in turn, as an agent or as a user."""
    position = int(worker)
    for number in range(int(times)):
        session = session_of(store, f"{worker}-{number}")
        if position % 2:
            action = "complete" if number % 2 else "start"
            session.call("edit_todos", {"action": action, "indices": [position]})
        else:
            session.change([Mark(At((position,)), Status.COMPLETED if number % 2 else Status.IN_PROGRESS)])


def write_cramped(store: Store) -> None:
    """Write until the file size limit is reached, then after it is raised; print everything that was written."""
    import resource  # noqa: PLC0415  only Unix has it, and other programs here run elsewhere, too

    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        write_on(store, "cramped")
    except TildoneError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "free", 3)


def become_nobody() -> None:
    """Drop root privileges, after importing what stores import late: Python may be in a folder of root's."""
    for room in ("plan", "log", "stores"):
        package = import_module(f"tildone.{room}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    import_module("json")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def answer_on(store: Store, word: str) -> None:
    """Report readiness, answer the question `n` when the input ends, and print the answer that counted."""
    say("ready")
    sys.stdin.read()
    try:
        say(store.records.answer("n", word, word, 1).answer)
    except NeedAnswered as error:
        say(f"after {error.need.answer}")


def kill_writers(work: Callable[[str], None], kills: str, seed: str) -> None:
    """Start writers in pairs, kill each at a random moment, and print every event that was acknowledged.

    The second of a pair starts when the first has begun to write, and may be killed before it writes.
    """
    luck = random.Random(int(seed))  # noqa: S311  moments, not secrets
    for number in range(0, int(kills), 2):
        one, told_one = forked(work, str(number))
        first = told_one.readline()
        other, told_other = forked(work, str(number + 1))
        for process in (one, other):
            time.sleep(luck.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        with told_one, told_other:
            sys.stdout.writelines([first, *told_one, *told_other])


def forked(work: Callable[[str], None], prefix: str) -> tuple[int, TextIO]:
    """Fork a process that works until nobody reads its output, and return what it prints of each acknowledged event."""
    sys.stdout.flush()
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, os.fdopen(read)
    os.close(read)
    os.dup2(write, sys.stdout.fileno())
    try:
        work(prefix)
    finally:
        os._exit(0)


def write_on(store: Store, prefix: str, times: int = sys.maxsize) -> None:
    """Write plans with unique ids, and print each one once it is acknowledged."""
    for number in range(times):
        write_one(store, f"{prefix}-{number}")


def write_one(store: Store, event_id: str) -> None:
    """Write a plan, and print it once it is acknowledged."""
    session_of(store, event_id).change([Write((Phase("", (Task(event_id),)),))])
    say(event_id)


def session_of(store: Store, event_id: str) -> Session:
    """Return a session that will write one event."""
    return Session(store, "s", INDEXED, now=lambda: 1, new_id=lambda: event_id)


def say(line: str) -> None:
    """Print a line in one write, so that it is never torn."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())
