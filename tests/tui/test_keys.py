"""The table of keys, and the colours."""

from itertools import product

import pytest
from rich.style import Style
from textual.keys import _character_to_key

from tildone.app.values import THEMES
from tildone.base.keys import ALL_BINDINGS, PUNCTUATION, WATCH_LIST, WATCH_PLAN, clash, is_key, key_names
from tildone.plan.text.styles import Role, display_width, plain
from tildone.screens.watch.app import FOOTERS, KEYS
from tildone.screens.widgets.keys import PALETTES, theme_for
from tildone.screens.widgets.prompt import Pane, footer_line, help_lines, shown_keys

TAKEN = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+j", "ctrl+k", "ctrl+l", "ctrl+o"}
"""What terminals and multiplexers use themselves."""

GROUPS = {Pane.LIST: WATCH_LIST, Pane.PLAN: WATCH_PLAN}


@pytest.mark.parametrize("pane", GROUPS)
def test_a_pane_has_the_actions_of_its_group_and_no_key_twice(pane: Pane) -> None:
    own = [key.name for key in KEYS if key.pane in (pane, Pane.ANY)]

    assert len(own) == len(set(own))
    assert set(own) == GROUPS[pane]
    assert clash({}) is None
    assert not TAKEN & {name for action in own for name in key_names(ALL_BINDINGS[action])}


def test_every_binding_is_a_key_that_textual_knows_by_that_name() -> None:
    assert all(is_key(name) for keys in ALL_BINDINGS.values() for name in key_names(keys))
    assert {character: _character_to_key(character) for character in PUNCTUATION} == PUNCTUATION


@pytest.mark.parametrize("pane", FOOTERS)
def test_the_footer_names_keys_of_its_pane_and_always_the_help(pane: Pane) -> None:
    assert {name for hint in FOOTERS[pane] for name in hint.names} <= GROUPS[pane]
    for columns in range(200):
        line = plain(footer_line(FOOTERS[pane], columns)).rstrip()
        assert line.endswith("? keys")
        assert display_width(line) <= max(columns, 7)


def test_the_footer_and_the_help_show_the_keys_that_are_in_force() -> None:
    mine = {**ALL_BINDINGS, "task.toggle": "ctrl+t", "watch.keys": "f6", "row.down": "plus,alt+down"}

    assert plain(footer_line(FOOTERS[Pane.PLAN], 40, mine)).startswith(" ctrl+t done  ")
    assert plain(footer_line(FOOTERS[Pane.PLAN], 40, mine)).rstrip().endswith("f6 keys")
    assert plain(footer_line(FOOTERS[Pane.LIST], 40, mine)).startswith(" + k move")
    assert "+ alt+↓" in "\n".join(map(plain, help_lines(KEYS, Pane.ANY, mine, 64)))


def test_the_help_has_every_key() -> None:
    shown = "\n".join(map(plain, help_lines(KEYS, Pane.ANY, ALL_BINDINGS, 200)))

    assert plain(help_lines(KEYS, Pane.PLAN, ALL_BINDINGS, 64)[0]) == Pane.PLAN.value
    assert all(key.does in shown and " ".join(shown_keys(ALL_BINDINGS[key.name])) in shown for key in KEYS)


def test_the_names_of_the_themes_are_those_of_the_palettes() -> None:
    assert tuple(PALETTES) == THEMES


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [name for name, palette in PALETTES.items() if not palette.is_ansi])
def test_all_text_can_be_read_on_every_background(theme: str) -> None:
    """WCAG asks for a contrast of 4.5."""
    palette = PALETTES[theme]
    grounds = (palette.background, palette.bar, palette.selected)
    texts = [getattr(palette, name) for name in ("text", "muted", "dim", "accent", "success", "warning", "error")]

    for text, ground in product(texts, grounds):
        darker, lighter = sorted((luminance(text), luminance(ground)))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, ground)


@pytest.mark.parametrize(
    ("stated", "theme"), [("", "dark"), ("15;0", "dark"), ("0;15", "light"), ("0;default;7", "light"), ("x", "dark")]
)
def test_a_terminal_that_states_a_light_background_gets_the_light_theme(stated: str, theme: str) -> None:
    assert theme_for({"COLORTERM": "truecolor", "COLORFGBG": stated}) == theme


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({}, "terminal"),
        ({"TERM": "xterm-256color"}, "terminal"),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "dark"),
        ({"TERM": "xterm-kitty"}, "dark"),
        ({"TERM": "tmux-direct"}, "dark"),
        ({"WT_SESSION": "1"}, "dark"),
    ],
)
def test_a_terminal_without_all_colours_gets_its_own_unless_one_is_chosen(environ: dict[str, str], theme: str) -> None:
    assert theme_for(environ) == theme
    assert theme_for(environ, "light") == "light"


def test_no_color_leaves_no_choice() -> None:
    assert theme_for({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "light") == "terminal"


def test_the_terminals_own_theme_paints_no_background_and_reverses_the_row_with_the_cursor() -> None:
    own = PALETTES["terminal"]

    assert own.style(Role.MUTED, own.bar) == Style(color="default", dim=True)
    assert own.style(Role.ERROR, own.background) == Style(color="red", dim=False)
    assert own.style(Role.ACCENT, own.selected) == Style(color="default", reverse=True)
