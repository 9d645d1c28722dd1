"""A program in a terminal: its screen as it is now, and why it ended."""

import os
from pathlib import Path

import pytest

from tests.walks import tmux
from tests.walks.tmux import Pane, TimedOut

pytestmark = pytest.mark.skipif(tmux.why_not() is not None, reason=str(tmux.why_not()))


def test_each_answer_belongs_to_its_command(tmp_path: Path) -> None:
    """The command that starts tmux is answered, too."""
    with Pane(["cat"], tmp_path, os.environ, size=(80, 24)) as pane:
        answers = [pane.tmux(f"display-message -p '#{{{name}}}'") for name in ("pane_width", "pane_height")]

    assert answers == [["80"], ["24"]]


def test_a_terminal_that_ended_says_with_what(tmp_path: Path) -> None:
    with Pane(["true"], tmp_path, os.environ) as pane, pytest.raises(TimedOut, match="the terminal ended: %exit"):
        list(iter(pane.next_line, None))
