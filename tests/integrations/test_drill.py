"""Random sequences of our commands, the coding agents' own and a person's edits leave everything of theirs, and nothing
of ours. The long form is `python -m tests.integrations.drill --sequences 1000`.
"""

from pathlib import Path

import pytest

from tests.integrations import drill
from tildone.agents.install import jsonc, toml
from tildone.agents.integrations import INTEGRATIONS

FEW = 12


@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_after_the_last_uninstall_nothing_of_ours_and_everything_of_theirs(tmp_path: Path, name: str) -> None:
    run_all(name, tmp_path.resolve(), range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_after_more_sequences_too(tmp_path: Path, name: str) -> None:
    run_all(name, tmp_path.resolve(), range(FEW, drill.SEQUENCES))


def test_the_drill_notices_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an edit that takes one line too many."""
    removed = toml.remove
    monkeypatch.setattr(toml, "remove", lambda text, path: removed(text, path).rpartition("\n")[0])

    with pytest.raises(AssertionError, match="codex, sequence"):
        run_all("codex", tmp_path, range(drill.SEQUENCES))


def test_the_drill_notices_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a removal that does nothing."""
    monkeypatch.setattr(jsonc, "remove", lambda text, _path: text)

    with pytest.raises(AssertionError, match="gemini, sequence"):
        run_all("gemini", tmp_path, range(drill.SEQUENCES))


def run_all(name: str, folder: Path, numbers: range) -> None:
    for number in numbers:
        drill.run(name, number, folder / str(number))
