"""The widgets of the full-screen run and where they are, by the size of the terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widget import Widget

from tildone.kit.theme import Role, Span
from tildone.tui.check_actions import CheckActions
from tildone.tui.editing import Editor
from tildone.tui.palette import PALETTES, Palette
from tildone.tui.plan_rows import PlanOptions
from tildone.tui.row_list import Lines, RowList
from tildone.tui.run.completion_list import CompletionList
from tildone.tui.run.composer import Composer
from tildone.tui.run.question_panel import QuestionPanel
from tildone.tui.run.status_lines import NARROW_COLUMNS, WIDE_COLUMNS
from tildone.value import replace

PLAN_COLUMNS = 54
TINY_COLUMNS, TINY_ROWS = 40, 10
NO_FOOTER_ROWS, NO_STATUS_ROWS, NO_RULE_ROWS = 16, 13, 10


class Layout(CheckActions):
    """The widgets. `may_take_keys` returns whether a question may take the keys by itself."""

    CSS = """
    Screen { background: $background; layers: base over; overflow: hidden; }
    #body { height: 1fr; layers: base over; }
    #left { width: 1fr; }
    #plan { width: 54; background: $surface; padding: 0 1; display: none; }
    #plan.over { layer: over; dock: right; }
    #plan.whole { width: 100%; }
    #composer-row { height: auto; }
    #prompt-sign { width: 3; }
    #composer { width: 1fr; }
    #prompt-field, #prompt-field:focus { background: $surface; color: $foreground; width: 1fr; padding: 0; }
    #plan-title { margin: 0 0 1 0; }
    """
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tildone run"

    def __init__(
        self, editor: Editor, theme: str, make_transcript: Callable[[Palette], Widget], plan_list: type[RowList]
    ) -> None:
        palette = PALETTES[theme]
        super().__init__(editor, palette)
        self._palette, self._theme_name = palette, theme
        self.composer = Composer()
        self.panel = QuestionPanel(
            palette, may_take_keys=self._may_take_keys, give_back=self._keys_to_editor, answered=self._question_answered
        )
        self.transcript_view = make_transcript(palette)
        self.completion_list = CompletionList(palette)
        self._plan_list = plan_list(plan_colours(palette), id="plan-list")
        self._plan_options = PlanOptions()
        self._plan_wanted: bool | None = None
        self._sides = Horizontal(id="body"), Vertical(id="left"), Vertical(id="plan")
        names = ("top", "plan-title", "facts", "message", "widgets", "rule", "status", "footer")
        raised = {"top", "plan-title", "facts", "widgets", "status", "message"}
        self._texts = {name: Lines(palette, raised=name in raised, id=name) for name in names}
        self._sign = Lines(palette, id="prompt-sign")
        self._composer_row = Horizontal(id="composer-row")

    def compose(self) -> ComposeResult:
        """Create everything from the top to the bottom."""
        texts, (body, left, plan) = self._texts, self._sides
        yield texts["top"]
        with body:
            with left:
                yield from (self.transcript_view, self.panel)
            with plan:
                yield from (texts["plan-title"], self._plan_list, texts["facts"])
        yield from (texts["message"], self.need_panel, self.prompt, self.question)
        yield from (texts["widgets"], self.completion_list, texts["rule"])
        with self._composer_row:
            yield from (self._sign, self.composer)
        yield from (texts["status"], texts["footer"])

    @property
    def plan_is_shown(self) -> bool:
        """Whether the plan is visible."""
        return bool(self._sides[2].display)

    @property
    def plan_is_over(self) -> bool:
        """Whether the plan hides a part of the conversation."""
        return self.plan_is_shown and self.size.width < WIDE_COLUMNS

    def _may_take_keys(self) -> bool:
        raise NotImplementedError

    def _keys_to_editor(self, event: events.Key | events.Paste | None) -> None:
        raise NotImplementedError

    def _question_answered(self, key: str) -> None:
        raise NotImplementedError

    def use_palette(self, name: str) -> None:
        """Use the colours of a theme."""
        palette = PALETTES[name]
        # Otherwise Textual would convert the terminal's own colours, of which it does not know the values.
        self.ansi_color = palette.is_ansi
        self.register_theme(dataclasses.replace(palette.theme, name=f"tildone-{name}"))
        self.theme = f"tildone-{name}"

    def lay_out(self, size: Size) -> None:
        """Show what there is room for. Nothing is refused: in the smallest terminal, two rows are left."""
        columns, rows = size.width, size.height
        is_wide, is_tiny = columns >= WIDE_COLUMNS, columns < TINY_COLUMNS or rows < TINY_ROWS
        body, _, plan = self._sides
        wanted = is_wide if self._plan_wanted is None else self._plan_wanted
        plan.display = wanted and not (is_tiny and self._plan_wanted is None)
        plan.set_class(not is_wide, "over")
        plan.set_class(columns < NARROW_COLUMNS, "whole")
        plan.styles.width = "100%" if columns < NARROW_COLUMNS else PLAN_COLUMNS
        body.set_class(is_wide, "wide")
        texts = self._texts
        texts["top"].display = not is_tiny and not (is_wide and plan.display)
        texts["footer"].display = rows >= NO_FOOTER_ROWS and columns >= TINY_COLUMNS
        texts["status"].display = rows >= NO_STATUS_ROWS and columns >= TINY_COLUMNS
        texts["rule"].display = rows >= NO_RULE_ROWS and not is_tiny
        texts["facts"].display = rows >= NO_FOOTER_ROWS
        texts["facts"].styles.height = 3
        most = 1 if is_tiny else 3 if columns < NARROW_COLUMNS else 5 if not is_wide else 8
        self.composer.styles.max_height = most
        texts["rule"].show(lambda width: [(Span("─" * width, Role.DIM),)])
        self._sign.show(lambda _: [(Span(" ❯ ", Role.ACCENT, bold=True),)])
        if self.panel.question is not None:
            self.panel.fit()


def plan_colours(palette: Palette) -> Palette:
    """Return the colours of the plan, which is one step above the rest."""
    return replace(palette, background=palette.bar, bar=palette.selected)
