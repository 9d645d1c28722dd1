"""What a person settles about the gate: bounds, and whether there is one."""

from pathlib import Path

import pytest

from tildone.config import load
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import UsageError
from tildone.loop.decision import Patience
from tildone.stores.memory import MemoryStore
from tildone.wiring import open_session


def patience(tmp_path: Path, **environ: str) -> Patience:
    homes = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    settings = load({}, {**homes, **environ}, str(tmp_path))
    return open_session(settings, BY_HAND, MemoryStore()).patience


def test_nothing_said_means_the_usual_bounds(tmp_path: Path) -> None:
    assert patience(tmp_path) == Patience()


def test_every_bound_may_be_said_in_a_file_and_nearer_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "tildone.toml").write_text("max_nudges = 1\nmax_same = 2\nmax_minutes = 3\nmax_cost = 4\n", "utf-8")

    said = patience(tmp_path, TILDONE_MAX_COST="4.5", TILDONE_MAX_SAME="0")

    assert (said.nudges, said.repeats, said.minutes, said.cost) == (1, 0, 3, 4.5)


@pytest.mark.parametrize(("word", "held"), [("on", True), ("off", False)])
def test_the_gate_is_on_or_off(tmp_path: Path, word: str, *, held: bool) -> None:
    assert load({}, {"TILDONE_GATE": word, "XDG_CONFIG_HOME": str(tmp_path)}, str(tmp_path)).gate is held


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        ("GATE", "maybe", """gate must be "on" or "off", not 'maybe'"""),
        ("MAX_COST", "much", "max-cost must be a number of dollars, 0 or more, not 'much'"),
        ("MAX_COST", "-1", "max-cost must be a number of dollars"),
        ("MAX_COST", "nan", "max-cost must be a number of dollars"),
        ("MAX_COST", "inf", "max-cost must be a number of dollars"),
        ("MAX_SAME", "1.5", "max-same must be a whole number, 0 or more, not '1.5'"),
        ("MAX_MINUTES", "-1", "max-minutes must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path: Path, name: str, word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        load({}, {f"TILDONE_{name}": word, "XDG_CONFIG_HOME": str(tmp_path)}, str(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gate = true", 'gate must be "on" or "off"'),
        ("gate = []", 'gate must be "on" or "off"'),
        ('max_cost = "5"', "max_cost must be a number of dollars, 0 or more"),
        ("max_cost = inf", "max_cost must be a number of dollars"),
        ("max_cost = true", "max_cost must be a number of dollars"),
        ("max_minutes = 1.5", "max_minutes must be a whole number"),
    ],
)
def test_what_makes_no_sense_in_a_file_is_said_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "tildone.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=f"tildone.toml: {said}"):
        load({}, {"XDG_CONFIG_HOME": str(tmp_path)}, str(tmp_path))
