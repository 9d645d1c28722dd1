"""The list of completions above the editor."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from tildone.kit.text import clip_text
from tildone.kit.theme import Role, Span
from tildone.tui.painting import painted
from tildone.tui.palette import Palette
from tildone.tui.run.completion import EditorCompletions
from tildone.views.sanitize import printable

NAME_COLUMNS = 24


class CompletionList(Widget):
    """EditorCompletions, one per row; hidden while there are none."""

    DEFAULT_CSS = "CompletionList { height: auto; display: none; }"

    def __init__(self, palette: Palette) -> None:
        super().__init__(id="completions")
        self._palette = palette
        self._completions = EditorCompletions()

    def show(self, completions: EditorCompletions) -> None:
        self._completions = completions
        self.display = bool(completions.candidates)
        self.styles.height = max(1, len(completions.candidates))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        palette, shown = self._palette, self._completions
        if y >= len(shown.candidates):
            return painted((), self.size.width, palette, palette.bar)
        candidate, chosen = shown.candidates[y], y == shown.at
        name = printable(candidate.text.strip())
        about = clip_text(printable(candidate.about), max(0, self.size.width - max(len(name), NAME_COLUMNS) - 8))
        line = (
            Span("   "),
            Span(f"{name:<{NAME_COLUMNS}}", bold=chosen),
            Span(f"  {about}" if about else "", Role.DIM),
        )
        background = palette.selected if chosen else palette.bar
        return painted(line, self.size.width, palette, background)
