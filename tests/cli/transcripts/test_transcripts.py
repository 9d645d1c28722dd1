"""Every transcript shows what the commands print."""

import sys
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.cli.transcripts.replay import Typist, transcripts
from tests.project.blocks import rewritten


@pytest.mark.skipif(sys.platform != "linux", reason="the commands between those of tildone are those of Linux")
@pytest.mark.parametrize(
    "section",
    [
        pytest.param(section, id=f"{file.stem}: {section.splitlines()[0]}")
        for file in transcripts()
        for section in file.read_text(encoding="utf-8").split("\n## ")[1:]
    ],
)
def test_a_transcript_shows_the_current_output(section: str, tmp_path: Path) -> None:
    """A failure shows how the file would change."""
    typed = rewritten(section, Typist(tmp_path))

    assert "\n".join(unified_diff(section.split("\n"), typed.split("\n"), "written", "typed", lineterm="")) == ""
