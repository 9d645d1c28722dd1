"""The screen itself: what is drawn at which size, what appears by itself, and where keys lead."""

import re
from typing import cast

import pytest

from tests.tui.watching import (
    SIZES,
    Unreliable,
    World,
    enters,
    grammar,
    lines,
    sees,
    shows,
    text,
    type_text,
    until,
    watching,
)
from tildone.base.ids import now
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Directive
from tildone.plan.gate import Turn
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Append, Mark, Numbered
from tildone.screens.watch.tui_app import Start, WatchApp
from tildone.screens.widgets.prompt import LineInput
from tildone.screens.widgets.rows import RowList


@pytest.fixture
def several(plans: World) -> World:
    """A session in each of several states."""
    plans.write("cli", Phase("", (Task("a", Status.COMPLETED),)))
    plans.write("release", Phase("", (Task("a", Status.COMPLETED), Task("b"))))
    plans.session("release").set_directive(Directive.PAUSE)
    plans.write("billing", Phase("", (Task("a", Status.BLOCKED, ("Merge or keep both?",)),)))
    plans.write("grammar", *grammar())
    plans.agent_at_work("grammar")
    return plans


async def test_no_size_is_refused(several: World) -> None:
    async with watching(several, Start("grammar", opened=True), (1, 1)) as pilot:
        await sees(pilot, "space escape j question_mark escape", lambda: several.status("grammar", 4) == "completed")
        for size in ((10, 3), (39, 9), (60, 15), (119, 29)):
            await pilot.resize_terminal(*size)
            await pilot.press("enter", "escape", "k", "question_mark", "escape")
            assert pilot.app.is_running


