"""Programs that tests run beside a folder of session files: `python -m tests.stores.jsonl_programs NAME ARGUMENT…`.

They import as little as they can, because a test may start many of them; and none outlives the one who started it.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.stores.programs import CRAMPED, NOBODY, say
from tildone.core.ops import At, Mark, Write
from tildone.core.plan import Phase, Status, Task
from tildone.dialects.indexed import INDEXED
from tildone.errors import TildoneError
from tildone.log.events import Actor, Event, Nudged
from tildone.log.store import Store
from tildone.log.tree import Place
from tildone.session import Session
from tildone.stores.jsonl import JsonlStore
from tildone.stores.pi.disk import Lock
from tildone.wiring import plan_in_entry

ROOT = Path(__file__).resolve().parents[2]
LONG_ENOUGH = 120.0
BATCH = 20


@contextmanager
def started(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """One of the programs here, running. It ends with the block, whatever happens in it."""
    command = [sys.executable, "-m", "tests.stores.jsonl_programs", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> str:
    """What a program has said when it has come to its end, which is a good one."""
    out, err = process.communicate(timeout=LONG_ENOUGH)
    assert process.returncode == 0, err or out
    return out


def toggle(folder: str, worker: str, times: str) -> None:
    """Start and complete the task of this worker in turn, as an agent or as a person."""
    store = opened(folder)
    position = int(worker)
    for number in range(int(times)):
        session = session_of(store, f"{worker}-{number}")
        if position % 2:
            action = "complete" if number % 2 else "start"
            session.call("edit_todos", {"action": action, "indices": [position]})
        else:
            session.change([Mark(At((position,)), Status.COMPLETED if number % 2 else Status.IN_PROGRESS)])


def make(folder: str, name: str) -> None:
    """Be ready to begin a session, and do so when the input ends, unless somebody else has."""
    store = opened(folder)
    say("ready")
    sys.stdin.read()
    session_of(store, name).change([Write((Phase("", (Task(name),)),))])


def hold(folder: str) -> None:
    """Keep every other writer out until the input ends."""
    with Lock(folder, 0):
        say("held")
        sys.stdin.read()


def cramped(folder: str) -> None:
    """Write until files may not grow any more, then a little when they may again; tell of all that was written."""
    import resource  # noqa: PLC0415  only Unix has it, and other programs here run elsewhere, too

    store = opened(folder)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        write_on(store, "cramped")
    except TildoneError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "free", 3)


def become_nobody() -> None:
    """Be somebody whom permissions bind."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def examined(folder: str) -> None:
    """Tell what is found of the store's health by somebody whom permissions bind."""
    store = opened(folder)
    become_nobody()
    for finding in store.examine():
        say(f"{finding.health.value}: {finding.what}")


def unprivileged(folder: str) -> None:
    """Read and write as somebody whom permissions bind, and tell how far that went."""
    become_nobody()
    try:
        store = opened(folder)
        say(f"read {store.place('s').head}")
        write_on(store, "mine", 1)
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")


def killed(folder: str, work: str, kills: str, seed: str) -> None:
    """Start writers two at a time and kill each at a moment of its own; tell of all that they were told was written.

    The second of each pair comes when the first has begun to write, and may be killed before it does.
    """
    luck = random.Random(int(seed))  # noqa: S311  moments, not secrets
    for number in range(0, int(kills), 2):
        one, told_one = forked_writer(folder, work, str(number))
        first = told_one.readline()
        other, told_other = forked_writer(folder, work, str(number + 1))
        for process in (one, other):
            time.sleep(luck.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        with told_one, told_other:
            sys.stdout.writelines([first, *told_one, *told_other])


def forked_writer(folder: str, work: str, prefix: str) -> tuple[int, TextIO]:
    """A process that writes until nobody listens any more, and what it tells of each event that was acknowledged."""
    sys.stdout.flush()
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, os.fdopen(read)
    os.close(read)
    os.dup2(write, sys.stdout.fileno())
    try:
        {"append": write_on, "adopt": adopt_on}[work](opened(folder), prefix)
    finally:
        os._exit(0)


def write_on(store: Store, prefix: str, times: int = sys.maxsize) -> None:
    """Write plans, each under an id of its own, and tell of each once it is acknowledged."""
    for number in range(times):
        event_id = f"{prefix}-{number}"
        session_of(store, event_id).change([Write((Phase("", (Task(event_id),)),))])
        say(event_id)


def adopt_on(store: Store, prefix: str) -> None:
    """Take over events by the batch, and tell of each batch once it is acknowledged."""
    for number in range(sys.maxsize):
        ids = [f"{prefix}-{number}-{each}" for each in range(BATCH)]
        events = [Event(new, old, 1, Actor.IMPORT, Nudged(1, 1)) for old, new in zip([None, *ids], ids, strict=False)]
        store.adopt("s", events, Place(ids[0], (ids[1],)))
        say(ids[0])


def session_of(store: Store, event_id: str) -> Session:
    """A session that will make one event."""
    return Session(store, "s", INDEXED, now=lambda: 1, new_id=lambda: event_id)


def opened(folder: str) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
