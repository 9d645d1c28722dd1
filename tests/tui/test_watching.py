"""The screen of `tildone watch`.

What is drawn at which size, what appears by itself, where keys lead; also in a real terminal.
"""

import os
import re
import threading
from itertools import product
from pathlib import Path
from typing import cast

import pytest
from rich.style import Style
from textual._xterm_parser import XTermParser
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.cli.person import Person, Terminal
from tests.plans import COMPLETED, IN_PROGRESS
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
from tildone.app.values import THEMES
from tildone.base.ids import now
from tildone.base.keys import ALL_BINDINGS, PUNCTUATION, WATCH_LIST, WATCH_PLAN, clash, is_key, key_names
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, AgentUsage, Author, Directive, Event, PlanChanged
from tildone.plan.gate import Patience, Turn
from tildone.plan.model import Phase, Status, Task, flat, numbered
from tildone.plan.ops import Append, Mark, Numbered
from tildone.plan.text.styles import Role, Span, display_width, plain
from tildone.screens.watch.actions import FOOTERS, KEYS
from tildone.screens.watch.app import Start, WatchApp
from tildone.screens.widgets.bursts import keys_of_one_read
from tildone.screens.widgets.keys import PALETTES, Line, padded, painted, spread, theme_for
from tildone.screens.widgets.plan import PlanOptions, plan_rows
from tildone.screens.widgets.prompt import DetailReader, LineInput, Pane, footer_line, help_lines, shown_keys
from tildone.screens.widgets.rows import RowList
from tildone.stores.memory import MemoryStore


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


