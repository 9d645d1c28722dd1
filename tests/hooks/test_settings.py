"""Settings of the gate: its bounds, and whether it is on."""

from pathlib import Path

import pytest

from tests.trusted import write_trusted
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.base.errors import UsageError
from tildone.plan.dialects import BY_HAND
from tildone.plan.gate import Patience
from tildone.stores.memory import MemoryStore


def patience(tmp_path: Path, **environ: str) -> Patience:
    homes = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    settings = load({}, {**homes, **environ}, str(tmp_path))
    return open_session(settings, BY_HAND, MemoryStore()).patience


def test_the_default_bounds(tmp_path: Path) -> None:
    assert patience(tmp_path) == Patience()


def test_every_bound_can_be_set_in_a_file_and_overridden_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "tildone.toml").write_text("max_nudges = 3\nmax_same = 2\nmax_minutes = 30\nmax_cost = 4\n", "utf-8")

    bounds = patience(tmp_path, TILDONE_MAX_COST="4.5", TILDONE_MAX_SAME="0")

    assert (bounds.nudges, bounds.repeats, bounds.minutes, bounds.cost) == (3, 0, 30, 4.5)


def test_the_gate_is_on_or_off(tmp_path: Path) -> None:
    for word, enabled in (("on", True), ("off", False)):
        assert load({}, {"TILDONE_GATE": word, "XDG_CONFIG_HOME": str(tmp_path)}, str(tmp_path)).gate is enabled


def test_an_invalid_value_is_reported(tmp_path: Path) -> None:
    for name, word, message in (
        ("GATE", "maybe", """gate must be "on" or "off", not 'maybe'"""),
        ("MAX_COST", "much", "max-cost must be a number of dollars, 0 or more, not 'much'"),
        ("MAX_COST", "-1", "max-cost must be a number of dollars, 0 or more, not '-1'"),
        ("MAX_COST", "nan", "max-cost must be a number of dollars, 0 or more, not 'nan'"),
        ("MAX_COST", "inf", "max-cost must be a number of dollars, 0 or more, not 'inf'"),
        ("MAX_SAME", "1.5", "max-same must be a whole number, 0 or more, not '1.5'"),
        ("MAX_MINUTES", "-1", "max-minutes must be a whole number, 0 or more, not '-1'"),
    ):
        with pytest.raises(UsageError, match=message):
            load({}, {f"TILDONE_{name}": word, "XDG_CONFIG_HOME": str(tmp_path)}, str(tmp_path))


def test_an_invalid_value_in_a_file_is_reported_with_the_name_of_the_file(tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    for text, message in {
        "gate = true": 'gate must be "on" or "off"',
        "gate = []": 'gate must be "on" or "off"',
        'max_cost = "5"': "max_cost must be a number of dollars, 0 or more",
        "max_cost = inf": "max_cost must be a number of dollars",
        "max_cost = true": "max_cost must be a number of dollars",
        "max_minutes = 1.5": "max_minutes must be a whole number",
    }.items():
        write_trusted(tmp_path / "tildone.toml", text, home)

        with pytest.raises(UsageError, match=f"tildone.toml, line 1: {message}"):
            load({}, home, str(tmp_path))
