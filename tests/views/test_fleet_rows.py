"""Runs as rows of a list: what waits for a person is first, and every line fits."""

import pytest

from tildone.plan.lists import BadRow, RunView, WorkerInfo
from tildone.plan.runs import Ask, Lease, LeaseState, Work
from tildone.plan.text.runs import RunRow, bad_row_text, listed_first, row_state, run_lines, state_counts, why_queued
from tildone.plan.text.styles import display_width

NOW = 10_000_000
HELD = "build-7/1/a/3"


def row(run: str, state: LeaseState = LeaseState.OPEN, **more: object) -> RunRow:
    """A row of a run; `asks` and `task` are its own, the rest is of its lease."""
    own = {name: more.pop(name) for name in ("asks", "task", "closed", "total", "cost") if name in more}
    remaining = int(str(more.pop("remaining", 1000)))
    lease = Lease(run, state=state, **{"hand": 0, "session": "s", "since": NOW - 5000, **more})  # type: ignore[arg-type]  # as given
    return RunRow(RunView(lease, remaining=remaining), **own)  # type: ignore[arg-type]  # as given


def texts(rows: list[RunRow], columns: int | None = None) -> list[str]:
    return ["".join(str(span.text) for span in line) for line in run_lines(rows, NOW, columns)]


def test_what_waits_for_a_person_is_first_and_the_newest_end_before_older_ones() -> None:
    rows = [
        row("done-old", LeaseState.DONE, since=1000),
        row("done-new", LeaseState.DONE, since=2000),
        row("queued"),
        row("delayed", not_before=NOW + 1),
        row("running", owner=HELD),
        row("pausing", owner=HELD, ask=Ask.PAUSE),
        row("lapsed", owner=HELD, remaining=0),
        row("failed", LeaseState.FAILED),
        row("waiting", LeaseState.WAITING, asks="Which?"),
        row("asking-new", owner=HELD, asks="Why?", since=2000),
        row("asking-old", owner=HELD, asks="Why?", since=1000),
    ]

    ordered = sorted(rows, key=lambda each: listed_first(each, NOW))

    assert [each.lease.run for each in ordered] == [
        "asking-old",
        "asking-new",
        "waiting",
        "failed",
        "lapsed",
        "running",
        "pausing",
        "delayed",
        "queued",
        "done-new",
        "done-old",
    ]
    assert state_counts(ordered, NOW).startswith("2 asking, 1 waiting, 1 failed, 1 lapsed, 1 running, 1 pausing")
    assert state_counts([], NOW) == ""


def test_every_state_has_a_place_in_the_order() -> None:
    states = [row("r", state) for state in LeaseState]
    asked = [row("r", owner=HELD, ask=ask) for ask in Ask]

    places = [listed_first(each, NOW)[0] for each in [*states, *asked]]
    assert len(set(places[: len(states)])) == len(states)
    assert len(set(places[len(states) :]) - set(places[: len(states)])) >= len({"running", "pausing", "cancelling"})


def test_a_question_takes_the_place_of_the_task() -> None:
    asking = row("r", owner=HELD, asks="May I?\nReally", task="Deploy", closed=1, total=3, cost=1.5)

    assert row_state(asking, NOW) == "asking"
    [line] = texts([asking])
    assert line == f"r  asking          1/3    $1.50     5 s  {'build-7/1/a':<24}  asks: May I?⏎Really"
    assert "Deploy" in texts([row("r", task="Deploy")])[0]


def test_a_line_without_a_task_ends_with_its_last_fact() -> None:
    assert texts([row("r", LeaseState.DONE)]) == ["r  done            0/0              5 s"]


@pytest.mark.parametrize("columns", [20, 40, 80, 109, 110, 120])
def test_lines_fit_the_terminal(columns: int) -> None:
    rows = [row("n" * 60, owner="w" * 50 + "/1/a/2", task="über 漢字 " * 30, total=12, cost=1234.5), row("r", hand=1)]

    lines = texts(rows, columns)

    assert len(lines) == (2 if columns >= 110 else 4)
    assert all(display_width(line) <= columns for line in lines)
    assert any(line.startswith("r/2") for line in lines)


@pytest.mark.parametrize(
    ("work", "held", "workers", "limit", "why"),
    [
        (Work(), (), (), 0, "there are no workers"),
        (Work(labels=("gpu",)), (), (WorkerInfo("w"),), 0, "no worker has its labels: gpu"),
        (Work(repo="/r"), (Work(repo="/r"),), (WorkerInfo("w"),), 0, "other works on the same repository"),
        (Work(), (Work(),), (WorkerInfo("w", slots=2),), 0, ""),
        (Work(provider="p"), (Work(provider="p"),), (WorkerInfo("w"),), 1, "1 runs use p, which is its limit"),
        (Work(), (Work(),), (WorkerInfo("w"),), 0, "all slots are in use"),
        (Work(labels=("gpu",)), (), (WorkerInfo("w", labels=("gpu", "big")),), 0, ""),
    ],
)
def test_why_a_run_is_queued(
    work: Work, held: tuple[Work, ...], workers: tuple[WorkerInfo, ...], limit: int, why: str
) -> None:
    others = [RunView(Lease("other", 0, "o", each, owner="w/1")) for each in held]
    queued = Lease("r", 0, "s", work)

    assert why_queued(queued, [RunView(queued), *others], workers, limit) == why
    assert why_queued(Lease("r", 0, "s", work, LeaseState.DONE), others, workers, limit) == ""


def test_a_row_that_is_wrong_is_named_so_that_it_can_be_printed() -> None:
    bad = BadRow("leases", "../../x\x1b[2J" + "x" * 900, "a\nb")

    assert bad_row_text(bad).startswith("a row of the fleet's table leases, '../../x")
    assert bad_row_text(bad).isprintable()
    assert len(bad_row_text(bad)) < 200
