"""`tildone prune`: old sessions are deleted permanently, and no others."""

import os
import time
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Person
from tests.stores.contract import ids
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Status, Task, flat
from tildone.stores.sqlite.store import SqliteStore

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")

DAY = 86_400_000


@pytest.fixture
def plans(person: Person) -> Path:
    """A store with sessions of several ages, some of them with an open task."""
    path = person.folder / "plans.db"
    person.environ["TILDONE_STORE"] = str(path)
    store = SqliteStore(path)
    for name, days, status in [
        ("ancient", 400, Status.COMPLETED),
        ("open", 200, Status.PENDING),
        ("old", 100, Status.ABANDONED),
        ("recent", 10, Status.COMPLETED),
    ]:
        written(store, name, days, status)
    store.close()
    return path


def written(store: SqliteStore, name: str, days: int, status: Status, text: str = "x") -> None:
    """Append an event that was written `days` days ago."""
    head = store.session_head(name).head
    at = time.time_ns() // 1_000_000 - days * DAY
    fact = PlanChanged(flat(Task(text, status)))
    store.append(name, Event(f"{len(ids(store.events(name)))}", head, at, Actor.AGENT, fact))


def names(path: Path) -> list[str]:
    store = SqliteStore(path)
    found = [info.name for info in store.sessions()]
    store.close()
    return found


def test_old_sessions_are_listed_and_deleted(person: Person, plans: Path) -> None:
    """The oldest first, with age, events and open tasks; sessions with open tasks are kept."""
    said = person.says("prune", "--older-than", "90d", "--yes").splitlines()

    assert said == [
        "400 days       1 event    0 open  ancient",
        "200 days       1 event    1 open  open",
        "100 days       1 event    0 open  old",
        "1 session with open tasks would be kept; to delete them as well, use --open",
        "Deleted 2 sessions with 2 events. Their space remains reserved for new plans.",
    ]
    assert names(plans) == ["recent", "open"]


def test_open_includes_sessions_with_open_tasks(person: Person, plans: Path) -> None:
    person.says("prune", "--older-than", "90d", "--open", "--yes")

    assert names(plans) == ["recent"]


@pytest.mark.parametrize(
    ("span", "left"),
    [("1y", 3), ("12w", 2), ("3M", 2), ("1d", 1), ("9d", 1), ("11d", 2), ("500d", 4)],
)
def test_ages_are_converted_to_days(person: Person, plans: Path, span: str, left: int) -> None:
    """A month has 30 days, a year 365."""
    person.says("prune", "--older-than", span, "--yes")

    assert len(names(plans)) == left


def test_an_invalid_age_is_refused(person: Person, plans: Path) -> None:
    """Before the store is opened, and with examples of valid ages."""
    for span in ("", "90", "d", "0d", "-1d", "1h", "1.5y", "٣d", "1 d", f"{10**9}d"):
        answer = person.run("prune", "--yes", *([f"--older-than={span}"] if span else []))

        assert answer.code == 2, span
        assert "(90d, 12w, 6m, 1y)" in answer.err, span
        assert len(names(plans)) == 4, span


def test_nothing_is_deleted_in_a_pipe_without_yes(person: Person, plans: Path) -> None:
    answer = person.run("prune", "--older-than", "90d")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "tildone: confirmation requires a terminal; use --yes to skip it, or --dry-run to list the sessions\n"
    )
    assert len(names(plans)) == 4


def test_a_dry_run_lists_what_would_be_deleted(person: Person, plans: Path) -> None:
    said = person.says("prune", "--older-than", "1y", "--dry-run")

    assert said == "400 days       1 event    0 open  ancient\n"
    assert len(names(plans)) == 4


def test_prune_prints_json(person: Person, plans: Path) -> None:
    found = person.run("prune", "--older-than", "90d", "--json", "--yes").json["sessions"]

    assert [(each["title"], each["days"], each["events"], each["open"], each["removed"]) for each in found] == [
        ("ancient", 400, 1, 0, True),
        ("open", 200, 1, 1, False),
        ("old", 100, 1, 0, True),
    ]
    assert len(names(plans)) == 2


def test_prune_reports_that_no_session_is_old(person: Person, plans: Path) -> None:
    said = person.says("prune", "--older-than", "2y", "--yes")

    assert said == f"No session in {plans} was last changed more than 2 years ago.\n"
    assert person.run("prune", "--older-than", "2y", "--json", "--dry-run").json == {"version": 1, "sessions": []}


def test_prune_creates_no_store(person: Person) -> None:
    answer = person.run("prune", "--older-than", "1y", "--yes", "--store", "nowhere.db")

    assert (answer.code, answer.err) == (
        4,
        f"tildone: there is no store at {person.folder / 'nowhere.db'}; to see which store is used: tildone doctor\n",
    )
    assert not (person.folder / "nowhere.db").exists()


def test_pruning_shrinks_the_file(person: Person, plans: Path) -> None:
    """The space of deleted sessions is returned to the disk."""
    store = SqliteStore(plans)
    for _ in range(30):
        written(store, "large", 300, Status.COMPLETED, "x" * 20_000)
    store.close()
    before = plans.stat().st_size

    said = person.says("prune", "--older-than", "250d", "--yes")

    assert "KB were freed." in said
    assert plans.stat().st_size < before / 4


@needs_terminal
@pytest.mark.parametrize(("typed", "left", "code"), [(b"y\n", 2, 0), (b"\n", 4, 0), (b"n\n", 4, 0), (CTRL_C, 4, 130)])
def test_prune_asks_for_confirmation(person: Person, plans: Path, typed: bytes, left: int, code: int) -> None:
    """Any answer but yes is a no."""
    terminal = person.at_terminal("prune", "--older-than", "90d")

    terminal.until("Delete 2 sessions with 2 events permanently? [y/N] ")
    terminal.type(typed)
    answer = terminal.end()

    assert answer.code == code
    assert ("Nothing was deleted." in answer.out) == (left == 4 and code == 0)
    assert len(names(plans)) == left


@needs_terminal
def test_a_session_that_changes_during_the_prompt_is_kept(person: Person, plans: Path) -> None:
    """An agent changes one of them before the person answers."""
    terminal = person.at_terminal("prune", "--older-than", "90d")
    terminal.until("[y/N] ")
    store = SqliteStore(plans)
    written(store, "old", 0, Status.IN_PROGRESS)

    terminal.type(b"y\n")
    said = terminal.end().out

    assert "old has changed in the meantime: it was kept." in said
    assert "Deleted 1 session with 1 event." in said
    assert names(plans) == ["old", "recent", "open"]