async def test_no_size_is_refused_and_the_layout_follows_it(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        assert "Read 2/2" not in text(pilot)
        await pilot.resize_terminal(200, 50)
        await shows(pilot, "Read 2/2", "billing")
        await pilot.resize_terminal(80, 12)
        await until(pilot, lambda: "billing" in text(pilot) and "Read 2/2" not in text(pilot))
        assert "j k move" not in text(pilot)
        await pilot.press("enter")
        await pilot.resize_terminal(1, 1)
        await sees(pilot, "space escape j question_mark escape", lambda: several.status("grammar", 4) == "completed")
        for size in ((10, 3), (39, 9), (60, 15), (119, 29)):
            await pilot.resize_terminal(*size)
            await pilot.press("enter", "escape", "k", "question_mark", "escape")
            assert pilot.app.is_running


async def test_what_another_process_does_appears_without_a_key(several: World) -> None:
    """Undo moves the head, and writes no event. A session that is deleted is left."""
    async with watching(several, Start("grammar", opened=True)) as pilot:
        several.tildone("todo", "done", "4", "--session", "grammar")
        await shows(pilot, "✓ Wire up the command line", "5/7")
        several.tildone("undo", "--session", "grammar")
        await shows(pilot, "● Wire up the command line", "4/7")
        several.store.delete("grammar", expected=several.store.session_head("grammar").head)
        await shows(pilot, "This session is no longer in the store.", "Sessions", "billing")
        several.session("release").change([Mark(Numbered((2,)), Status.COMPLETED)])
        await shows(pilot, "2/2")
        several.session("release").undo()
        await until(pilot, lambda: "2/2" not in text(pilot))


async def test_the_first_session_appears_in_the_list(plans: World) -> None:
    async with watching(plans) as pilot:
        assert "No plans here yet." in text(pilot)
        plans.tildone("todo", "add", "Begin", "--session", "new")
        await shows(pilot, "· new", "next: Begin")


async def test_the_row_with_the_cursor_stays_where_it_is_until_the_cursor_leaves(several: World) -> None:
    async with watching(several, Start("release")) as pilot:
        await until(pilot, lambda: lines(pilot)[4].startswith("▎ ║ release"))
        several.session("release").change([Mark(Numbered((2,)), Status.BLOCKED)])
        await until(pilot, lambda: lines(pilot)[4].startswith("▎ ! release"))
        assert "↕" in lines(pilot)[4]
        await sees(pilot, "j", lambda: "! release" in "".join(lines(pilot)[2:4]))
        assert "↕" not in text(pilot)


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


async def test_the_filter_narrows_the_list_or_a_plan_while_one_types_and_escape_clears_it(several: World) -> None:
    """A plan that is open stays open if it no longer matches the filter of the list."""
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
        await pilot.press("slash")
        await type_text(pilot, "working")
        await sees(pilot, "enter enter", "Read 2/2")
        several.session("grammar").set_directive(Directive.PAUSE)
        await shows(pilot, "║ paused", "Read 2/2")
        await pilot.press("slash")
        await enters(pilot, "cargo", lambda: "Read the grammar" not in text(pilot))
        assert "Fuzz it" in text(pilot)
        await sees(pilot, "escape", "Read the grammar")
        await sees(pilot, "escape", "Sessions")


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


async def test_the_help_lists_all_keys_and_escape_closes_it_and_q_leaves(several: World) -> None:
    """What changes meanwhile is drawn below it. In a narrow terminal it is wrapped; the palette has no scrollbar."""
    async with watching(several, Start("grammar"), (120, 60)) as pilot:
        await sees(pilot, "question_mark", "In the plan", "block (asks what it waits for), or unblock")
        several.session("grammar").change([Mark(Numbered((4,)), Status.COMPLETED)])
        await pilot.resize_terminal(80, 24)
        app = cast("WatchApp", pilot.app)
        await until(pilot, lambda: app.watched is not None and app.watched.why == "Test every example")
        await sees(pilot, "escape", "5/7")
        assert "In the plan" not in text(pilot)
        await pilot.resize_terminal(40, 20)
        await sees(pilot, "question_mark", "show the open", "question of an", "agent, to answer")
        assert "…" not in text(pilot)
        await sees(pilot, "escape ctrl+x", "What is to be done?")
        assert not pilot.app.screen.show_vertical_scrollbar
        await sees(pilot, "escape enter", "Read 2/2")
        await sees(pilot, "q", lambda: not pilot.app.is_running)


async def test_an_agent_that_is_told_again_and_again_is_stuck(several: World) -> None:
    async with watching(several, Start("grammar"), SIZES["200x50"]) as pilot:
        for _ in range(4):
            several.session("grammar").turn_ended(Turn())
        await shows(pilot, "∞ grammar", "stuck", "told 4 of 20 times", "4 of 20 since the last change")


async def test_a_message_says_which_notes_are_shown(several: World) -> None:
    """Also where no task has any."""
    async with watching(several, Start("cli", opened=True)) as pilot:
        for shown in ("All notes are shown.", "Only the notes of tasks in progress are shown."):
            await sees(pilot, "p", shown)


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
        await pilot.press("escape", "ctrl+x")
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
    # This theme has no snapshots.
    async with watching(several, Start("release", opened=True, theme="safe-light"), SIZES["200x50"]) as pilot:
        await shows(pilot, "at work  codex 77aa on mk-laptop · bash: make", "used     184k tokens · $1.92")
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
    monkeypatch.setattr("tildone.screens.watch.app.STORE_RETRY_SECONDS", 1000)
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
    """Also what is pasted into the line at the bottom."""
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
        await pilot.press("a")
        pilot.app.query_one("#prompt-field", LineInput).value = "a\x1b[2Jb\nc"
        await shows(pilot, ": a␛[2Jb⏎c")

    assert not set(drawn) & set("\x1b\x07\x9b\u202e\t")
    assert all(len(line) <= 200 for line in drawn.split("\n"))
    assert HOSTILE in plans.texts(HOSTILE)


MINUTE = 60_000


def test_a_task_has_its_tokens_and_its_cost_beside_its_time_and_in_a_narrow_list_only_that() -> None:
    """The first task took 12 minutes, 84,000 tokens and 41 cents."""
    store = MemoryStore()
    steps: tuple[tuple[Status, AgentUsage], ...] = (
        (IN_PROGRESS, AgentUsage(1_000, 0, 0.1)),
        (COMPLETED, AgentUsage(80_000, 5_000, 0.51)),
    )
    parent = None
    for number, (status, usage) in enumerate(steps):
        plan = numbered(flat(Task("Parse", status), Task("Ship")))
        event = Event(
            f"e{number}", parent, number * 12 * MINUTE, Actor.AGENT, PlanChanged(plan), Author("", "claude:1"), usage
        )
        store.append("s", event)
        parent = event.id
    read = DetailReader(store, when=str, patience=Patience()).read("s")

    def shown(columns: int) -> str:
        rows = plan_rows(read.plan, dict(read.times), PlanOptions(), 12 * MINUTE, columns)
        return "\n".join(plain(row.line() if callable(row.line) else row.line) for row in rows)

    assert "84k · $0.41 · 12m" in shown(80)
    assert [time.used for _, time in read.times] == ["84k · $0.41", ""]
    assert ("$" in shown(50), "12m" in shown(50)) == (False, True)


TAKEN = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+j", "ctrl+k", "ctrl+l", "ctrl+o"}
"""What terminals and multiplexers use themselves."""

GROUPS = {Pane.LIST: WATCH_LIST, Pane.PLAN: WATCH_PLAN}


def test_a_pane_has_the_actions_of_its_group_and_no_key_twice() -> None:
    """Its footer names keys of its pane, and always the help."""
    assert clash({}) is None
    for pane, group in GROUPS.items():
        own = [key.name for key in KEYS if key.pane in (pane, Pane.ANY)]
        assert len(own) == len(set(own))
        assert set(own) == group
        assert not TAKEN & {name for action in own for name in key_names(ALL_BINDINGS[action])}
        assert {name for hint in FOOTERS[pane] for name in hint.names} <= group
        for columns in range(200):
            line = plain(footer_line(FOOTERS[pane], columns)).rstrip()
            assert line.endswith("? keys")
            assert display_width(line) <= max(columns, 7)


def test_every_binding_is_a_key_that_textual_knows_by_that_name_and_every_theme_has_a_palette() -> None:
    assert all(is_key(name) for keys in ALL_BINDINGS.values() for name in key_names(keys))
    assert {character: _character_to_key(character) for character in PUNCTUATION} == PUNCTUATION
    assert tuple(PALETTES) == THEMES


def test_the_footer_and_the_help_show_the_keys_that_are_in_force() -> None:
    mine = {**ALL_BINDINGS, "task.toggle": "ctrl+t", "watch.keys": "f6", "row.down": "plus,alt+down"}
    in_plan = plain(footer_line(FOOTERS[Pane.PLAN], 40, mine))
    shown = "\n".join(map(plain, help_lines(KEYS, Pane.ANY, ALL_BINDINGS, 200)))

    assert (in_plan.startswith(" ctrl+t done  "), in_plan.rstrip().endswith("f6 keys")) == (True, True)
    assert plain(footer_line(FOOTERS[Pane.LIST], 40, mine)).startswith(" + k move")
    assert "+ alt+↓" in "\n".join(map(plain, help_lines(KEYS, Pane.ANY, mine, 64)))
    assert plain(help_lines(KEYS, Pane.PLAN, ALL_BINDINGS, 64)[0]) == Pane.PLAN.value
    assert all(key.does in shown and " ".join(shown_keys(ALL_BINDINGS[key.name])) in shown for key in KEYS)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_all_text_can_be_read_on_every_background() -> None:
    """WCAG asks for a contrast of 4.5."""
    for palette in (palette for palette in PALETTES.values() if not palette.is_ansi):
        grounds = (palette.background, palette.bar, palette.selected)
        texts = [getattr(palette, name) for name in ("text", "muted", "dim", "accent", "success", "warning", "error")]

        for ink, ground in product(texts, grounds):
            darker, lighter = sorted((luminance(ink), luminance(ground)))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, ground)


