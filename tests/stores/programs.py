"""Programs that tests run in other processes: `python -m tests.stores.programs NAME ARGUMENT…`.

They import little, because a test may start many of them.
"""

import select
import sys

import apsw

from tests.stores.writers import (
    CRAMPED,
    answer_on,
    become_nobody,
    kill_writers,
    say,
    toggle_on,
    write_cramped,
    write_on,
    write_one,
)
from tildone.base import TildoneError
from tildone.stores.sqlite.store import SqliteStore


def toggle(path: str, worker: str, times: str) -> None:
    toggle_on(SqliteStore(path), worker, times)


def make(path: str) -> None:
    """Report readiness, and create a store when the input ends."""
    say("ready")
    sys.stdin.read()
    SqliteStore(path)


def hold(path: str) -> None:
    """Hold the write lock until the input ends."""
    connection = apsw.Connection(path)
    connection.execute("BEGIN EXCLUSIVE")
    say("held")
    sys.stdin.read()
    connection.execute("ROLLBACK")


def keep_open(path: str) -> None:
    """Write to a store, and keep it open until the input ends."""
    store = SqliteStore(path)
    write_on(store, "held", 1)
    sys.stdin.read()


def busy(path: str) -> None:
    """Write until the input ends; print everything that was written."""
    store = SqliteStore(path)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        write_one(store, f"busy-{number}")
        number += 1


def cramped(path: str) -> None:
    write_cramped(SqliteStore(path))


def packed(path: str) -> None:
    """Compact a store under a file size limit; print the result."""
    import resource  # noqa: PLC0415  see above

    store = SqliteStore(path)
    store.delete("old", expected=store.session_head("old").head)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        store.compact()
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    write_on(store, "after", 1)


def unprivileged(path: str) -> None:
    """Read and write as an unprivileged user, and print how far that succeeded."""
    become_nobody()
    try:
        store = SqliteStore(path)
        say(f"read {store.session_head('s').head}")
        write_on(store, "mine", 1)
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")


def answer(path: str, word: str) -> None:
    answer_on(SqliteStore(path), word)


def killed(path: str, kills: str, seed: str) -> None:
    kill_writers(lambda prefix: write_on(SqliteStore(path), prefix), kills, seed)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
