"""The editor: line breaks, history, completion, pastes, and the keys of a shell."""

from pathlib import Path

import pytest
from textual import events

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import WRITE
from tests.tui.run.run_screen import Talk
from tildone.screens.run.composer import TypedHistory, list_files, ranked


@pytest.mark.usefixtures("folder")
async def test_a_message_of_several_lines(talk: Talk) -> None:
    async with talk(ModelServer({"text": "Done."})) as screen:
        await screen.type("one")
        await screen.press("ctrl+j")
        await screen.type("two\\", "enter")
        await screen.type("three")
        assert screen.draft == "one\ntwo\nthree"
        await screen.sees("enter", "Done.")
        assert screen.draft == ""

    assert "one\\ntwo\\nthree" in str(screen.server.requests[0].messages[-1]).replace("\n", "\\n")


@pytest.mark.usefixtures("folder")
async def test_a_paste_is_kept_as_it_is_without_control_characters(talk: Talk) -> None:
    async with talk(ModelServer()) as screen:
        screen.app.post_message(events.Paste("def f():\r\n\treturn 1\x1b[2J\n"))
        await screen.until(lambda: screen.draft != "")

        assert screen.draft == "def f():\n    return 1␛[2J\n"


@pytest.mark.usefixtures("folder")
async def test_the_keys_of_a_shell(talk: Talk) -> None:
    async with talk(ModelServer()) as screen:
        await screen.type("one two three")
        await screen.press("ctrl+w")
        assert screen.draft == "one two "
        await screen.press("ctrl+a", "ctrl+y")
        assert screen.draft == "threeone two "
        await screen.press("alt+f", "ctrl+k")
        assert screen.draft == "threeone"
        await screen.press("ctrl+u")
        assert screen.draft == ""
        await screen.press("ctrl+y", "ctrl+c")
        assert screen.draft == ""


@pytest.mark.usefixtures("folder")
async def test_what_was_sent_comes_back_by_its_beginning(talk: Talk) -> None:
    async with talk(ModelServer({"text": "ok", "repeat": True})) as screen:
        for words in ("run the tests", "fix it", "run again"):
            await screen.send(words)
            await screen.until(lambda: not screen.talk.is_working)
        await screen.type("run")
        await screen.press("up")
        assert screen.draft == "run again"
        await screen.press("up")
        assert screen.draft == "run the tests"
        await screen.press("down", "down")
        assert screen.draft == "run"


async def test_a_file_is_completed_and_git_ignores_are_respected(folder: Path, talk: Talk) -> None:
    (folder / "src").mkdir()
    for name in ("src/grammar.py", "src/parser.py", "notes.txt"):
        (folder / name).write_text("", encoding="utf-8")
    async with talk(ModelServer()) as screen:
        await screen.type("look at @gram")
        await screen.shows("@src/grammar.py")
        await screen.press("tab")
        assert screen.draft == "look at @src/grammar.py "
        await screen.until(lambda: not screen.app.composer.completions.candidates)


@pytest.mark.usefixtures("folder")
async def test_commands_and_their_arguments_are_completed(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, {"text": "ok", "repeat": True}), "Go") as screen:
        await screen.shows("Goes on")
        await screen.type("/the")
        await screen.shows("choose the colours")
        await screen.press("tab")
        assert screen.draft == "/theme "
        await screen.shows("safe-light")
        screen.app.composer.fill("")
        await screen.type("/todo done tw")
        await screen.shows("2  ", "Two")
        await screen.press("tab")
        assert screen.draft == "/todo done 2"
        await screen.sees("enter", "Done: #2 Two")


@pytest.mark.usefixtures("folder")
async def test_escape_closes_the_list_and_nothing_else(talk: Talk) -> None:
    async with talk(ModelServer({"text": "slow", "hold": 1}), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("/th")
        await screen.shows("choose the colours")
        await screen.press("escape")
        await screen.hides("choose the colours")
        assert screen.draft == "/th"
        assert screen.talk.is_working


@pytest.mark.usefixtures("folder")
async def test_the_draft_is_edited_in_another_editor(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho " and more" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with talk(ModelServer()) as screen:
        monkeypatch.setattr(type(screen.app), "suspend", _no_suspend)
        await screen.type("draft")
        await screen.sees("ctrl+g", lambda: screen.draft == "draft and more")


def _no_suspend(_app: object) -> object:
    """The screen of a test has no terminal to give away."""
    from contextlib import nullcontext  # noqa: PLC0415  only here

    return nullcontext()


def test_files_that_git_ignores_are_not_listed(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415  only here

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    for name in ("kept.py", "left.log"):
        (tmp_path / name).write_text("", encoding="utf-8")

    assert sorted(list_files(str(tmp_path))) == [".gitignore", "kept.py"]


def test_without_git_hidden_files_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    for name in ("kept.py", ".hidden/x", ".y"):
        (tmp_path / name).write_text("", encoding="utf-8")

    assert list_files(str(tmp_path)) == ["kept.py"]


@pytest.mark.parametrize(
    ("typed", "first"),
    [("mod", "model"), ("del", "model"), ("mdl", "model"), ("src/c", "src/cli.py"), ("cli", "src/cli.py")],
)
def test_names_are_found_by_prefix_by_part_and_by_letters(typed: str, first: str) -> None:
    assert ranked(typed, ["src/cli.py", "model", "mouse"])[0] == first


def test_the_history_keeps_a_repeated_text_once() -> None:
    history = TypedHistory()
    for text in ("a", "a", "b"):
        history.add(text)

    assert [history.earlier(""), history.earlier(""), history.earlier("")] == ["b", "a", None]