def test_the_theme_is_what_fits_the_terminal_unless_one_is_chosen() -> None:
    themes: dict[tuple[str, ...], str] = {
        **{("COLORTERM=truecolor", f"COLORFGBG={stated}"): "dark" for stated in ("", "15;0", "x")},
        **{("COLORTERM=truecolor", f"COLORFGBG={stated}"): "light" for stated in ("0;15", "0;default;7")},
        (): "terminal",
        ("TERM=xterm-256color",): "terminal",
        ("TERM=xterm-256color", "COLORTERM=24bit"): "dark",
        ("TERM=xterm-kitty",): "dark",
        ("TERM=tmux-direct",): "dark",
        ("WT_SESSION=1",): "dark",
    }
    for stated, theme in themes.items():
        environ = dict(variable.split("=") for variable in stated)
        chosen = (theme_for(environ), theme_for(environ, "safe-dark"), theme_for({**environ, "NO_COLOR": "1"}, "light"))
        assert chosen == (theme, "safe-dark", "terminal"), stated


def test_the_terminals_own_theme_paints_no_background_and_reverses_the_row_with_the_cursor() -> None:
    own = PALETTES["terminal"]

    assert own.style(Role.MUTED, own.bar) == Style(color="default", dim=True)
    assert own.style(Role.ERROR, own.background) == Style(color="red", dim=False)
    assert own.style(Role.ACCENT, own.selected) == Style(color="default", reverse=True)


