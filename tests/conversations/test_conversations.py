"""Every conversation file replays as written."""

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.conversations.replay import FOLDER, STEP, conversations, dialect_of, replayed
from tildone.dialects.indexed import DIALECT as INDEXED

every_conversation = pytest.mark.parametrize(
    "file", conversations(), ids=lambda file: file.relative_to(FOLDER).as_posix()
)


@every_conversation
def test_a_conversation_replays_as_written(file: Path, tmp_path: Path) -> None:
    """A failure shows the diff that would update the file."""
    written = file.read_text(encoding="utf-8")

    actual = replayed(written, dialect_of(file), tmp_path)

    assert "\n".join(unified_diff(written.split("\n"), actual.split("\n"), "written", "replayed", lineterm="")) == ""


@every_conversation
def test_a_conversation_has_a_title_and_something_to_replay(file: Path) -> None:
    """The file is a page of the documentation, and a page without calls tests nothing."""
    written = file.read_text(encoding="utf-8")

    assert written.startswith("# ")
    assert STEP.search(written)


def test_replaying_inserts_the_actual_replies(tmp_path: Path) -> None:
    """Missing replies are inserted and wrong ones replaced; prose and calls are unchanged."""
    document = (
        '# T\n\nFirst.\n\n> write_todos {"mode": "append",\n>  "todos": [{"text": "a"}]}\n\nThen:\n\n'
        "> list_todos {}\n\n    a lie\n\n    of two parts\n\nEnd.\n"
    )

    assert replayed(document, INDEXED, tmp_path) == (
        '# T\n\nFirst.\n\n> write_todos {"mode": "append",\n>  "todos": [{"text": "a"}]}\n\n'
        "    Appended 1 item(s)\n\n    – [0] a\n\nThen:\n\n> list_todos {}\n\n    – [0] a\n\nEnd.\n"
    )


def test_an_empty_reply_is_shown(tmp_path: Path) -> None:
    """There is no context, no completion and no nudge."""
    document = "> /context\n\n> /completions\n\n> /turn ended\n"

    assert replayed(document, INDEXED, tmp_path) == (
        "> /context\n\n    (nothing)\n\n> /completions\n\n    (nothing)\n\n"
        "> /turn ended\n\n    (the agent rests: there is no plan)\n"
    )


def test_an_agent_without_progress_is_not_continued(tmp_path: Path) -> None:
    """The limit is twenty nudges in a row."""
    document = '> write_todos {"mode": "append", "todos": [{"text": "a"}]}\n\n' + "> /turn ended\n\n" * 21

    assert replayed(document, INDEXED, tmp_path).endswith("\n    (the agent is let go: 20 nudges)\n\n")
