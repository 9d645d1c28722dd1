"""Time of PostgreSQL store operations, against the bare SQL statements that they need."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import count, cycle
from queue import SimpleQueue
from threading import Thread

from bench.measure import Row, medians
from bench.plans import PLAN, session_on
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not
from tildone.app.opening import open_store
from tildone.app.settings import Settings
from tildone.base import StoreError
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.events import Actor, Call, Event, PlanChanged, SessionHead
from tildone.stores import parse_address

SHORT = 10
SESSIONS, WAITERS = 1_000, 100
WAIT_TIMEOUT_SECONDS = 60.0

FACT = PlanChanged(PLAN, Call("edit_todos", '{"action":"start","indices":[3]}'))

Act = Callable[[], object]
Notifications = SimpleQueue[str]


def rows(rounds: int, length: int, *, crowd: float = 1) -> Iterator[Row]:
    """A row each for writing, reading and waiting; `crowd` scales the number of sessions and waiters."""
    sessions, waiters = int(SESSIONS * crowd), int(WAITERS * crowd)
    table = (
        Row("append, PostgreSQL", "insert + commit, same bytes", 1.5),
        Row(f"the plan after {length:,} events, PostgreSQL", f"after {SHORT} events", 1.5),
        Row(f"{waiters} waiters, {sessions:,} sessions, PostgreSQL", "insert + NOTIFY, heard", 3.0),
    )
    missing = why_not()
    if missing:
        yield from (replace(row, skipped=missing) for row in table)
        return
    with ExitStack() as running:
        server = running.enter_context(running_server())
        one, other = (running.enter_context(server.database()) for _ in range(2))
        acts: list[Callable[[], list[Act]]] = [
            lambda: [appending(running, one), bare_insert(running, one)],
            lambda: [reading(running, one, length), reading(running, other, SHORT)],
            lambda: [*notifying(running, one, sessions, waiters), bare_notify(running, one)],
        ]
        for row, prepared in zip(table, acts, strict=True):
            took, *_, bare = medians(prepared(), rounds)
            yield replace(row, took=took, base_took=bare)


def appending(running: ExitStack, url: str) -> Act:
    """Append an event of ten tasks after a known head."""
    store = opened(running, url)
    events = successive_events()
    return lambda: store.append("/home/me/projects/one", next(events))


def bare_insert(running: ExitStack, url: str) -> Act:
    """The minimum that the server does to store such an event: one row in a one-column table."""
    import psycopg  # noqa: PLC0415  without it, the rows are skipped

    connection = running.enter_context(closing(psycopg.connect(url, autocommit=True)))
    connection.execute("CREATE TABLE log (body text)")
    body = codec.encode(next(successive_events()))
    return lambda: connection.execute("INSERT INTO log VALUES (%s)", (body,))


def reading(running: ExitStack, url: str, length: int) -> Act:
    """Read the plan in a new session on an open store."""
    store = opened(running, url)
    events = successive_events()
    imported = [next(events) for _ in range(length)]
    store.import_events("bench", imported, SessionHead(imported[-1].id))
    return lambda: session_on(store, "bench").plan


def notifying(running: ExitStack, url: str, sessions: int, waiters: int) -> tuple[Act, Act]:
    """Return a change that ends when its only waiter is notified, and a change without a waiter."""
    store, watching = opened(running, url), opened(running, url)
    histories = [(f"session {number}", successive_events()) for number in range(sessions)]
    for name, events in histories:
        store.append(name, next(events))
    notifications: Notifications = SimpleQueue()
    watched = histories[:: sessions // waiters]
    for name, _ in watched:
        Thread(target=follow, args=(watching, name, notifications), daemon=True).start()
        assert notifications.get(timeout=WAIT_TIMEOUT_SECONDS) == f"{name} is at {0:020}"
    turns, others = cycle(watched), cycle(history for history in histories if history not in watched)

    def change() -> None:
        name, events = next(turns)
        event = next(events)
        store.append(name, event)
        assert notifications.get(timeout=WAIT_TIMEOUT_SECONDS) == f"{name} is at {event.id}"

    def change_unwatched() -> None:
        name, events = next(others)
        store.append(name, next(events))

    return change, change_unwatched


def follow(store: Store, session: str, notifications: Notifications) -> None:
    """Report every head that the session moves to."""
    head = None
    try:
        while store.wait(session, head, WAIT_TIMEOUT_SECONDS):
            head = store.session_head(session).head
            notifications.put(f"{session} is at {head}")
    except StoreError:
        return  # the store was closed: the benchmark is over


def bare_notify(running: ExitStack, url: str) -> Act:
    """The minimum for a notified change: one inserted row and a NOTIFY to one listening connection."""
    import psycopg  # noqa: PLC0415  without it, the rows are skipped

    notifier, listener = (running.enter_context(closing(psycopg.connect(url, autocommit=True))) for _ in range(2))
    notifications: Notifications = SimpleQueue()
    body = codec.encode(next(successive_events()))
    listener.execute("LISTEN bare")

    def listen() -> None:
        for notification in listener.notifies():
            notifications.put(notification.payload)
            if notification.payload == "the end":
                return

    def notify(word: str = "something") -> None:
        notifier.execute("WITH stored AS (INSERT INTO log VALUES (%s)) SELECT pg_notify('bare', %s)", (body, word))
        assert notifications.get(timeout=WAIT_TIMEOUT_SECONDS) == word

    Thread(target=listen, daemon=True).start()
    running.callback(notify, "the end")
    return notify


def opened(running: ExitStack, url: str) -> Store:
    return running.enter_context(closing(open_store(Settings(store=parse_address(url), session="", project=""))))


def successive_events() -> Iterator[Event]:
    parent = None
    for number in count():
        event = Event(f"{number:020}", parent, 1_800_000_000_000 + number, Actor.AGENT, FACT)
        parent = event.id
        yield event
