"""Eight agents in eight processes share one plan, while some of them are killed and others stopped.

`python3 do.py faults long shared-plan` runs the long form.
"""

import signal
from pathlib import Path

import pytest

from tests.stores.many_hands.audit import BREACHES, audit, read_book
from tests.stores.many_hands.drill import AGENTS, SHORT, STOPPED, drill
from tests.stores.postgres import needs_server
from tildone.plan.events import Actor, Author, Event, PlanChanged
from tildone.plan.model import Plan, Status, Task, flat

needs_stops = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows has no SIGSTOP")


def check(counts: dict[str, int]) -> None:
    """Check what has to be so, however the agents were scheduled."""
    print(*(f"{what}: {count}" for what, count in counts.items()), sep="\n")
    assert {what: counts[what] for what in BREACHES} == dict.fromkeys(BREACHES, 0)
    assert (counts["tasks"], counts["done once"]) == (SHORT.tasks, SHORT.tasks)
    assert counts["stopped and woken"] == STOPPED
    assert counts["killed"] >= 1
    assert counts["agents"] == AGENTS + STOPPED + counts["killed"]
    assert counts["taken over"] >= STOPPED
    assert counts["changes refused"] >= STOPPED


@needs_stops
@pytest.mark.slow
def test_eight_agents_share_a_plan_in_sqlite(tmp_path: Path) -> None:
    check(drill(str(tmp_path / "plans.db"), tmp_path, SHORT))


@needs_stops
@needs_server
@pytest.mark.slow
def test_eight_agents_share_a_plan_in_postgresql(url: str, tmp_path: Path) -> None:
    check(drill(url, tmp_path, SHORT))


ADA, BOB = "test:ada", "test:bob"
OPEN, ACTIVE, DONE = Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED
BOOK = """\
begin 1 1 test:ada 10
end 1 1 test:ada 20
begin 2 1 test:bob 30
end 2 1 test:bob 40
"""


def history(*steps: tuple[str, tuple[Status, Status]]) -> list[Event]:
    """The events of a plan of two tasks with the same files, the second after the first: who changed it, to what."""

    def plan(one: Status, other: Status) -> Plan:
        first = Task("one", one, number=1, touches=("src/*",))
        return flat(first, Task("two", other, number=2, after=(1,), touches=("src/a.py",)))

    steps = (("", (OPEN, OPEN)), *steps)
    return [
        Event(str(number), str(number - 1), number, Actor.AGENT, PlanChanged(plan(*statuses)), Author(agent=agent))
        for number, (agent, statuses) in enumerate(steps)
    ]


GOOD = ((ADA, (ACTIVE, OPEN)), (ADA, (DONE, OPEN)), (BOB, (DONE, ACTIVE)), (BOB, (DONE, DONE)))


@pytest.mark.parametrize(
    ("steps", "book", "found"),
    [
        (GOOD, BOOK, {}),
        (GOOD[:-1], BOOK, {"not done once": 1}),
        ((*GOOD, (ADA, (ACTIVE, DONE))), BOOK, {"overwritten": 1}),
        ((*GOOD, (ADA, (ACTIVE, DONE)), (ADA, (DONE, DONE))), BOOK, {"overwritten": 1, "not done once": 1}),
        (GOOD, BOOK + "begin 2 1 test:ada 50\n", {"claims held by two": 1}),
        (GOOD, BOOK + "begin 2 2 test:ada 35\n", {"closed by another than its last holder": 1}),
        (GOOD, BOOK + "stop 1 1 test:ada 15\n", {"appended by an agent that had lost its task": 1}),
        (GOOD, BOOK + "stop 1 1 test:ada 15\nstale 1 1 test:ada 16\n", {}),
        (((BOB, (OPEN, ACTIVE)), *GOOD), BOOK, {"out of order": 1}),
        (GOOD, BOOK.replace("30", "15"), {"worked on beside a task with the same files": 1}),
    ],
)
def test_what_the_drill_is_there_to_notice_is_noticed(
    steps: tuple[tuple[str, tuple[Status, Status]], ...], book: str, found: dict[str, int]
) -> None:
    counts = audit(history(*steps), read_book(book))

    assert {what: counts[what] for what in BREACHES if counts[what]} == found
