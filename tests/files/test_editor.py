"""The person's editor: real programs that edit real files."""

import os
from pathlib import Path

import pytest

from tildone.base.desktop import edit_text, editor_command, run_editor

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the editors are POSIX commands")


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_the_saved_text_is_returned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/milk/bread/")

    assert edit_text("Buy milk\n") == "Buy bread\n"
    assert list(tmp_path.iterdir()) == []


def test_visual_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", "true")

    assert edit_text("as it was") == "as it was"


def test_a_blank_name_is_no_editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file itself is not run in its place."""
    for command in ("", "  "):
        monkeypatch.setenv("EDITOR", command)

        assert editor_command() == ""
        assert run_editor(str(tmp_path / "text.md")) == "no editor is configured; set $VISUAL or $EDITOR"


def test_an_editor_that_fails_saves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for command, why in {
        "false": "false exited with code 1",
        "/nonexistent/editor -w": "cannot run /nonexistent/editor: No such file or directory",
        'vi "': 'cannot run vi ": No closing quotation',
    }.items():
        monkeypatch.setenv("EDITOR", command)

        assert edit_text("text") is None, command
        assert list(tmp_path.iterdir()) == [], command
        assert run_editor(str(tmp_path / "text.md")) == why


def test_a_saved_file_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", r"sh -c 'printf \\377 > \"$0\"'")

    assert edit_text("text") is None
