"""The campaign of faults in its short form, that it notices what it should.

Hostile values in the tables of a fleet.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.app.test_who import TYPED
from tests.faults import agent_shell, campaign, shared_plan, stores
from tests.faults.doors import added_texts
from tests.faults.fuzz import worker
from tests.faults.fuzz.odd import Target
from tests.faults.tally import BAD, Plan, Tally, short
from tests.faults.tampered_rows import Ground, tamper
from tests.hooks.agent import WITH_HOOKS
from tests.plans import plan_of
from tests.stores.conftest import server
from tests.stores.contract import chain
from tests.stores.many_hands.audit import BREACHES
from tests.stores.postgres import Server, needs_server
from tildone.app.who import PersonAct
from tildone.base import UsageError
from tildone.fleet.engine import DBOS
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills, alarms, limits and workers are Unix's")

ROOT = Path(__file__).resolve().parents[2]


COMMAND = (sys.executable, "-m", "tests.faults")


def run(*words: str, timeout: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture
def _alarmed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The worker's watchdog, after a moment."""
    monkeypatch.setattr(worker, "WATCHDOG_SECONDS", 0.05)
    before = signal.signal(signal.SIGALRM, worker.alarm)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_the_short_form_finds_nothing() -> None:
    """Every part runs, and the last line has the totals."""
    done = run("short", "seed=20261116", timeout=280)

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0].startswith("seed=20261116; failures are kept in ")
    assert [line[:14].strip() for line in lines[1:-1]] == list(campaign.PARTS)
    assert re.fullmatch(r"[0-9,]+ inputs, 0 crashes, 0 hangs, 0 acknowledged changes lost", lines[-1])


@pytest.mark.slow
def test_an_interrupted_campaign_says_what_it_counted_so_far() -> None:
    started = [*COMMAND, "long", "clocks", "odd-inputs", "minutes=5"]
    with subprocess.Popen(started, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("clocks"):
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out.splitlines()[-2] == "interrupted"
    assert "inputs, 0 crashes" in out.splitlines()[-1]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_no_act_of_a_person_gets_through_in_the_shell_of_an_agent(tmp_path: Path) -> None:
    """Only a process that has left the tree and has none of the variables is like one of the person."""
    tally = Tally("")
    agent_shell.agent_shell(short(1, tmp_path), tally)

    count = tally.counts
    assert count["inputs"] == count["refused"] > len(TYPED)
    assert (count["got_through"], count["not_preventable"]) == (0, len(WITH_HOOKS))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_an_act_that_gets_through_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shells, tally = agent_shell.all_shells, Tally("")
    monkeypatch.setattr(agent_shell, "all_shells", lambda place: islice(shells(place), 1))
    monkeypatch.setattr(agent_shell, "trials_in", lambda shell, **_: [(PersonAct.RESUME, next(shell.ways()))])
    monkeypatch.setitem(TYPED, PersonAct.RESUME, ("status",))

    agent_shell.agent_shell(short(1, tmp_path), tally)

    assert (tally.counts["got_through"], tally.counts["refused"]) == (1, 0)
    assert "claude, its variables, RESUME: 0" in (tmp_path / "agent-shell.txt").read_text()


def test_a_campaign_that_found_something_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(found: str) -> int:
        counts = {"inputs": 1, found: 1}
        monkeypatch.setattr(campaign, "PARTS", {"part": lambda _plan, tally: tally.add(**counts)})
        return campaign.run(short(1, tmp_path))

    assert {found: code(found) for found in ("acknowledged", *BAD)} == {"acknowledged": 0} | dict.fromkeys(BAD, 1)


def test_a_part_that_cannot_be_run_fails_the_campaign_and_not_the_other_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_plan: Plan, _tally: Tally) -> None:
        raise OSError("no processes left")

    monkeypatch.setattr(campaign, "PARTS", {"broken": broken, "other": lambda _plan, tally: tally.add(inputs=7)})

    assert campaign.run(short(1, tmp_path)) == 1
    shown = capsys.readouterr().out
    assert "FAILED: OSError: no processes left" in shown
    assert shown.splitlines()[-1].startswith("7 inputs")


