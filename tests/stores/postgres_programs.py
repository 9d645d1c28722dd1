"""Programs that tests run on a PostgreSQL store: `python -m tests.stores.postgres_programs NAME URL ARGUMENT…`.

Each ends with the test that started it.
"""

import os
import sys
import time
from threading import Thread

import psycopg

from tests.stores.writers import answer_on, kill_writers, say, toggle_on, write_on, write_one
from tildone.base import TildoneError
from tildone.stores.postgres.store import PostgresStore

LONG_ENOUGH = 60.0
END = "end"
CONNECTIONS = 2
"""Of a store that has waited: one for statements, and one that listens."""

OURS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"


def make(url: str) -> None:
    """Report readiness, and create a store when the input ends."""
    say("ready")
    sys.stdin.read()
    PostgresStore(url).close()


def toggle(url: str, worker: str, times: str) -> None:
    toggle_on(PostgresStore(url), worker, times)


def write(url: str, prefix: str, times: str) -> None:
    """Write a number of plans, and print each one that was acknowledged."""
    Thread(target=end_with_input, daemon=True).start()
    store = PostgresStore(url)
    write_on(store, prefix, int(times))
    store.close()


def follow(url: str) -> None:
    """Print each head from change to change, up to the last."""
    Thread(target=end_with_input, daemon=True).start()
    store = PostgresStore(url)
    head = None
    say("ready")
    while head != END:
        if store.wait("s", head, LONG_ENOUGH):
            head = store.session_head("s").head
            say(str(head))
    store.close()


def leave(url: str, how: str) -> None:
    """End without closing the store: at once, while a thread waits, or after it was garbage collected."""
    store = PostgresStore(url)
    if how == "waiting":
        Thread(target=store.wait, args=("s", None, LONG_ENOUGH), daemon=True).start()
        store.wait("s", None, 0.05)
    elif how == "forgotten":
        del store


def fork(url: str) -> None:
    """Use a store in a forked process, print the result, and continue in the parent."""
    store = PostgresStore(url)
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


def backends(url: str) -> set[tuple[int]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(OURS))


def answer(url: str, word: str) -> None:
    answer_on(PostgresStore(url), word)


def killed(url: str, kills: str, seed: str) -> None:
    kill_writers(lambda prefix: write_on(PostgresStore(url), prefix), kills, seed)


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
