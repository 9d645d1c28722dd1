"""Programs that tests run beside a PostgreSQL store: `python -m tests.stores.postgres_programs NAME URL ARGUMENT…`.

None of them outlives the one who started it.
"""

import os
import random
import signal
import sys
import time
from threading import Thread
from typing import TextIO

import psycopg

from tests.stores.programs import say
from tildone.core.ops import At, Mark, Write
from tildone.core.plan import Phase, Status, Task
from tildone.dialects.indexed import INDEXED
from tildone.errors import TildoneError
from tildone.session import Session
from tildone.stores.postgres import PostgresStore

LONG_ENOUGH = 60.0
END = "end"
OURS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"


def make(url: str) -> None:
    """Be ready to make a store, and do so when the input ends."""
    say("ready")
    sys.stdin.read()
    PostgresStore(url).close()


def toggle(url: str, worker: str, times: str) -> None:
    """Start and complete the task of this worker in turn, as an agent or as a person."""
    store = PostgresStore(url)
    position = int(worker)
    for number in range(int(times)):
        session = session_of(store, f"{worker}-{number}")
        if position % 2:
            action = "complete" if number % 2 else "start"
            session.call("edit_todos", {"action": action, "indices": [position]})
        else:
            session.change([Mark(At((position,)), Status.COMPLETED if number % 2 else Status.IN_PROGRESS)])


def write(url: str, prefix: str, times: str) -> None:
    """Write so many plans, and tell of each that was acknowledged."""
    Thread(target=end_with_input, daemon=True).start()
    store = PostgresStore(url)
    for number in range(int(times)):
        written(store, f"{prefix}-{number}")
    store.close()


def follow(url: str) -> None:
    """Tell of each head that is seen, from change to change, until the last."""
    Thread(target=end_with_input, daemon=True).start()
    store = PostgresStore(url)
    head = None
    say("ready")
    while head != END:
        if store.wait("s", head, LONG_ENOUGH):
            head = store.place("s").head
            say(str(head))
    store.close()


def leave(url: str, how: str) -> None:
    """End without closing the store: with nothing else done, while a thread waits, or with the store forgotten."""
    store = PostgresStore(url)
    if how == "waiting":
        Thread(target=store.wait, args=("s", None, LONG_ENOUGH), daemon=True).start()
        store.wait("s", None, 0.05)
    elif how == "forgotten":
        del store


def fork(url: str) -> None:
    """Use a store in a forked process, tell what came of it, and go on in the one that opened it."""
    store = PostgresStore(url)
    store.wait("s", None, 0.01)
    before = backends(url)
    child = os.fork()
    if not child:
        for use in (store.place, lambda session: store.wait(session, None, 1)):
            try:
                use("s")
            except TildoneError as error:
                say(f"{type(error).__name__}: {error}")
        store.close()
        sys.exit()
    os.waitpid(child, 0)
    written(store, "parent")
    store.wait("s", None, LONG_ENOUGH)
    say("the same connections" if backends(url) == before else "other connections")
    store.close()


def backends(url: str) -> set[tuple[int]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(OURS))


def killed(url: str, kills: str, seed: str) -> None:
    """Start writers two at a time and kill each at a moment of its own; tell of all that they were told was written.

    The second of each pair comes when the first has begun to write, and may be killed before it does.
    """
    luck = random.Random(int(seed))  # noqa: S311  moments, not secrets
    for number in range(0, int(kills), 2):
        one, told_one = forked_writer(url, str(number))
        first = told_one.readline()
        other, told_other = forked_writer(url, str(number + 1))
        for process in (one, other):
            time.sleep(luck.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        with told_one, told_other:
            sys.stdout.writelines([first, *told_one, *told_other])


def forked_writer(url: str, prefix: str) -> tuple[int, TextIO]:
    """A process that writes for as long as there is somebody to tell of it, and what it tells."""
    sys.stdout.flush()
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, os.fdopen(read)
    os.close(read)
    os.dup2(write, sys.stdout.fileno())
    store = PostgresStore(url)
    number = 0
    while True:
        written(store, f"{prefix}-{number}")
        number += 1


def written(store: PostgresStore, event_id: str) -> None:
    """Write a plan, and tell of it once it is acknowledged."""
    session_of(store, event_id).change([Write((Phase("", (Task(event_id),)),))])
    say(event_id)


def session_of(store: PostgresStore, event_id: str) -> Session:
    """A session that will make one event."""
    return Session(store, "s", INDEXED, now=lambda: 1, new_id=lambda: event_id)


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
