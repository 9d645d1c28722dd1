"""Drills in which an engine loses its tables, and dispatches are doubled, late, lost and revived."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread

from tests.fleet.drills.harness import Drill
from tests.stores.postgres import execute, truncate
from tests.suite.waiting import until
from tildone.plan.runs import Lease

SCHEMA = "tildone_dbos"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'tildone_dbos' AND tablename NOT LIKE '%migrations%'"
NOT_BEGUN = "DELETE FROM tildone_dbos.workflow_status WHERE status = 'ENQUEUED'"
KNOWN = "SELECT workflow_uuid FROM tildone_dbos.workflow_status"
SENT = "SELECT count(*) FROM tildone_dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
ROUNDS, PAUSE_SECONDS = 5, 0.2


def emptied(drill: Drill) -> None:
    """Empty the tables of the engine, again and again, while half of the runs are worked on and the others wait."""
    form = drill.form
    drill.add(form.tasks)
    for _ in range(2):
        drill.start(max(1, form.runs // 4), form.quick)
    until(lambda: drill.marks("begin"))
    drill.fault()
    tables = ", ".join(f'{SCHEMA}."{name}"' for (name,) in execute(drill.ground.address, TABLES))
    with repeated(lambda: truncate(drill.ground.address, tables)):
        until(lambda: len(drill.marks("done")) >= 2)
    drill.wait_until_ended()


def dispatches(drill: Drill) -> None:
    """Send attempts to all workers, begin again what has ended, and remove what was sent, again and again."""
    # Late, because DBOS takes half a second to import.
    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see above

    form = drill.form
    drill.add(form.tasks)
    drill.start_two(form.quick)
    drill.fault()
    with closing(EngineTables(drill.ground.address)) as tables:
        for number in range(ROUNDS):
            for lease in drill.all_leases():
                double(drill, tables.client, lease, number)
        with repeated(lambda: execute(drill.ground.address, NOT_BEGUN)):
            drill.add(form.tasks, "more")
            until(lambda: len(drill.marks("done")) >= form.runs)
        drill.wait_until_ended()
        ended = drill.marks()
        for lease in drill.all_leases():
            double(drill, tables.client, lease, ROUNDS)
        until(lambda: execute(drill.ground.address, SENT) == [(0,)])
    assert drill.marks() == ended, "a dispatch of a run that had ended was begun"


def double(drill: Drill, client: object, lease: Lease, number: int) -> None:
    """Send an attempt, the one before and the one after to all workers, and revive those that have ended."""
    from tildone.fleet.dbos_engine import VERSION, attempt_name  # noqa: PLC0415  as above

    numbers = [each for each in (lease.attempt - 1, lease.attempt, lease.attempt + 1) if each > 0]
    for worker in drill.leases.workers():
        for attempt in numbers:
            name = f"{number}.{worker.id}.{attempt_name(lease.run, lease.hand, attempt)}"
            options = {"workflow_name": "attempt", "queue_name": worker.id, "workflow_id": name, "app_version": VERSION}
            client.enqueue(options, lease.run, lease.hand, attempt)  # type: ignore[attr-defined]  # of DBOS
    known = [name for (name,) in execute(drill.ground.address, KNOWN)]
    names = [name for attempt in numbers if (name := attempt_name(lease.run, lease.hand, attempt)) in known]
    client.resume_workflows(names, queue_name=drill.leases.workers()[0].id)  # type: ignore[attr-defined]  # of DBOS


@contextmanager
def repeated(action: Callable[[], object]) -> Iterator[None]:
    """Repeat an action until the end of the block."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(PAUSE_SECONDS):
            action()

    thread = Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
