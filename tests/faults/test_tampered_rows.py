"""Hostile values in the tables of a fleet. `test_campaign.py` runs the short form of the part, too."""

import os
from pathlib import Path

import pytest

from tests.faults.tally import Tally
from tests.faults.tampered_rows import Ground, tamper
from tests.stores.conftest import server
from tests.stores.postgres import Server, needs_server
from tildone.fleet.engine import DBOS

__all__ = ["server"]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="workers are Unix's")


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