@pytest.mark.usefixtures("_alarmed")
def test_a_crash_a_hang_and_an_answer_are_told_apart_and_the_input_is_kept(tmp_path: Path) -> None:
    def feed(given: str) -> None:
        if given == "loop":
            while True:
                pass
        raise UsageError(given) if given == "refuse" else KeyError(given)

    def tried(given: str) -> str:
        return worker.try_input(Target("odd/one", lambda _: given, feed, (UsageError,)), "1", 5, tmp_path)

    assert [tried(given) for given in ("refuse", "break", "loop")] == ["", "crash", "hang"]
    [crash, hang] = sorted(tmp_path.iterdir())
    assert (crash.name, hang.name) == ("crash-5-odd-one.txt", "hang-5-odd-one.txt")
    assert crash.read_text().startswith("seed=1 odd/one 5\n'break'\n")


def test_an_input_follows_from_the_seed_the_parser_and_its_number(tmp_path: Path) -> None:
    drawn: list[float] = []
    target = Target("x", lambda luck: luck.random(), drawn.append)

    for seed, number in (("1", 2), ("1", 2), ("1", 3), ("2", 2)):
        worker.try_input(target, seed, number, tmp_path)

    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_what_is_lost_breached_or_added_twice_is_counted() -> None:
    store, kills, shared = MemoryStore(), Tally("kills"), Tally("shared plan")
    chain(store, "s", "a", "b")

    stores.count(kills, ["a", "b", "gone"], store, kills=1)
    shared_plan.count(shared, {"tasks": 2, "taken over": 0} | dict.fromkeys(BREACHES, 0) | {"overwritten": 3})

    assert (kills.counts["lost"], kills.counts["acknowledged"]) == (1, 3)
    assert shared.counts == {"inputs": 2, "tasks": 2, "taken_over": 0, "overwritten": 3, "breaches": 3}
    assert added_texts([plan_of("a"), plan_of("a", "b"), plan_of("b"), plan_of("a", "b")]) == {"a": 2, "b": 1}


def test_a_copy_that_shows_what_was_never_written_is_counted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plans.db")
    chain(store, "s", "a", "b")
    store.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 1000)

    assert stores.examined(tmp_path / "plans.db", ["a", "b", "c"]) == {"readable": 1}
    assert stores.examined(tmp_path / "plans.db", ["a", "x", "c"]) == {"crashes": 1}
    assert stores.examined(broken, ["a"]) == {"damaged": 1}


def test_unknown_words_are_refused() -> None:
    done = run("quick", timeout=60)

    assert (done.returncode, done.stdout) == (2, "")
    assert "python -m tests.faults" in done.stderr


__all__ = ["server"]


def test_what_was_touched_is_noticed(tmp_path: Path) -> None:
    ground = Ground(tmp_path, "plans.db", is_long=False)
    own = tmp_path / "data" / "tildone"
    for allowed in (own / "fleet" / "folders", tmp_path / "here"):
        allowed.mkdir(parents=True)
    assert ground.touched() == []

    (ground.victim / "deep" / "kept.txt").write_text("changed")
    (own / "x2" / "deep" / "kept.txt").unlink()
    (own / "x2" / "deep").rmdir()
    (tmp_path / "victim.md").write_text("a report")
    (own / "x.epoch").write_text("1")

    outside = ("data/tildone/x.epoch", "data/tildone/x2/deep", "data/tildone/x2/deep/kept.txt", "victim.md")
    assert ground.touched() == sorted(str(tmp_path / name) for name in (*outside, "victim/deep/kept.txt"))


def test_no_row_leads_out_of_the_folders(tmp_path: Path) -> None:
    """A few values in the columns that become paths. The campaign tries all of them."""
    assert tampered(tmp_path, str(tmp_path / "plans.db"), "table") > 50


@pytest.mark.slow
@needs_server
@pytest.mark.parametrize("engine", ["table", DBOS])
def test_no_row_of_a_server_leads_out_of_the_folders(server: Server, tmp_path: Path, engine: str) -> None:
    with server.database() as url:
        assert tampered(tmp_path, url, engine) > 50


def tampered(folder: Path, address: str, engine: str) -> int:
    """Change rows of a fleet, check that nothing was counted that must not be, and return how many there were."""
    tally = Tally("tampered rows")
    tamper(tally, folder, address, is_long=False, engine=engine)
    rows = tally.counts.pop("inputs")
    assert not any(tally.counts.values()), tally.line()
    return rows
