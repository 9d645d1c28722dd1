"""Widgets that are told about every change of their size.

Textual compares the sizes after a layout with those before it, and sends `Resize` to the widgets whose size differs. If
a region is read between the change of a style and the layout, Textual computes the new sizes then, finds no difference
later, and sends nothing. What depends on the size would stay as it was.
"""

from __future__ import annotations

from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget


class ResizedWidget(Widget):
    """A widget that gets a `Resize` after each layout that has changed its size."""

    _told_size = Size(0, 0)

    def on_mount(self) -> None:
        """Look at the size after each layout. Textual calls this besides the `on_mount` of a subclass."""
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)

    def on_resize(self) -> None:
        """Keep the size that the last layout gave. Textual calls this besides the `on_resize` of a subclass."""
        self._told_size = self.outer_size

    def _laid_out(self, _screen: Screen[object]) -> None:
        if self.outer_size != self._told_size:
            self.post_message(Resize(self.size, self.virtual_size, self.container_size))
