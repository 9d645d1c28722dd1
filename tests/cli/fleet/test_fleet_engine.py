"""The engine of a fleet on PostgreSQL, as a person sees it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator, postgres, sqlite
from tests.fleet.test_engines import needs_dbos
from tests.fleet.workers import repository
from tests.stores.postgres import execute, needs_server
from tests.suite.waiting import until

on_postgres = pytest.mark.parametrize(
    "operator", [pytest.param(postgres, marks=[needs_server, needs_dbos])], indirect=True
)
on_sqlite = pytest.mark.parametrize("operator", [sqlite], indirect=True)
ATTEMPTS = "SELECT workflow_uuid, status, executor_id FROM tildone_dbos.workflow_status ORDER BY 1"
IMPORTED = """
import json, sys
from tildone.cli import main

for verb in json.loads(sys.argv[1]):
    assert main(["fleet", *verb]) == 0, verb
    assert "dbos" not in sys.modules, verb
"""


@on_postgres
def test_a_fleet_on_postgresql_is_prepared_used_and_emptied(operator: Operator) -> None:
    """From nothing to a run that is done. The worker prints what it always does, and nothing of the engine's."""
    execute(operator.store_address, "DROP SCHEMA IF EXISTS tildone_dbos CASCADE")
    code, out, _ = operator.run("fleet", "up", "--check")
    assert (code, "no engine is chosen for the workers" in out) == (5, True)
    code, _, err = operator.run("fleet", "work")
    assert (code, "is not prepared for workers: tildone fleet up" in err) == (5, True)

    assert "the engine of the workers is dbos" in operator.run("fleet", "up")[1]
    assert "the engine of the workers is dbos" in operator.run("fleet", "up", "--check")[1]
    (operator.folder / "a.md").write_text("- [ ] one\n  $ test -e file\n", encoding="utf-8")
    run = operator.add("a.md", "--agent", "shell", "--repo", str(repository(operator.folder)))
    command = [sys.executable, "-m", "tildone", "fleet", "work", "--allow", "*"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as worker:
        try:
            until(lambda: [row["state"] for row in operator.json("ls", "--all")["runs"]] == ["done"])
        finally:
            worker.terminate()
            out, err = worker.communicate()

    assert (worker.returncode, out) == (0, "")
    assert [line for line in err.splitlines() if not line.startswith(("worker ", "taking ", f"run {run}"))] == []
    [(name, status, executor)] = execute(operator.store_address, ATTEMPTS)
    assert (name, status) == (f"{run}.0.1", "SUCCESS")
    assert executor != "local"
    verbs = (["ls"], ["show", run], ["answer"], ["add", operator.plan("b.md", "one")])
    assert subprocess.run([sys.executable, "-c", IMPORTED, json.dumps(verbs)], check=False).returncode == 0
    execute(operator.store_address, "UPDATE tildone.leases SET since = 0 WHERE state <> 'open'")
    assert "Removed 1 run" in operator.fleet("gc")
    assert execute(operator.store_address, ATTEMPTS) == []


@on_postgres
def test_tables_of_the_engine_that_are_missing_are_found(operator: Operator) -> None:
    execute(operator.store_address, "UPDATE tildone.fleet SET engine = 'dbos'")
    execute(operator.store_address, "DROP SCHEMA IF EXISTS tildone_dbos CASCADE")

    code, out, _ = operator.run("fleet", "up", "--check")

    assert (code, "the tables of the engine dbos are missing, or too old" in out) == (5, True)
    code, _, err = operator.run("fleet", "work")
    assert (code, "is not prepared for workers: tildone fleet up" in err) == (5, True)


@on_postgres
def test_without_the_package_the_table_is_the_engine(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    code, _, err = operator.run("fleet", "up")
    assert (code, "pip install 'tildone[fleet]'" in err) == (2, True)

    operator.configure('engine = "table"')

    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    assert execute(operator.store_address, "SELECT engine FROM tildone.fleet") == [("table",)]


@on_sqlite
def test_a_file_needs_no_engine_but_its_own_table(operator: Operator) -> None:
    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    operator.configure('engine = "dbos"')
    code, _, err = operator.run("fleet", "up")
    assert (code, "needs a PostgreSQL database" in err) == (2, True)
    operator.configure('engine = "other"')
    assert "engine must be table or dbos" in operator.run("fleet", "up")[2]
    assert not Path("dbos").exists()