async def test_the_layout_follows_the_size_of_the_terminal(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        assert "Read 2/2" not in text(pilot)
        await pilot.resize_terminal(200, 50)
        await shows(pilot, "Read 2/2", "billing")
        await pilot.resize_terminal(80, 12)
        await shows(pilot, "billing")
        assert "j k move" not in text(pilot)


async def test_a_change_by_another_process_appears_without_a_key(several: World) -> None:
    async with watching(several, Start("grammar", opened=True)) as pilot:
        several.tildone("todo", "done", "4", "--session", "grammar")
        await shows(pilot, "✓ Wire up the command line", "5/7")
        several.tildone("undo", "--session", "grammar")
        await shows(pilot, "● Wire up the command line", "4/7")


async def test_a_new_session_appears_in_the_list(plans: World) -> None:
    async with watching(plans) as pilot:
        assert "No plans here yet." in text(pilot)
        plans.tildone("todo", "add", "Begin", "--session", "new")
        await shows(pilot, "· new", "next: Begin")


async def test_undo_by_another_process_appears_in_the_list(several: World) -> None:
    """It moves the head, and writes no event."""
    async with watching(several, Start("grammar")) as pilot:
        several.session("release").change([Mark(Numbered((2,)), Status.COMPLETED)])
        await shows(pilot, "2/2")
        several.session("release").undo()
        await until(pilot, lambda: "2/2" not in text(pilot))


async def test_the_row_with_the_cursor_stays_where_it_is_until_the_cursor_leaves(several: World) -> None:
    async with watching(several, Start("release")) as pilot:
        await until(pilot, lambda: lines(pilot)[4].startswith("▎ ║ release"))
        several.session("release").change([Mark(Numbered((2,)), Status.BLOCKED)])
        await until(pilot, lambda: lines(pilot)[4].startswith("▎ ! release"))
        assert "↕" in lines(pilot)[4]
        await sees(pilot, "j", lambda: "! release" in "".join(lines(pilot)[2:4]))
        assert "↕" not in text(pilot)


async def test_an_agent_that_is_told_again_and_again_is_stuck(several: World) -> None:
    async with watching(several, Start("grammar"), SIZES["200x50"]) as pilot:
        for _ in range(4):
            several.session("grammar").turn_ended(Turn())
        await shows(pilot, "∞ grammar", "stuck", "told 4 of 20 times", "4 of 20 since the last change")


async def test_pause_and_resume_steer_the_agent_and_stop_asks_first(several: World) -> None:
    def directive() -> Directive:
        return several.session("grammar").state.directive

    async with watching(several, Start("grammar")) as pilot:
        await sees(pilot, "p", "║ grammar", "Paused")
        assert directive() is Directive.PAUSE
        await sees(pilot, "p", "Nothing changed: it was paused already.")
        await sees(pilot, "r", "● grammar", "Resumed")
        await sees(pilot, "s", "Stop the agent on grammar?")
        await pilot.press("enter", "n", "u", "s")
        assert directive() is Directive.GO
        await sees(pilot, "escape enter S y", "■ stopped", "Stopped")
        assert directive() is Directive.STOP
        await sees(pilot, "R", "Resumed")
        await sees(pilot, "P", "Paused")


async def test_the_filter_narrows_the_list_while_one_types_and_escape_clears_it(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "paused")
        await until(pilot, lambda: "billing" not in text(pilot))
        await sees(pilot, "enter", "/paused", "release")
        await sees(pilot, "escape", "billing")
        await pilot.press("slash")
        await type_text(pilot, "nothing such")
        await shows(pilot, "Nothing contains “nothing such”.")
        await sees(pilot, "space escape", "billing")


async def test_the_filter_of_a_plan_shows_the_tasks_that_contain_the_words(several: World) -> None:
    async with watching(several, Start("grammar", opened=True)) as pilot:
        await pilot.press("slash")
        await enters(pilot, "cargo", lambda: "Read the grammar" not in text(pilot))
        assert "Fuzz it" in text(pilot)
        await sees(pilot, "escape", "Read the grammar")
        await sees(pilot, "escape", "Sessions")


async def test_a_plan_that_is_open_stays_open_if_it_no_longer_matches_the_filter(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "working")
        await sees(pilot, "enter enter", "Read 2/2")
        several.session("grammar").set_directive(Directive.PAUSE)
        await shows(pilot, "║ paused", "Read 2/2")


async def test_a_session_that_is_deleted_is_left(several: World) -> None:
    async with watching(several, Start("grammar", opened=True)) as pilot:
        head = several.store.session_head("grammar").head
        several.store.delete("grammar", expected=head)
        await shows(pilot, "This session is no longer in the store.", "Sessions", "billing")


async def test_keys_move_between_rows_and_panes(several: World) -> None:
    async with watching(several, Start("billing"), SIZES["200x50"]) as pilot:
        await sees(pilot, "j", "▎ ● grammar", "Read 2/2")
        await sees(pilot, "tab", "▎  ● Wire up")
        await sees(pilot, "k", "▎  ✓ Write the tokenizer")
        await sees(pilot, "h", "▎ ● grammar")
        await sees(pilot, "G", "▎ ✓ cli")
        await sees(pilot, "pageup", "▎ ! billing")


async def test_the_mouse_selects_a_row_and_the_wheel_scrolls(plans: World) -> None:
    plans.write("p", Phase("", tuple(Task(f"Task {n}") for n in range(100))))
    async with watching(plans, Start("p", opened=True)) as pilot:
        await pilot.click("#plan", offset=(10, 3))
        await shows(pilot, "▎  – Task 3")
        plan = pilot.app.query_one("#plan", RowList)
        for _ in range(4):
            plan.on_mouse_scroll_down()
        await shows(pilot, "Task 12")
        assert "Task 3 " not in text(pilot)
        plan.on_mouse_scroll_up()
        await sees(pilot, "G", "▎  – Task 99")
        await sees(pilot, "g", "▎  – Task 0")


async def test_the_help_lists_all_keys_and_escape_closes_it(several: World) -> None:
    async with watching(several, Start("grammar"), (80, 60)) as pilot:
        await sees(pilot, "question_mark", "In the plan", "block (asks what it waits for), or unblock")
        await sees(pilot, "escape", lambda: "In the plan" not in text(pilot))
        await sees(pilot, "enter", "Read 2/2")


async def test_in_a_narrow_terminal_the_help_is_wrapped_and_the_palette_has_no_scrollbar(several: World) -> None:
    async with watching(several, Start("grammar"), (40, 20)) as pilot:
        await sees(pilot, "question_mark", "show the open", "question of an", "agent, to answer")
        assert "…" not in text(pilot)
        await sees(pilot, "escape ctrl+x", "What is to be done?")
        assert not pilot.app.screen.show_vertical_scrollbar


async def test_a_message_says_which_notes_are_shown(several: World) -> None:
    """Also where no task has any."""
    async with watching(several, Start("cli", opened=True)) as pilot:
        await sees(pilot, "p", "All notes are shown.")
        await sees(pilot, "p", "Only the notes of tasks in progress are shown.")


async def test_what_changes_while_the_help_is_shown_is_drawn_below_it(several: World) -> None:
    async with watching(several, Start("grammar"), (120, 60)) as pilot:
        await sees(pilot, "question_mark", "In the plan")
        several.session("grammar").change([Mark(Numbered((4,)), Status.COMPLETED)])
        await pilot.resize_terminal(80, 24)
        app = cast("WatchApp", pilot.app)
        await until(pilot, lambda: app.watched is not None and app.watched.why == "Test every example")
        await sees(pilot, "escape", "5/7")


async def test_q_leaves(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        await sees(pilot, "q", lambda: not pilot.app.is_running)


async def test_the_palette_finds_an_action_by_its_words_and_does_it(several: World) -> None:
    async with watching(several, Start("grammar", opened=True)) as pilot:
        await shows(pilot, "Read 2/2")
        await sees(pilot, "ctrl+x", "What is to be done?", "done, or open again  task.toggle", "space")
        await type_text(pilot, "fold")
        await until(pilot, lambda: "task.toggle" not in text(pilot))
        await sees(pilot, "enter", "Build 2/3 …")
        await pilot.press("ctrl+x", "down", "down", "up", "escape", "ctrl+x")
        await type_text(pilot, "no such thing")
        await shows(pilot, "No action has these words.")
        await sees(pilot, "enter", lambda: "What is to be done?" not in text(pilot))


async def test_the_palette_moves_the_cursor_of_the_list_too(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        await pilot.press("ctrl+x")
        await enters(pilot, "row.last", "▎ ✓ cli")


async def test_own_keys_take_the_place_of_the_defaults(several: World) -> None:
    keys = {"watch.open": "f6,o", "row.down": "m", "watch.keys": "f5"}
    async with watching(several, Start("grammar", keys=keys), (100, 60)) as pilot:
        await shows(pilot, "m k move", "f6 open", "f5 keys")
        await sees(pilot, "enter j", "▎ ● grammar")
        await sees(pilot, "m", "▎ ║ release")
        await sees(pilot, "f5", "f6 o", "open the plan")
        await sees(pilot, "escape k o", "Read 2/2")


async def test_what_an_agent_does_and_has_used_is_shown_with_its_plan(several: World) -> None:
    doing = Presence(
        "codex:77aa", "release", machine="mk-laptop", doing="bash: make", tokens=184_000, cost=1.92, beat=now()
    )
    several.store.records.beat(doing)
    async with watching(several, Start("release", opened=True), SIZES["200x50"]) as pilot:
        await shows(pilot, "at work  codex 77aa on mk-laptop · bash: make", "used     184k tokens · $1.92")


async def test_the_theme_without_snapshots_draws_the_same_text(several: World) -> None:
    async with watching(several, Start("grammar", theme="safe-light")) as pilot:
        await shows(pilot, "● grammar", "working")


async def test_a_store_that_cannot_be_read_is_reported_and_tried_again(several: World) -> None:
    store = Unreliable(several.store)
    async with watching(several, Start("grammar"), store=cast("Store", store)) as pilot:
        store.reachable = False
        await shows(pilot, "○ not live since 10:57 · trying again ", "the server does not answer", "● grammar")
        await shows(pilot, "again in ")
        left = re.findall(r"again in \d s", text(pilot))
        await until(pilot, lambda: "again in " in text(pilot) and left[0] not in text(pilot))
        store.reachable = True
        await until(pilot, lambda: lines(pilot)[0].endswith("● live"))
        several.session("grammar").change([Mark(Numbered((4,)), Status.COMPLETED)])
        await shows(pilot, "5/7")


@pytest.mark.parametrize(("opened", "key"), [(False, "r"), (True, "R")], ids=["list", "plan"])
async def test_a_key_tries_the_store_again_at_once(
    several: World, monkeypatch: pytest.MonkeyPatch, *, opened: bool, key: str
) -> None:
    monkeypatch.setattr("tildone.screens.watch.tui_app.STORE_RETRY_SECONDS", 1000)
    store = Unreliable(several.store)
    async with watching(several, Start("grammar", opened=opened), SIZES["40x24"], cast("Store", store)) as pilot:
        store.reachable = False
        await shows(pilot, "○ not live · ", f"the server does not answer  {key} tries now")
        store.reachable = True
        await pilot.press(key)
        await until(pilot, lambda: lines(pilot)[0].endswith("●"))
        assert "the server does not answer" not in text(pilot)


async def test_a_plan_that_cannot_be_read_either_leaves_the_key_that_tries_again(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        pilot.app.post_message(WatchApp.Failed("the server does not answer"))
        pilot.app.post_message(WatchApp.Failed("the server does not answer", "grammar"))
        await shows(pilot, "○ not live")
        await pilot.pause()
        assert "the server does not answer  r tries now" in text(pilot)


HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]x[/] \u202eevil\nline\t$(rm) <U> {link} \x9b31m"


async def test_hostile_text_in_every_field_is_drawn_as_text(plans: World) -> None:
    tasks = tuple(Task(HOSTILE, status, (HOSTILE,)) for status in Status)
    session = plans.write(HOSTILE, Phase(HOSTILE, tasks), Phase("[/]", (Task("[/]"),)))
    session.change([Append((Task("x" * 100_000), Task("漢字" * 500)), "[on red]")])
    async with watching(plans, Start(HOSTILE), SIZES["200x50"]) as pilot:
        await shows(pilot, "␛[2J", "[bold red]x[/]", "⏎line")
        await pilot.press("slash")
        await type_text(pilot, "[bold")
        await pilot.press("enter", "tab", "p", "j", "n")
        await type_text(pilot, "[/]")
        await sees(pilot, "enter e enter s z z S", "Stop the agent on ␛[2J")
        await pilot.press("n", "space")
        drawn = text(pilot)

    assert not set(drawn) & set("\x1b\x07\x9b\u202e\t")
    assert all(len(line) <= 200 for line in drawn.split("\n"))
    assert HOSTILE in plans.texts(HOSTILE)


async def test_what_is_pasted_into_a_field_cannot_act_on_the_terminal(several: World) -> None:
    async with watching(several, Start("grammar", opened=True)) as pilot:
        await pilot.press("a")
        pilot.app.query_one("#prompt-field", LineInput).value = "a\x1b[2Jb\nc"
        await shows(pilot, "Add: a␛[2Jb⏎c")
