"""The replies in every conversation file are current."""

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.conversations.replay import FOLDER, STEP, conversations, dialect_of, replayed
from tildone.plan.dialects.indexed import DIALECT as INDEXED

every_conversation = pytest.mark.parametrize(
    "file", conversations(), ids=lambda file: file.relative_to(FOLDER).as_posix()
)


@every_conversation
def test_a_conversation_has_the_current_replies(file: Path, tmp_path: Path) -> None:
    """Replayed in a new session; a failure shows how the file would change."""
    written = file.read_text(encoding="utf-8")

    actual = replayed(written, dialect_of(file), tmp_path)

    assert "\n".join(unified_diff(written.split("\n"), actual.split("\n"), "written", "replayed", lineterm="")) == ""


@every_conversation
def test_a_conversation_has_a_title_and_at_least_one_call(file: Path) -> None:
    """It is a page for people, and a page without calls proves nothing."""
    written = file.read_text(encoding="utf-8")

    assert written.startswith("# ")
    assert STEP.search(written)


def test_replaying_puts_the_current_reply_under_every_call(tmp_path: Path) -> None:
    """Missing replies are added and wrong ones replaced; prose and calls stay."""
    document = (
        '# T\n\nFirst.\n\n> write_todos {"mode": "append",\n>  "todos": [{"text": "a"}]}\n\nThen:\n\n'
        "> list_todos {}\n\n    a lie\n\n    of two parts\n\nEnd.\n"
    )

    assert replayed(document, INDEXED, tmp_path) == (
        '# T\n\nFirst.\n\n> write_todos {"mode": "append",\n>  "todos": [{"text": "a"}]}\n\n'
        "    Appended 1 item(s)\n\n    – [0] a\n\nThen:\n\n> list_todos {}\n\n    – [0] a\n\nEnd.\n"
    )


def test_empty_replies_are_shown(tmp_path: Path) -> None:
    """No context, no log entry, and no prompt to continue."""
    document = "> /context\n\n> /completions\n\n> /turn ended\n"

    assert replayed(document, INDEXED, tmp_path) == (
        "> /context\n\n    (nothing)\n\n> /completions\n\n    (nothing)\n\n"
        "> /turn ended\n\n    (the agent rests: there is no plan)\n"
    )


def test_an_agent_without_progress_is_not_continued(tmp_path: Path) -> None:
    """After the twentieth nudge in a row."""
    document = '> write_todos {"mode": "append", "todos": [{"text": "a"}]}\n\n' + "> /turn ended\n\n" * 21

    assert replayed(document, INDEXED, tmp_path).endswith("\n    (the agent is let go: 20 nudges)\n\n")
