"""The editor of the full-screen run.

Its keys, history, completion and pastes, and the commands that are typed into it.
"""

import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest
from textual import events
from textual.binding import Binding

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import WRITE, edit
from tests.tui.run.run_screen import DONE, STOPS, Screen, Talk, set_keys
from tildone.base.keys import ALL_BINDINGS, RUN_EDITOR, RUN_PLAN, RUN_TRANSCRIPT, TRANSCRIPT_SELECTING, TREE, clash
from tildone.plan.events import Directive
from tildone.plan.text.styles import plain
from tildone.screens.run import FIXED, KEYS
from tildone.screens.run.app import RunApp, plan_colours
from tildone.screens.run.composer import Composer, TypedHistory, list_files, ranked
from tildone.screens.run.drawing import FOOTERS, FooterMode
from tildone.screens.run.sessions import TreeScreen
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.watch.find_screen import FindScreen
from tildone.screens.watch.plan_pane import PlanPane
from tildone.screens.widgets.keys import PALETTES
from tildone.screens.widgets.prompt import Pane, footer_line, help_lines, shown_keys

pytestmark = pytest.mark.usefixtures("folder")


async def test_a_message_of_several_lines_the_keys_of_a_shell_and_a_paste(talk: Talk) -> None:
    """What is pasted is kept as it is, without control characters."""
    async with talk(ModelServer({"text": "Done."})) as screen:
        await screen.type("one")
        await screen.press("ctrl+j")
        await screen.type("two\\", "enter")
        await screen.type("three")
        assert screen.draft == "one\ntwo\nthree"
        await screen.sees("enter", "Done.")
        assert screen.draft == ""
        assert "one\\ntwo\\nthree" in str(screen.server.requests[0].messages[-1]).replace("\n", "\\n")

        screen.app.post_message(events.Paste("def f():\r\n\treturn 1\x1b[2J\n"))
        await screen.until(lambda: screen.draft != "")
        assert screen.draft == "def f():\n    return 1␛[2J\n"
        screen.app.composer.fill("")
        await screen.type("one two three")
        for keys, draft in {
            ("ctrl+w",): "one two ",
            ("ctrl+a", "ctrl+y"): "threeone two ",
            ("alt+f", "ctrl+k"): "threeone",
            ("ctrl+u",): "",
            ("ctrl+y", "ctrl+c"): "",
        }.items():
            await screen.press(*keys)
            assert screen.draft == draft


async def test_what_was_sent_comes_back_by_its_beginning(talk: Talk) -> None:
    async with talk(ModelServer({"text": "ok", "repeat": True})) as screen:
        for words in ("run the tests", "fix it", "run again"):
            await screen.send(words)
            await screen.until(lambda: not screen.talk.is_working)
        await screen.type("run")
        for keys, draft in ((["up"], "run again"), (["up"], "run the tests"), (["down", "down"], "run")):
            await screen.press(*keys)
            assert screen.draft == draft


async def test_a_file_commands_and_their_arguments_are_completed(folder: Path, talk: Talk) -> None:
    (folder / "src").mkdir()
    for name in ("src/grammar.py", "src/parser.py", "notes.txt"):
        (folder / name).write_text("", encoding="utf-8")
    async with talk(ModelServer(WRITE, {"text": "ok", "repeat": True}), "Go") as screen:
        await screen.shows("Goes on")
        await screen.type("look at @gram")
        await screen.shows("@src/grammar.py")
        await screen.press("tab")
        assert screen.draft == "look at @src/grammar.py "
        await screen.until(lambda: not screen.app.composer.completions.candidates)
        screen.app.composer.fill("")
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


async def test_escape_closes_the_list_and_nothing_else(talk: Talk) -> None:
    async with talk(ModelServer({"text": "slow", "hold": 1}), "Go") as screen:
        await screen.until(screen.server.held.is_set)
        await screen.type("/th")
        await screen.shows("choose the colours")
        await screen.press("escape")
        await screen.hides("choose the colours")
        assert screen.draft == "/th"
        assert screen.talk.is_working


