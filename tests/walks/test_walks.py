"""A newcomer's first ten minutes at a real terminal: every command that is typed gives what the page says."""

from pathlib import Path

import pytest

from tests.walks import picture, tmux
from tests.walks.walk import READERS, recording, transcript, walk, walk_with_claude, why_no_claude

at_a_terminal = pytest.mark.skipif(tmux.why_not() is not None, reason=str(tmux.why_not()))
QUICK = ("agent", "terminal", "library")


@at_a_terminal
@pytest.mark.parametrize(
    "reader", [*QUICK, *(pytest.param(reader, marks=pytest.mark.slow) for reader in READERS if reader not in QUICK)]
)
def test_every_command_gives_what_the_page_says(reader: str, tmp_path: Path) -> None:
    """And what the terminal shows is what was recorded: `python3 do.py docs` records it again."""
    steps = walk(READERS[reader], tmp_path)

    assert len(steps) >= 3
    assert [(step.command, step.expected, step.shown) for step in steps if not step.is_as_promised] == []
    assert recording(reader).read_text(encoding="utf-8") == transcript(steps, tmp_path)


@at_a_terminal
@pytest.mark.slow
@pytest.mark.skipif(why_no_claude() is not None, reason=str(why_no_claude()))
def test_claude_code_itself_gives_what_the_page_says(tmp_path: Path) -> None:
    """The walk with an agent, in the real one; elsewhere a program of ours takes its place."""
    steps, model = walk_with_claude(READERS["agent"], tmp_path)

    assert [(step.command, step.expected, step.shown) for step in steps if not step.is_as_promised] == []
    assert "told to go on" in transcript(steps, tmp_path)
    assert picture.conversation(model.requests, model.script[-1]["text"]) == picture.recorded()


@at_a_terminal
def test_a_terminal_shows_what_a_person_would_see(tmp_path: Path) -> None:
    """Its size, output that scrolls off the screen, lines longer than the screen, and output without a line end."""
    with tmux.Terminal(tmp_path, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}) as terminal:
        assert terminal.type("stty size") == "24 80"
        assert terminal.type("seq 1 50").split("\n") == [str(number) for number in range(1, 51)]
        assert terminal.type("printf 'ø%.0s' $(seq 100)") == "ø" * 100
        assert terminal.type("cat <<END\none\nEND") == "one"
        assert terminal.type("true") == ""
        assert terminal.screen.endswith("$ true\n$")
        assert len(terminal.screen.split("\n")) == tmux.ROWS


def test_the_picture_shows_the_recorded_conversation() -> None:
    """`python -m tests.walks.picture` records it again, in Claude Code."""
    assert picture.DRAWING.read_text(encoding="utf-8") == picture.svg(picture.recorded())