DARK = PALETTES["dark"]


def test_whatever_a_line_contains_is_drawn_as_text() -> None:
    """The last place before the terminal, should a view forget it."""
    strip = painted((Span("\x1b[2J[b]\n"), Span((Span("\x9b"),))), 20, DARK, DARK.background)

    assert strip.text == "␛[2J[b]⏎<U+009B>    "[: len(strip.text)]
    assert strip.cell_length == 20


def test_a_padded_or_spread_line_has_the_width_of_its_room() -> None:
    for words, columns in product(["", "abc", "漢字漢字漢字", "x" * 40], range(12)):
        line: Line = (Span(words, Role.DIM),)
        strip = painted(spread(line, (Span("right"),), columns), columns, DARK, DARK.bar)

        assert (words, strip.cell_length) == (words, columns)
        assert len(plain(padded(line, columns))) <= columns, words


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """A person with a plan of two tasks."""
    if os.name == "nt":
        pytest.skip("needs a pseudo-terminal")
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    found = Person(folder, home)
    found.says("todo", "add", "Write the parser", "Test it", "--session", "grammar")
    return found


def at_terminal(person: Person, *argv: str, **environ: str) -> Terminal:
    """Start the screen; a program that does not end is killed."""
    terminal = person.at_terminal("watch", *argv, **environ)
    watchdog = threading.Timer(60, terminal.process.kill)
    watchdog.daemon = True
    watchdog.start()
    return terminal


def test_from_the_list_to_a_plan_an_edit_and_out(person: Person) -> None:
    terminal = at_terminal(person)
    for shown, typed in (
        ("1 in all", b""),
        ("next: Write the parser", b"\r"),
        ("space", b""),
        ("Test it", b" "),
        ("Done: #1 Write the parser", b""),
    ):
        terminal.until(shown)
        terminal.type(typed)
    person.says("todo", "add", "From elsewhere", "--session", "grammar")
    terminal.until("From elsewhere")
    answer = terminal.end(b"q")

    assert answer.code == 0
    assert "\x1b[?1049l" in answer.out  # leaves the full screen
    assert "✓ #1 Write the parser" in person.says("todo", "--session", "grammar")


def test_what_arrives_together_with_the_slash_is_the_filter(person: Person) -> None:
    """As on a slow line: the keys come in one read, and `p` would pause the agent."""
    terminal = at_terminal(person)
    terminal.until("next: Write the parser")
    terminal.type(b"/imp")
    terminal.until("Nothing contains “imp”")
    terminal.type(b"\x1b")
    terminal.until_after("imp", "next: Write the parser")
    terminal.end(b"q")

    assert "paused" not in person.says("log", "--session", "grammar")


