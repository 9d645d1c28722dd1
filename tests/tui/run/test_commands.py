"""The commands that a person types into the full-screen run, and the screens over it."""

from functools import partial
from pathlib import Path

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import WRITE
from tests.tui.run.run_screen import DONE, STOPS, Screen, Talk
from tildone.base.keys import ALL_BINDINGS
from tildone.plan.events import Directive
from tildone.plan.text.styles import plain
from tildone.screens.run import FIXED, KEYS
from tildone.screens.run.app import plan_colours
from tildone.screens.widgets.keys import PALETTES
from tildone.screens.widgets.prompt import Pane, help_lines

pytestmark = pytest.mark.usefixtures("folder")


async def rested(screen: Screen) -> None:
    """Wait for the plan, and leave the countdown."""
    await screen.shows("Goes on by itself")
    await screen.press("escape")
    await screen.hides("Goes on by itself")


def has_theme(screen: Screen, name: str) -> bool:
    return screen.app.theme == f"tildone-{name}"


async def test_theme_changes_the_colours_of_everything(talk: Talk) -> None:
    async with talk(ModelServer(DONE), "Go") as screen:
        await screen.shows("Done.")
        for name, palette in PALETTES.items():
            await screen.send(f"/theme {name}")
            await screen.until(partial(has_theme, screen, name))
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


async def test_mouse_is_given_back_and_taken_again_and_the_status_bar_names_the_model(talk: Talk) -> None:
    async with talk(ModelServer(DONE)) as screen:
        calls: list[str] = []
        driver = screen.app._driver  # noqa: SLF001  the driver of a test has no mouse
        for name in ("_enable_mouse_support", "_disable_mouse_support"):
            setattr(driver, name, lambda name=name: calls.append(name))
        await screen.send("/mouse", "The mouse is the terminal's; /mouse takes it back.")
        await screen.send("/mouse", "The mouse is used here again.")
        assert calls == ["_disable_mouse_support", "_enable_mouse_support"]
        await screen.send("/model openai-chat:another", "answers from now on")
        await screen.until(lambda: screen.lines[-2].startswith(" another "))


async def test_copy_copies_the_last_answer_and_clear_begins_with_an_empty_screen(talk: Talk) -> None:
    async with talk(ModelServer({"text": "The *whole* answer.\n\n- a list"}, DONE)) as screen:
        await screen.send("/copy", "There is no answer to copy.")
        await screen.send("Go", "a list", "ready")
        await screen.send("/copy", "Copied the last answer")
        assert screen.app.clipboard == "The *whole* answer.\n\n- a list"
        await screen.send("/clear", "A new conversation begins.")
        await screen.hides("a list")


async def test_redo_does_again_what_undo_took_back_and_export_writes_it(talk: Talk, folder: Path) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await rested(screen)
        await screen.send("/todo done One", " 1/2 ")
        await screen.send("/undo", " 0/2 ")
        await screen.send("/redo", " 1/2 ")
        await screen.send("/export PLAN.md")
        await screen.until((folder / "PLAN.md").exists)
        await screen.shows("PLAN.md")

    assert "- [x] One" in (folder / "PLAN.md").read_text(encoding="utf-8")


async def test_pause_lets_the_model_rest_until_resume(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go") as screen:
        await rested(screen)
        await screen.send("/pause", "not told to continue", " paused ")
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


async def test_help_lists_every_command(talk: Talk) -> None:
    async with talk(ModelServer(DONE), size=(120, 50)) as screen:
        await screen.send("/help", *(f"/{name} " for name, _ in screen.app.commands.listed()), "//TEXT")

    assert screen.server.requests == []


async def test_the_tree_shows_the_plan_as_it_was_then(talk: Talk) -> None:
    more: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}}
    async with talk(ModelServer(WRITE, STOPS, more, STOPS), "First") as screen:
        await rested(screen)
        await screen.send("Second", "1/2")
        await rested(screen)
        await screen.sees("f3", "Here: plan 1/2", "d plan then")
        await screen.sees("d", "The plan as it was:", "✓ One", "– Two")
        await screen.press("escape")
        await screen.hides("The plan as it was:")
        await screen.sees("k", "Here: plan 0/2")
        await screen.sees("d", "The plan as it was:", "– One")
        await screen.press("escape", "escape")
        await screen.hides("d plan then")