async def test_the_draft_opens_in_another_editor(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho " and more" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    async with talk(ModelServer()) as screen:
        # The screen of a test has no terminal to give away.
        monkeypatch.setattr(type(screen.app), "suspend", lambda _: nullcontext())
        await screen.type("draft")
        await screen.sees("ctrl+g", lambda: screen.draft == "draft and more")


def test_files_that_git_ignores_are_not_listed_and_without_git_hidden_ones(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    for name in ("kept.py", ".hidden/x", "left.log"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")

    assert list_files(str(tmp_path)) == ["kept.py", "left.log"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert sorted(list_files(str(tmp_path))) == [".gitignore", ".hidden/x", "kept.py"]


def test_names_are_found_by_prefix_by_part_and_by_letters_and_the_history_keeps_a_repeated_text_once() -> None:
    first = {"mod": "model", "del": "model", "mdl": "model", "src/c": "src/cli.py", "cli": "src/cli.py"}
    assert {typed: ranked(typed, ["src/cli.py", "model", "mouse"])[0] for typed in first} == first

    history = TypedHistory()
    for text in ("a", "a", "b"):
        history.add(text)
    assert [history.earlier(""), history.earlier(""), history.earlier("")] == ["b", "a", None]


OWN = """
keys."run.plan" = "f10"
keys."tui.input.submit" = "ctrl+t"
keys."editor.newLine" = "enter"
keys."task.toggle" = "plus"
keys."app.interrupt" = "f11"
keys."run.palette" = "f12"
"""


def test_every_action_is_bound_under_its_name_and_listed_in_the_help() -> None:
    classes = (RunApp, Composer, PlanPane, TranscriptPane, TreeScreen)
    bound = {each.id for owner in classes for each in owner.BINDINGS if isinstance(each, Binding) and each.id}
    names = {key.name for key in KEYS}
    shown = "\n".join(map(plain, help_lines(KEYS, Pane.ANY, ALL_BINDINGS, 200, FIXED)))

    assert bound <= names
    assert names <= RUN_EDITOR | RUN_TRANSCRIPT | RUN_PLAN | TREE | TRANSCRIPT_SELECTING
    assert names >= RUN_EDITOR | RUN_TRANSCRIPT | RUN_PLAN
    assert clash({}) is None
    for key in KEYS:
        assert f"{' '.join(shown_keys(ALL_BINDINGS[key.name]))} " in shown
        assert key.does in shown


def test_two_actions_of_a_pane_of_the_run_cannot_have_the_same_key() -> None:
    assert clash({"run.plan": "f3"}) == ("run.tree", "run.plan", "f3")
    assert clash({"editor.yank": "ctrl+x"}) == ("run.palette", "editor.yank", "ctrl+x")
    assert clash({"tree.fork": "d"}) == ("tree.plan", "tree.fork", "d")


def test_a_footer_has_the_keys_that_are_in_force() -> None:
    for mode in FooterMode:
        names = [name for hint in FOOTERS[mode] for name in hint.names if name in ALL_BINDINGS]
        own = {**ALL_BINDINGS, **{name: f"ctrl+alt+{place}" for place, name in enumerate(names)}}
        shown = plain(footer_line(FOOTERS[mode], 400, own))
        assert [name for name in names if own[name] not in shown] == [], mode


async def test_a_person_has_keys_of_their_own(talk: Talk, folder: Path) -> None:
    set_keys(folder, OWN)
    async with talk(ModelServer(WRITE, STOPS)) as screen:
        await screen.shows("ctrl+t send", "enter new line", "f10 plan")
        await screen.type("one", "enter")
        await screen.type("two")
        assert screen.draft == "one\ntwo"
        await screen.sees("ctrl+t", "Goes on by itself", "f11 leave it")
        await screen.press("f11")
        await screen.hides("Goes on by itself")
        await screen.press("f2")
        assert not screen.app.plan.display
        await screen.sees("f10", lambda: screen.app.plan.rows.has_focus)
        await screen.shows("+ done")
        await screen.sees("plus", "1/2")
        # The help begins with the pane in use.
        await screen.sees("f1", "In the plan", "done, or open again")
        assert "  f10 " in "\n".join(map(plain, help_lines(KEYS, Pane.PLAN, screen.app.keys, 200, FIXED)))

    assert screen.server.requests[0].messages[-1]["content"] == "one\ntwo"


async def test_the_palette_has_every_action_and_every_command_and_does_the_chosen_one(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(100, 30)) as screen:
        await screen.shows("Goes on by itself")
        await screen.sees("escape ctrl+x", "What is to be done?")
        listed = {each.key for each in cast("FindScreen", screen.app.screen).choices}
        assert {key.name for key in KEYS if key.pane is not Pane.TREE} <= listed
        assert {f"/{name}" for name, _ in screen.app.commands.listed()} <= listed

        await screen.type("task.toggle")
        await screen.shows("done, or open again")
        await screen.press("enter")
        await screen.hides("What is to be done?")
        await screen.shows("1/2")

        await screen.press("escape", "escape", "ctrl+x")
        await screen.enters("/keys", "esc closes this")
        await screen.press("escape")

        await screen.press("ctrl+x")
        await screen.enters("/theme", lambda: screen.draft == "/theme ")
        await screen.until(lambda: screen.app.composer.has_focus)
        screen.app.composer.fill("one two")

        await screen.press("ctrl+x")
        await screen.enters("editor.deleteWordLeft", lambda: screen.draft == "one ")
        screen.app.composer.fill("")

        await screen.press("ctrl+x")
        await screen.enters("run.tree", "d plan then")


async def test_the_tree_shows_the_plan_as_it_was_then_and_has_the_keys_of_the_person(talk: Talk, folder: Path) -> None:
    set_keys(folder, 'keys."tree.plan" = "f7"\nkeys."tree.close" = "x"\n')
    async with talk(ModelServer(WRITE, STOPS, edit("complete", 0), STOPS), "First") as screen:
        await rested(screen)
        await screen.send("Second", "1/2")
        await rested(screen)
        await screen.sees("f3", "Here: plan 1/2", "f7 plan then", "x back")
        await screen.sees("f7", "The plan as it was:", "✓ One", "– Two")
        await screen.press("x")
        await screen.hides("The plan as it was:")
        await screen.sees("k", "Here: plan 0/2")
        await screen.sees("f7", "The plan as it was:", "– One")
        await screen.press("x", "x")
        await screen.hides("f7 plan then")


async def rested(screen: Screen) -> None:
    """Wait for the plan, and leave the countdown."""
    await screen.shows("Goes on by itself")
    await screen.press("escape")
    await screen.hides("Goes on by itself")


async def test_theme_changes_the_colours_of_everything(talk: Talk) -> None:
    async with talk(ModelServer(DONE), "Go") as screen:
        await screen.shows("Done.")
        for name, palette in PALETTES.items():
            await screen.send(f"/theme {name}")
            await screen.until(lambda name=name: screen.app.theme == f"tildone-{name}")  # type: ignore[misc]  # bound
            widgets = [
                widget
                for widget in screen.app.screen.walk_children()
                for each in ("palette", "_palette")
                if getattr(widget, each, palette) not in (palette, plan_colours(palette))
            ]
            assert widgets == []
            styles = [segment.style for segment in screen.app.query_one("#status").render_line(0)]
            expected = "" if palette.is_ansi else palette.bar.lower()
            assert {style.bgcolor.name if style and style.bgcolor else "" for style in styles} == {expected}
            assert screen.app.plan.rows._palette == plan_colours(palette)  # noqa: SLF001  what it is drawn with
        await screen.send("/theme pink", "The themes are dark, light")


async def test_copy_copies_the_last_answer_clear_empties_the_screen_and_help_lists_every_command(talk: Talk) -> None:
    """The mouse is given back and taken again, and the status bar names the model."""
    async with talk(ModelServer({"text": "The *whole* answer.\n\n- a list"}, DONE), size=(120, 50)) as screen:
        calls: list[str] = []
        driver = screen.app._driver  # noqa: SLF001  the driver of a test has no mouse
        for name in ("_enable_mouse_support", "_disable_mouse_support"):
            setattr(driver, name, lambda name=name: calls.append(name))
        await screen.send("/mouse", "The mouse is the terminal's; /mouse takes it back.")
        await screen.send("/mouse", "The mouse is used here again.")
        assert calls == ["_disable_mouse_support", "_enable_mouse_support"]
        await screen.send("/help", *(f"/{name} " for name, _ in screen.app.commands.listed()), "//TEXT")
        assert screen.server.requests == []
        await screen.send("/copy", "There is no answer to copy")
        await screen.send("Go", "a list", "idle")
        await screen.send("/copy", "Copied")
        assert screen.app.clipboard == "The *whole* answer.\n\n- a list"
        await screen.send("/model openai-chat:another", "answers from now on")
        await screen.until(lambda: screen.lines[-2].startswith(" ● openai:another "))
        await screen.send("/clear", "A new conversation begins.")
        await screen.hides("a list")


async def test_redo_does_again_what_undo_took_back_and_pause_lets_the_model_rest(talk: Talk, folder: Path) -> None:
    """Export writes the plan. Resume lets the model go on."""
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await rested(screen)
        for command, closed in (("/todo done One", 1), ("/undo", 0), ("/redo", 1)):
            await screen.send(command, f" {closed}/2 ")
        await screen.send("/export PLAN.md")
        await screen.until((folder / "PLAN.md").exists)
        await screen.shows("PLAN.md")
        assert "- [x] One" in (folder / "PLAN.md").read_text(encoding="utf-8")

        await screen.send("/pause", "not told to go on", " paused ")
        before = len(screen.server.requests)
        await screen.send("Say something")
        await screen.until(lambda: len(screen.server.requests) > before and not screen.talk.is_working)
        assert not screen.talk.is_counting_down
        await screen.send("/resume")
        await screen.until(lambda: screen.app.detail.state.directive is Directive.GO)
        await screen.send("Say more", "Goes on by itself")
        await screen.press("escape")


async def test_all_keys_are_listed_and_scrolled(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        await screen.type("draft")
        await screen.sees("f1", "esc closes this", "In the editor")
        seen = set(screen.lines)
        for _ in range(12):
            await screen.press("pagedown")
            await screen.pilot.pause()
            seen |= set(screen.lines)
        shown = "\n".join(seen)
        assert all(plain(line).strip()[:60] in shown for line in help_lines(KEYS, Pane.ANY, ALL_BINDINGS, 76, FIXED))
        await screen.press("escape")
        await screen.hides("esc closes this")
        await screen.until(lambda: screen.app.composer.has_focus)
        assert screen.draft == "draft"
        await screen.send("/keys", "esc closes this", "In the editor")