@pytest.mark.parametrize("keys", [b"pj", b"jp", b"rs", b"imp"])
def test_no_letter_that_arrives_with_others_acts_on_an_agent(person: Person, keys: bytes) -> None:
    terminal = at_terminal(person)
    terminal.until("next: Write the parser")
    terminal.type(keys)
    terminal.until("Several keys came at once")
    assert "paused" not in person.says("log", "--session", "grammar")

    terminal.type(b"p")
    terminal.until("paused by")
    terminal.end(b"q")

    assert person.says("log", "--session", "grammar").count("paused") == 1


async def type_burst(pilot: Pilot[None], keys: str) -> None:
    """Press keys that arrive in one read, and wait until they are handled."""
    for message in keys_of_one_read(XTermParser(), keys):
        pilot.app.post_message(message)
    await pilot.pause()


async def test_a_question_is_not_answered_by_letters_that_arrive_together(several: World) -> None:
    async with watching(several, Start("grammar")) as pilot:
        await sees(pilot, "s", "Stop the agent on grammar?")
        await type_burst(pilot, "yy")
        await sees(pilot, "j", "Stop the agent on grammar?")
        await sees(pilot, "y", lambda: several.session("grammar").state.directive is Directive.STOP)


COLORS = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")


def test_without_colours_the_cursor_and_the_states_are_still_shown(person: Person) -> None:
    """A session is opened by the beginning of its name; Ctrl-C leaves."""
    terminal = at_terminal(person, "gram", "--theme", "light", NO_COLOR="1")
    for shown in ("Write the parser", "▎", "at work"):
        terminal.until(shown)
    answer = terminal.end(b"\x03")

    assert answer.code == 0
    assert not COLORS.search(answer.out)
    assert "\x1b[1" in answer.out


def test_the_terminals_own_colours_are_used_where_others_are_not_known(person: Person) -> None:
    terminal = at_terminal(person, TERM="xterm-256color", COLORTERM="")
    terminal.until("idle")
    drawn = terminal.end(b"q").out

    assert COLORS.search(drawn)
    assert "38;2;" not in drawn
    assert "48;" not in drawn


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs /proc")
def test_an_idle_screen_takes_next_to_no_processor_time(person: Person) -> None:
    """Of ten redraws of the ages, two seconds of polling and the start, the polling must not keep a processor busy."""
    terminal = at_terminal(person)
    terminal.until("next: Write the parser")
    before = processor_seconds(terminal.process.pid)
    threading.Event().wait(4)
    used = processor_seconds(terminal.process.pid) - before
    terminal.end(b"q")

    assert used < 4 * 0.25


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_what_cannot_be_shown_is_said_in_one_line(person: Person, tmp_path: Path) -> None:
    """A package that cannot be imported stands in for one that is not installed."""
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError(name='textual')\n", encoding="utf-8")
    themes = '"dark", "light", "safe-dark", "safe-light" or "terminal"'
    at_a_terminal = [
        at_terminal(person, "nowhere").end(),
        at_terminal(person, "--theme", "drak").end(),
        at_terminal(person, PYTHONPATH=str(tmp_path)).end(),
    ]
    in_a_pipe = person.run("watch")

    assert [(answer.code, answer.out.partition("textual: ")[0]) for answer in at_a_terminal] == [
        (4, "tildone: there is no session 'nowhere'; to list them: tildone sessions\n"),
        (2, f"tildone: theme must be {themes}, not 'drak'\n"),
        (2, "tildone: watch needs the package "),
    ]
    assert [answer.out.count("\n") for answer in at_a_terminal] == [1, 1, 1]
    elsewhere = "tildone: watch needs a terminal; elsewhere use: tildone status, tildone todo, tildone log\n"
    assert (in_a_pipe.code, in_a_pipe.out, in_a_pipe.err) == (2, "", elsewhere)
