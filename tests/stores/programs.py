"""Programs that tests run in other processes: `python -m tests.stores.programs NAME ADDRESS ARGUMENT…`.

They import little, because a test may start many of them.
"""

import os
import select
import sys
import time
from threading import Thread

from tests.stores.writers import (
    CRAMPED,
    answer_on,
    become_nobody,
    kill_writers,
    say,
    session_of,
    toggle_on,
    write_cramped,
    write_on,
    write_one,
)
from tildone.base import TildoneError
from tildone.base.durable import FolderLock
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Actor, Event, Nudged, SessionHead
from tildone.plan.model import Phase, Task
from tildone.plan.ops import Write
from tildone.stores import OpenOptions, open_store, parse_address

LONG_ENOUGH = 60.0
BATCH = 20
END = "end"
CONNECTIONS = 2
"""Of a store in PostgreSQL that has waited: one for statements, and one that listens."""

OURS = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"


def opened(address: str) -> Store:
    return open_store(parse_address(address), OpenOptions(plan_in_entry=plan_in_entry))


def toggle(address: str, worker: str, times: str) -> None:
    toggle_on(opened(address), worker, times)


def make(address: str, name: str = "") -> None:
    """Report readiness, and when the input ends, create a store, and an event of that name if it is given."""
    say("ready")
    sys.stdin.read()
    store = opened(address)
    if name:
        session_of(store, name).change([Write((Phase("", (Task(name),)),))])
    store.close()


def hold(address: str) -> None:
    """Hold the write lock until the input ends."""
    if address.startswith("jsonl:"):
        with FolderLock(address.removeprefix("jsonl:"), 0):
            say("held")
            sys.stdin.read()
        return
    import apsw  # noqa: PLC0415  see above

    connection = apsw.Connection(address)
    connection.execute("BEGIN EXCLUSIVE")
    say("held")
    sys.stdin.read()
    connection.execute("ROLLBACK")


def keep_open(address: str) -> None:
    """Write to a store, and keep it open until the input ends."""
    store = opened(address)
    write_on(store, "held", 1)
    sys.stdin.read()


def busy(address: str) -> None:
    """Write until the input ends; print everything that was written."""
    store = opened(address)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        write_one(store, f"busy-{number}")
        number += 1


def cramped(address: str) -> None:
    write_cramped(opened(address))


def packed(address: str) -> None:
    """Compact a store under a file size limit; print the result."""
    import resource  # noqa: PLC0415  see above

    store = opened(address)
    store.delete("old", expected=store.session_head("old").head)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        store.compact()
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "after", 1)


def examined(address: str) -> None:
    """Print the findings of a check by an unprivileged user."""
    store = opened(address)
    become_nobody()
    for finding in store.check():
        say(f"{finding.severity.value}: {finding.what}")


def unprivileged(address: str) -> None:
    """Read and write as an unprivileged user, and print how far that succeeded."""
    become_nobody()
    try:
        store = opened(address)
        say(f"read {store.session_head('s').head}")
        write_on(store, "mine", 1)
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")


def answer(address: str, word: str) -> None:
    answer_on(opened(address), word)


def killed(address: str, kills: str, seed: str, work: str = "append") -> None:
    does = {"append": write_on, "adopt": adopt_on}[work]
    # So that the writers, which are forked, need not import it.
    opened(address).close()
    kill_writers(lambda prefix: does(opened(address), prefix), kills, seed)


def adopt_on(store: Store, prefix: str) -> None:
    """Import batches of events, and print each batch once it is acknowledged."""
    for number in range(sys.maxsize):
        ids = [f"{prefix}-{number}-{each}" for each in range(BATCH)]
        events = [Event(new, old, 1, Actor.IMPORT, Nudged(1, 1)) for old, new in zip([None, *ids], ids, strict=False)]
        store.import_events("s", events, SessionHead(ids[0], (ids[1],)))
        say(ids[0])


def write(address: str, prefix: str, times: str) -> None:
    """Write a number of plans, and print each one that was acknowledged."""
    Thread(target=end_with_input, daemon=True).start()
    store = opened(address)
    write_on(store, prefix, int(times))
    store.close()


def follow(address: str) -> None:
    """Print each head from change to change, up to the last."""
    Thread(target=end_with_input, daemon=True).start()
    store = opened(address)
    head = None
    say("ready")
    while head != END:
        if store.wait("s", head, LONG_ENOUGH):
            head = store.session_head("s").head
            say(str(head))
    store.close()


def leave(address: str, how: str) -> None:
    """End without closing the store: at once, while a thread waits, or after it was garbage collected."""
    store = opened(address)
    if how == "waiting":
        Thread(target=store.wait, args=("s", None, LONG_ENOUGH), daemon=True).start()
        store.wait("s", None, 0.05)
    elif how == "forgotten":
        del store


def fork(url: str) -> None:
    """Use a store in a forked process, print the result, and continue in the parent."""
    store = opened(url)
    store.wait("s", None, 0.01)
    # The connection that listens may take longer than the wait.
    while len(before := backends(url)) < CONNECTIONS:
        time.sleep(0.01)
    child = os.fork()
    if not child:
        for use in (store.session_head, lambda session: store.wait(session, None, 1)):
            try:
                use("s")
            except TildoneError as error:
                say(f"{type(error).__name__}: {error}")
        store.close()
        sys.exit()
    os.waitpid(child, 0)
    write_one(store, "parent")
    store.wait("s", None, LONG_ENOUGH)
    say("the same connections" if backends(url) == before else "other connections")
    store.close()


def backends(url: str) -> set[tuple[object, ...]]:
    import psycopg  # noqa: PLC0415  see above

    with psycopg.connect(url) as connection:
        return set(connection.execute(OURS))


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
