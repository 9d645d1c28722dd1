"""The widgets in which a person is asked for something, above the footer: one of them is shown at a time."""

from __future__ import annotations

from tildone.screens.watch.need_panel import NeedPanel
from tildone.screens.widgets.keys import Palette
from tildone.screens.widgets.prompt import Prompt, QuestionLine


class Asking:
    """A text, a choice of a few keys, and an open question of an agent.

    They are not found by queries, which search the screen on top: that may be the help.
    """

    def __init__(self, palette: Palette) -> None:
        self.prompt, self.question, self.need_panel = Prompt(palette), QuestionLine(palette), NeedPanel(palette)
