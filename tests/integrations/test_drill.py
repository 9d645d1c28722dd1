"""Random sequences of our commands, the coding agents' own and a person's edits leave everything of theirs, and nothing
of ours. The long form is `python -m tests.integrations.drill --sequences 1000`.
"""

from pathlib import Path

import pytest

from tests.integrations import drill
from tildone.integrations import INTEGRATIONS
from tildone.integrations.settings import jsonc, toml

GROUPS = 6
"""Sequences are run in groups, so that a failure is found by its number."""


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_after_the_last_uninstall_nothing_of_ours_and_everything_of_theirs(
    tmp_path: Path, name: str, group: int
) -> None:
    for number in range(group, drill.SEQUENCES, GROUPS):
        drill.run(name, number, tmp_path.resolve() / str(number))


def test_the_drill_notices_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an edit that takes one line too many."""
    removed = toml.remove
    monkeypatch.setattr(toml, "remove", lambda text, path: removed(text, path).rpartition("\n")[0])

    with pytest.raises(AssertionError, match="codex, sequence"):
        run_all("codex", tmp_path)


def test_the_drill_notices_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a removal that does nothing."""
    monkeypatch.setattr(jsonc, "remove", lambda text, _path: text)

    with pytest.raises(AssertionError, match="gemini, sequence"):
        run_all("gemini", tmp_path)


def run_all(name: str, folder: Path) -> None:
    for number in range(drill.SEQUENCES):
        drill.run(name, number, folder / str(number))
