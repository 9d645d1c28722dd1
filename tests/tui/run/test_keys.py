"""The keys of a person in full screen, the list of all keys, and the palette."""

from pathlib import Path
from typing import cast

import pytest
from textual.binding import Binding

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import WRITE
from tests.tui.run.run_screen import STOPS, Talk
from tildone.base.keys import ALL_BINDINGS, RUN_EDITOR, RUN_PLAN, RUN_TRANSCRIPT, TRANSCRIPT_SELECTING, TREE, clash
from tildone.plan.text.styles import plain
from tildone.screens.run import FIXED, KEYS
from tildone.screens.run.app import RunApp
from tildone.screens.run.composer import Composer
from tildone.screens.run.plan_pane import FOOTERS, FooterMode
from tildone.screens.run.sessions import TreeScreen
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.watch.find_screen import FindScreen
from tildone.screens.watch.plan_pane import PlanPane
from tildone.screens.widgets.prompt import Pane, footer_line, help_lines, shown_keys

OWN = """
keys."run.plan" = "f6"
keys."tui.input.submit" = "ctrl+t"
keys."editor.newLine" = "enter"
keys."task.toggle" = "plus"
keys."app.interrupt" = "f8"
keys."run.palette" = "f9"
"""


def set_keys(folder: Path, text: str) -> None:
    file = folder.parent / "home" / ".config" / "tildone" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


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


def test_the_help_begins_with_the_pane_in_use_and_shows_the_keys_that_are_in_force() -> None:
    lines = [plain(line) for line in help_lines(KEYS, Pane.PLAN, {**ALL_BINDINGS, "run.plan": "f6"}, 200, FIXED)]

    assert lines[0] == Pane.PLAN.value
    assert any(line.startswith("  f6 ") and "the plan" in line for line in lines)


@pytest.mark.parametrize("mode", FooterMode)
def test_a_footer_has_the_keys_that_are_in_force(mode: FooterMode) -> None:
    names = [name for hint in FOOTERS[mode] for name in hint.names if name in ALL_BINDINGS]
    own = {**ALL_BINDINGS, **{name: f"ctrl+alt+{place}" for place, name in enumerate(names)}}

    shown = plain(footer_line(FOOTERS[mode], 400, own))

    assert all(own[name] in shown for name in names)


async def test_a_person_has_keys_of_their_own(talk: Talk, folder: Path) -> None:
    set_keys(folder, OWN)
    async with talk(ModelServer(WRITE, STOPS)) as screen:
        await screen.shows("ctrl+t send", "enter new line", "f6 plan")
        await screen.type("one", "enter")
        await screen.type("two")
        assert screen.draft == "one\ntwo"
        await screen.sees("ctrl+t", "Goes on by itself", "f8 leave it")
        await screen.press("f8")
        await screen.hides("Goes on by itself")
        await screen.press("f2")
        assert not screen.app.plan.display
        await screen.sees("f6", lambda: screen.app.plan.rows.has_focus)
        await screen.shows("+ done")
        await screen.sees("plus", "1/2")
        await screen.sees("f1", "In the plan", "done, or open again")

    assert screen.server.requests[0].messages[-1]["content"] == "one\ntwo"


@pytest.mark.usefixtures("folder")
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


async def test_the_tree_has_the_keys_of_the_person(talk: Talk, folder: Path) -> None:
    set_keys(folder, 'keys."tree.plan" = "f7"\nkeys."tree.close" = "x"\n')
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await screen.shows("Goes on by itself")
        await screen.sees("escape f3", "f7 plan then", "x back")
        await screen.sees("f7", "The plan as it was:", "One", "Two")
        await screen.press("x")
        await screen.hides("The plan as it was:")
        await screen.press("x")
        await screen.hides("x back")
