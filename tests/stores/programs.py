"""Programs that tests run in other processes: `python -m tests.stores.programs NAME ADDRESS ARGUMENT…`.

They import little, because a test may start many of them.
"""

import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import walk_packages
from threading import Thread
from typing import TextIO

from tildone.base import Refused, TildoneError
from tildone.base.durable import FolderLock
from tildone.log.needs import NeedAnswered
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, Event, Nudged, PlanChanged, SessionHead
from tildone.plan.model import Phase, Status, Task, flat
from tildone.plan.ops import At, Mark, Write
from tildone.plan.runs import Claimer, NewRun, WorkOutcome
from tildone.stores import OpenOptions, open_store, parse_address

NOBODY = 65534
CRAMPED = 100_000
SLOTS = 3
LONG_ENOUGH = 60.0
BATCH = 20
END = "end"
CONNECTIONS = 2
"""Of a store in PostgreSQL that has waited: one for statements, and one that listens."""

OURS = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tildone'"


def opened(address: str) -> Store:
    return open_store(parse_address(address), OpenOptions(plan_in_entry=plan_in_entry))


def toggle(address: str, worker: str, times: str) -> None:
    """Start and complete this worker's task in turn, as an agent or as a user."""
    store, position = opened(address), int(worker)
    for number in range(int(times)):
        session = session_of(store, f"{worker}-{number}")
        if position % 2:
            action = "complete" if number % 2 else "start"
            session.call("edit_todos", {"action": action, "indices": [position]})
        else:
            session.change([Mark(At((position,)), Status.COMPLETED if number % 2 else Status.IN_PROGRESS)])


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


@contextmanager
def small_files() -> Iterator[None]:
    """Limit the size of files in the block, and print its error, if there is one."""
    import resource  # noqa: PLC0415  only Unix has it, and other programs here run elsewhere, too

    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CRAMPED, most))
    try:
        yield
    except TildoneError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def cramped(address: str) -> None:
    """Write until the file size limit is reached, then after it is raised; print everything that was written."""
    store = opened(address)
    with small_files():
        write_on(store, "cramped")
    write_on(store, "free", 3)


def packed(address: str) -> None:
    """Compact a store under a file size limit, and write when it is raised."""
    store = opened(address)
    store.delete("old", expected=store.session_head("old").head)
    with small_files():
        store.compact()
    write_on(store, "after", 1)


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
    """Report readiness, answer the question `n` when the input ends, and print the answer that counted."""
    store = opened(address)
    say("ready")
    sys.stdin.read()
    try:
        say(store.records.answer("n", word, word, 1).answer)
    except NeedAnswered as error:
        say(f"after {error.need.answer}")


def killed(address: str, kills: str, seed: str, work: str = "append") -> None:
    does = {"append": write_on, "adopt": adopt_on}[work]
    # So that the writers, which are forked, need not import it.
    opened(address).close()
    kill_writers(lambda prefix: does(opened(address), prefix), kills, seed)


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


def claim_runs(address: str, name: str, book: str) -> None:
    """Claim, hold and close runs until none is left, and write down what was held, and when."""
    from tildone.app.opening import run_leases  # noqa: PLC0415  see above

    store = opened(address)
    leases = run_leases(store)
    who, number = Claimer(f"{name}/1/a", ("gpu",)), 0
    say("ready")
    sys.stdin.read()
    with open(book, "a", encoding="utf-8") as file:
        while True:
            revision = leases.revision()
            owners = [f"{who.worker}/{number + slot}" for slot in range(SLOTS)]
            number += SLOTS
            held = leases.claim(who, owners)
            claimed = time.monotonic()
            for lease in held:
                leases.renew([lease.fence])
                # What comes after this line may happen after others have taken the next run.
                span = f"{claimed} {time.monotonic()}"
                file.write(f"{span} {lease.run} {lease.work.repo} {lease.work.provider}\n")
                assert leases.close(lease.fence, WorkOutcome.DONE) is not None
            if not held:
                if not any(view.lease.state.is_active for view in leases.look()):
                    break
                leases.wait(revision, 0.2)
    store.close()


def queue_runs(address: str, name: str, plans: str) -> None:
    """Queue a run of each of many plans, and print the refusals."""
    from tildone.app.opening import run_leases  # noqa: PLC0415  see above

    leases = run_leases(opened(address))
    say("ready")
    sys.stdin.read()
    for number in range(int(plans)):
        try:
            leases.add(NewRun(f"{name}{number}", f"plan {number}"), [PlanChanged(flat(Task("one")))])
        except Refused as refused:
            say(str(refused))


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
