"""The transcript: draws the visible lines of a conversation that goes on, and takes keys and the mouse.

What arrives is drawn by a timer, thirty times a second at most; each timer rests while it has nothing to do.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from tildone.base.desktop import copy_to_clipboard
from tildone.base.keys import ALL_BINDINGS, EXPAND, PAGER, THINKING, KeyBindings
from tildone.plan.text.amounts import copied_words, format_count
from tildone.plan.text.safe import visible
from tildone.plan.text.styles import Role, Span
from tildone.run.kit.drawing import DrawnLine
from tildone.screens.transcript.blocks import (
    PADDING,
    Block,
    CallBlock,
    NoticeBlock,
    PersonMessage,
    is_too_long,
    line_strip,
)
from tildone.screens.transcript.document import (
    Document,
    Place,
    Selection,
    TextSearch,
    Viewport,
    character_at,
    path_at,
    word_at,
)
from tildone.screens.widgets.keys import Line, Palette
from tildone.screens.widgets.prompt import Pane, ScreenKey, key_bindings
from tildone.screens.widgets.rows import EDGE_SECONDS, LINE_CLICKS, WHEEL_ROWS, WORD_CLICKS, ResizedWidget

_ACTIONS = (
    ("transcript.lineDown", "a line down", "line(1)"),
    ("transcript.lineUp", "a line up", "line(-1)"),
    ("transcript.halfPageDown", "half a page down", "half_page(1)"),
    ("transcript.halfPageUp", "half a page up", "half_page(-1)"),
    ("transcript.pageDown", "a page down", "page(1)"),
    ("transcript.pageUp", "a page up", "page(-1)"),
    ("transcript.first", "to the beginning", "first"),
    ("transcript.last", "to the end, and follow it", "last"),
    ("transcript.nextBlock", "to the next message or call", "block(1)"),
    ("transcript.previousBlock", "to the previous message or call", "block(-1)"),
    ("transcript.fold", "expand or fold the block", "fold"),
    (EXPAND, "expand or fold the block", "fold"),
    ("transcript.foldAll", "expand or fold all calls", "fold_all"),
    (THINKING, "show or fold thinking", "thinking"),
    (PAGER, "open a long result in $PAGER", "pager"),
    ("transcript.openFile", "open the file of the call in $EDITOR", "open_file"),
    ("transcript.select", "select by keys: then move, and copy", "select"),
    ("transcript.left", "while selecting: a character left", "character(-1)"),
    ("transcript.right", "while selecting: a character right", "character(1)"),
    ("transcript.nextWord", "while selecting: to the next word", "word('next')"),
    ("transcript.previousWord", "while selecting: to the previous word", "word('previous')"),
    ("transcript.wordEnd", "while selecting: to the end of the word", "word('end')"),
    ("transcript.copy", "copy what is selected", "copy"),
    ("transcript.copySelection", "the same, if something is selected", "copy_selection"),
    ("transcript.copyBlock", "copy the block", "copy_block"),
    ("transcript.copyCode", "copy the code of the block", "copy_code"),
    ("transcript.find", "find", "find"),
    ("transcript.nextMatch", "the next match", "match(1)"),
    ("transcript.previousMatch", "the previous match", "match(-1)"),
    ("transcript.fork", "fork from this message", "choose('fork')"),
    ("transcript.edit", "edit this message and go another way", "choose('edit')"),
    ("transcript.escape", "end the selection, or the search", "escape"),
)
KEYS = tuple(ScreenKey(*action, Pane.TRANSCRIPT) for action in _ACTIONS)


MAX_STRIPS = 4_000
FRAMES_PER_SECOND, SPINS_PER_SECOND = 30, 4
SLOW_SECONDS = 0.1
"""The pause between two frames over a slow connection."""

SLOW_FRAME_SECONDS = 0.03
IDLE_SECONDS = 0.005
"""How long blocks are drawn in idle time before keys are handled again."""

CARET = Span("▍", Role.ACCENT)
"""The end of a text that is being written."""

FOLDABLE = (CallBlock, PersonMessage)
_CODE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


class TranscriptPane(ResizedWidget, ScrollView, inherit_bindings=False, can_focus=True):
    """A conversation. See the package for how it is used."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = key_bindings(KEYS)
    DEFAULT_CSS = """
    TranscriptPane {
        height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1; background: $background;
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $panel; scrollbar-color-hover: $accent; scrollbar-color-active: $accent;
    }
    """

    @dataclass
    class Copied(Message):
        """Text was copied. It is not certain if only the terminal was asked to."""

        text: str
        certain: bool

        @property
        def words(self) -> str:
            return copied_words(self.text, certain=self.certain)

    @dataclass
    class OfferChosen(Message):
        number: int
        key: str

    @dataclass
    class BlockChosen(Message):
        number: int
        what: str

    @dataclass
    class PagerWanted(Message):
        text: str

    @dataclass
    class FileWanted(Message):
        """The person wants to see the file that a call is about, in their editor. The path is as it was given."""

        path: str

    def __init__(
        self,
        palette: Palette,
        *,
        now: Callable[[], float] = time.monotonic,
        keys: KeyBindings = ALL_BINDINGS,
        id: str | None = None,  # noqa: A002  Textual's
    ) -> None:
        super().__init__(id=id)
        self.document = Document(now, keys)
        self.document.on_refit = self._refitted
        self.viewport = Viewport(self.document)
        self.selection = Selection(self.document, self.refresh)
        self.search = TextSearch(self.document)
        self.cursor: int | None = None
        """The id of the block with the cursor."""
        self._palette = palette
        self._settling = False
        self._strips: dict[int, tuple[DrawnLine, Strip]] = {}
        self._clocks: dict[str, Timer] = {}
        self._moving: set[int] = set()
        self._is_remote = bool(os.environ.get("SSH_CONNECTION"))
        self._next_frame = 0.0
        self._is_coloring = False
        self._drag: Place | None = None
        self._edge: Timer | None = None

    def on_mount(self) -> None:
        """Create the timers. Each finds out by itself whether it has something to do."""
        self._clocks = {
            "flush": self.set_interval(1 / FRAMES_PER_SECOND, self._flush),
            "idle": self.set_interval(1 / FRAMES_PER_SECOND, self._draw_idle),
            "spin": self.set_interval(1 / SPINS_PER_SECOND, self._spin),
        }
        self._settle()

    @property
    def palette(self) -> Palette:
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        self._palette = palette
        self._strips.clear()
        self.refresh()

    def add(self, block: Block) -> int:
        number = self.document.add(block)
        self._track(number)
        self._settle()
        return number

    def replace(self, number: int, block: Block) -> None:
        if self.selection.ends_in(number):
            self.selection.clear()
        self.document.replace(number, block)
        self._track(number)
        self._wake("flush")

    def append_text(self, number: int, piece: str) -> None:
        self.document.append(number, piece)
        self._wake("flush")

    def finish_text(self, number: int) -> None:
        self.document.finish(number)
        self._settle()

    def load(self, blocks: Iterable[Block]) -> None:
        """Show a finished conversation, from its end."""
        self.clear()
        for block in blocks:
            self._track(self.document.add(block))
        self._settle()

    def clear(self) -> None:
        self.cursor = self.search.match = None
        self.selection.clear()
        self.document.clear()
        self._moving.clear()
        self.viewport.follows = True
        self._strips.clear()
        self._settle()

    def offer(self, key: str) -> bool:
        """Choose an offer of the last block; return whether it has one with this key."""
        last = self.document.entries[-1] if self.document.entries else None
        offers = last.block.offers if last is not None and isinstance(last.block, NoticeBlock) else ()
        if last is None or key not in {each.key for each in offers}:
            return False
        self.post_message(self.OfferChosen(last.id, key))
        return True

    def go_to_end(self) -> None:
        self.viewport.follows = True
        self._settle()

    def copy(self, text: str) -> None:
        """Copy a text by the terminal, and by the platform's tool."""
        self.app.copy_to_clipboard(text)
        self._copy_by_tool(text)

    def copy_selection(self) -> None:
        if self.selection.exists:
            self.copy(self.selection.text)
            self.selection.clear()

    def find(self, words: str) -> bool:
        """Highlight words, and go to the next place where they are shown; return whether there is one."""
        self.search.words, self.search.match = words, None
        return self._go_to_match(1)

    def place_at(self, x: int, y: int) -> Place:
        """Return the place that is drawn at a cell of the widget."""
        row = min(max(0, self.scroll_offset.y + y), max(0, self.document.total - 1))
        if not self.document.entries:
            return 0, 0, 0
        index, number = self.document.locate(row)
        lines = self.document.lines(index)
        if number < 0 or not lines:
            return index, 0, 0
        number = min(number, len(lines) - 1)
        return index, number, character_at(lines[number].text, max(0, x - PADDING))

    def render_line(self, y: int) -> Strip:
        edge = self._edge_line() if y == self.size.height - 1 else None
        row = self.scroll_offset.y + y
        if edge is None and row < self.document.total:
            index, number = self.document.locate(row)
            lines = self.document.lines(index)
            if 0 <= number < len(lines):
                return self._line_strip(index, number, lines[number])
        return line_strip(edge or (), self.size.width, self._palette)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Hold the viewport at the line that was scrolled to."""
        if self._settling and not self.viewport.follows and self.show_vertical_scrollbar:
            # The visible lines are the same as before: only rows above them have changed.
            self.vertical_scrollbar.position = new_value
            return
        super().watch_scroll_y(old_value, new_value)
        if not self._settling and round(old_value) != round(new_value):
            if round(new_value) < self.max_scroll_y:
                self.viewport.unfollow()
            self.viewport.follows = round(new_value) >= self.max_scroll_y
            self.viewport.hold(round(new_value))
            self._settle()

    def on_resize(self) -> None:
        """Draw the visible blocks for the new width; the others follow in idle time. The lines are others now."""
        self.selection.clear()
        columns = max(1, self.size.width - 2 * PADDING)
        if columns != self.document.columns:
            self.viewport.resize(columns)
            self._strips.clear()
        self._settle()
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Take the keys of a search that is being typed."""
        if self.search.typed is not None:
            words = self.search.type_key(event)
            if words is not None:
                self.find(words)
            self.refresh()
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        if self.search.typed is not None:
            event.stop()
            self.search.typed += event.text.partition("\n")[0]
            self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and not self._on_edge_line(event.y):
            self.selection.clear()
            self._drag = self.place_at(event.x, event.y)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to here; at an edge, scroll."""
        if self._drag is None:
            return
        place = self.place_at(event.x, min(max(event.y, 0), self.size.height - 1))
        if place != self._drag or self.selection.exists:
            self.selection.select(self._drag, place)
        beyond = -1 if event.y < 0 else 1 if event.y >= self.size.height else 0
        self._stop_edge()
        if beyond:
            self._edge = self.set_interval(EDGE_SECONDS, lambda: self._scroll_selecting(beyond))

    def on_mouse_up(self, _event: events.MouseUp) -> None:
        self._drag = None
        self._stop_edge()
        self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        """Select a word or a line; once, choose what is there."""
        if self._on_edge_line(event.y):
            self.go_to_end()
            return
        index, number, character = self.place_at(event.x, event.y)
        if event.chain == 1 and not self.selection.exists:
            self._choose_place(index, number, character)
        elif event.chain in (WORD_CLICKS, LINE_CLICKS) and self.document.entries:
            text = self.document.lines(index)[number].text
            start, end = word_at(text, character) if event.chain == WORD_CLICKS else (0, len(text))
            self.selection.select((index, number, start), (index, number, end))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._on_wheel(event, WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._on_wheel(event, -WHEEL_ROWS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys that have nothing to do here to others."""
        match action:
            case "copy_selection":
                return self.selection.exists
            case "escape":
                return self.selection.exists or bool(self.search.words)
            case "character" | "word":
                return self.selection.by_keys
            case "choose":
                return not self.selection.by_keys
        return super().check_action(action, parameters)

    def action_line(self, rows: int) -> None:
        """Scroll or, while selecting by keys, move the end of the selection."""
        if self.selection.by_keys:
            self._show_end(self.selection.move_end(rows))
        else:
            self._scroll_rows(rows)

    def action_half_page(self, pages: int) -> None:
        self.action_line(pages * max(1, self.size.height // 2))

    def action_page(self, pages: int) -> None:
        """Move by pages, of which one row stays visible."""
        self.action_line(pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.action_line(-self.document.total)

    def action_last(self) -> None:
        self.action_line(self.document.total)
        if not self.selection.by_keys:
            self.go_to_end()

    def action_character(self, characters: int) -> None:
        self._show_end(self.selection.move_end(0, characters))

    def action_word(self, motion: str) -> None:
        self._show_end(self.selection.move_word(motion))

    def action_block(self, blocks: int) -> None:
        filled = [entry.id for entry in self.document.entries if entry.rows]
        if filled:
            at = filled.index(self.cursor) + blocks if self.cursor in filled else self._nearest(filled, blocks)
            self.cursor = filled[min(max(0, at), len(filled) - 1)]
            self._show_line(self.document.index(self.cursor), 0)
            self.refresh()

    def action_fold(self) -> None:
        """Expand the block with the cursor, or fold it; without a cursor, the last one that can be."""
        number = self._target(FOLDABLE)
        if number is not None:
            self._fold(number)

    def action_fold_all(self) -> None:
        self.selection.clear()
        self.document.expand_all(expanded=not self.document.expanded)
        self._settle()

    def action_thinking(self) -> None:
        self.selection.clear()
        self.document.show_thinking(shown=not self.document.thinking)
        self._settle()

    def action_pager(self) -> None:
        call = self._call()
        if call is not None and is_too_long(call):
            self.post_message(self.PagerWanted(visible(call.result.text)))

    def action_open_file(self) -> None:
        call = self._call()
        if call is not None and call.path:
            self.post_message(self.FileWanted(call.path))

    def action_select(self) -> None:
        """Begin to select at the first line of the block with the cursor, or of the viewport."""
        index, number, _ = self.place_at(0, 0)
        if self.cursor is not None and self.document.index(self.cursor) != index:
            index, number = self.document.index(self.cursor), 0
        if self.document.entries:
            place = index, number, self.document.lines(index)[number].gutter
            self.selection.by_keys = True
            self.selection.select(place, place)

    action_copy = action_copy_selection = copy_selection

    def action_copy_block(self) -> None:
        """Copy the text of the block with the cursor, as it was written."""
        text = self._source()
        if text:
            self.copy(text)

    def action_copy_code(self) -> None:
        """Copy the code of the block with the cursor; of a call, its result."""
        text = self._source()
        code = "\n".join(found["code"].rstrip("\n") for found in _CODE.finditer(text))
        is_call = isinstance(self._block(), CallBlock)
        if code or (is_call and text):
            self.copy(code or text)

    def action_find(self) -> None:
        self.search.typed = ""
        self.refresh()

    def action_match(self, step: int) -> None:
        if self.search.words:
            self._go_to_match(step)

    def action_choose(self, what: str) -> None:
        """Tell that the person wants to fork from the block with the cursor, or to edit it."""
        if self.cursor is not None:
            self.post_message(self.BlockChosen(self.cursor, what))

    def action_escape(self) -> None:
        """End the selection, else the search."""
        if self.selection.exists:
            self.selection.clear()
        else:
            self.find("")

    @work(thread=True)
    def _copy_by_tool(self, text: str) -> None:
        self.post_message(self.Copied(text, certain=copy_to_clipboard(text)))

    def _choose_place(self, index: int, number: int, character: int) -> None:
        """Put the cursor on the block; in the header of a call, open the file at this place, or else fold the block."""
        if self.document.entries:
            self.cursor = self.document.entries[index].id
            if number < self.document.header_rows(index):
                path = path_at(self.document, index, number, character)
                self.post_message(self.FileWanted(path)) if path else self._fold(self.cursor)
            self.refresh()

    def _fold(self, number: int) -> None:
        """Expand a block, or fold it; its first line stays where it is, if it is visible."""
        index = self.document.index(number)
        self.selection.clear()
        entry = self.document.entries[index]
        first, top = self.document.row(index, 0), self.scroll_offset.y
        self.document.set_expanded(number, expanded=not entry.expanded)
        if first >= top:
            self._hold_at(top)
        self.viewport.folded(number, entry.rows)
        self._settle()

    def _go_to_match(self, step: int) -> bool:
        line = self.search.step(step, self.place_at(0, 0))
        if line is not None:
            self._show_line(*line)
        self.refresh()
        return line is not None

    def _nearest(self, filled: list[int], step: int) -> int:
        """The place among these blocks of the first one that the cursor goes to: at the edge of the viewport."""
        index, *_ = self.place_at(0, 0 if step > 0 else self.size.height - 1)
        return next((at for at, number in enumerate(filled) if self.document.index(number) >= index), len(filled) - 1)

    def _target(self, kinds: tuple[type[Block], ...]) -> int | None:
        """The block that a key is about: that with the cursor, else the last one of these kinds that is visible."""
        if self.cursor is not None and self._is_visible(self.document.index(self.cursor)):
            return self.cursor
        last, *_ = self.place_at(0, self.size.height - 1)
        found = [entry.id for entry in self.document.entries[: last + 1] if isinstance(entry.block, kinds)]
        return found[-1] if found else None

    def _call(self) -> CallBlock | None:
        number = self._target((CallBlock,))
        block = self.document.entries[self.document.index(number)].block if number is not None else None
        return block if isinstance(block, CallBlock) else None

    def _is_visible(self, index: int) -> bool:
        top, bottom = self.document.row(index, 0), self.document.top(index + 1)
        return top < self.scroll_offset.y + self.size.height and bottom > self.scroll_offset.y

    def _block(self) -> Block | None:
        """The block with the cursor, or the last one."""
        if self.cursor is not None:
            return self.document.entries[self.document.index(self.cursor)].block
        return self.document.entries[-1].block if self.document.entries else None

    def _source(self) -> str:
        """The text of the block with the cursor, or of the last one."""
        if not self.document.entries:
            return ""
        entry = self.document.entries[-1 if self.cursor is None else self.document.index(self.cursor)]
        return visible(entry.text)

    def _scroll_rows(self, rows: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False)

    def _show_line(self, index: int, number: int) -> None:
        """Scroll as little as possible so that a line is visible."""
        self.document.lines(index)
        row = self.document.row(index, number)
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height - 1:
            self._hold_at(row - (1 if row < top else height - 2))
            self._settle()

    def _show_end(self, row: int) -> None:
        top = self.scroll_offset.y
        self._scroll_rows(min(0, row - top) or max(0, row - top - self.size.height + 1))
        self.refresh()

    def _hold_at(self, row: int) -> None:
        """Let the viewport begin at a row from now on."""
        self.viewport.unfollow()
        self.viewport.hold(max(0, row))

    def _scroll_selecting(self, rows: int) -> None:
        self._scroll_rows(rows)
        if self._drag is not None:
            self.selection.select(self._drag, self.place_at(0, 0 if rows < 0 else self.size.height - 1))

    def _on_wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        event.prevent_default()  # Textual would scroll, too
        self._scroll_rows(rows)

    def _stop_edge(self) -> None:
        if self._edge is not None:
            self._edge.stop()
            self._edge = None

    def _on_edge_line(self, y: int) -> bool:
        return y == self.size.height - 1 and self._edge_line() is not None

    def _edge_line(self) -> Line | None:
        """The line at the lower edge, in place of the last row; None if there is nothing to say."""
        new = self.viewport.new_lines
        more = (Span(f"↓ {format_count(new, 'new line')}", Role.ACCENT), Span(" · end", Role.MUTED)) if new else None
        return self.search.line() or more

    def _line_strip(self, index: int, number: int, line: DrawnLine) -> Strip:
        entry = self.document.entries[index]
        cursor = self.has_focus and self.cursor == entry.id
        marked = [*self.search.marked(index, number), *self.selection.marked(index, number, line)]
        is_written = entry.is_open and entry.stream is not None and number == len(entry.lines or ()) - 1
        if cursor or marked or is_written:
            spans = (*line.spans, CARET) if is_written else line.spans
            return line_strip(spans, self.size.width, self._palette, cursor=cursor, marked=marked)
        held = self._strips.get(id(line))
        if held is None or held[0] is not line:
            if len(self._strips) > MAX_STRIPS:
                self._strips.clear()
            held = self._strips[id(line)] = line, line_strip(line.spans, self.size.width, self._palette)
        return held[1]

    def _refitted(self, block: int, start: int, old: list[DrawnLine], new: list[DrawnLine]) -> None:
        """End the selection, whose lines have changed."""
        self.selection.clear()
        self.viewport.refitted(block, start, old, new)

    def _track(self, number: int) -> None:
        """Draw a block again and again as long as time changes it."""
        if self.document.is_moving(self.document.index(number)):
            self._moving.add(number)
            self._wake("spin")
        else:
            self._moving.discard(number)

    def _wake(self, timer: str) -> None:
        if timer in self._clocks:
            self._clocks[timer].resume()

    def _flush(self) -> None:
        begun = time.monotonic()
        if begun < self._next_frame:
            return
        changed = self.document.flush()
        if not self.document.dirty:
            self._clocks["flush"].pause()
        self._settle(changed)
        self.call_after_refresh(self._frame_shown, begun)

    def _frame_shown(self, begun: float) -> None:
        """Send fewer frames where one takes long."""
        ended = time.monotonic()
        is_slow = self._is_remote or ended - begun > SLOW_FRAME_SECONDS
        self._next_frame = ended + SLOW_SECONDS if is_slow else 0.0

    def _draw_idle(self) -> None:
        end = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < end and self.document.draw_waiting():
            pass
        if self.document.is_drawn:
            self._clocks["idle"].pause()
        self._settle(self.document.total)

    def _settle(self, changed: int = 0) -> None:
        """Draw the blocks in and near the viewport, put it where it is held, and paint the rows from `changed` on."""
        height = self.size.height
        if height:
            row = self.viewport.first_row(height)
            self._settling = True
            self._set_total(self.document.total)
            self.scroll_y = self.scroll_target_y = row
            self._settling = False
            if self.scroll_offset.y >= self.max_scroll_y:
                self.viewport.follows = True
            if not self.document.is_drawn:
                self._wake("idle")
            first = max(0, changed - self.scroll_offset.y)
            self.refresh(Region(0, min(first, height - 1), self.size.width, height))
        if self.document.uncolored and self.is_attached and not self._is_coloring:
            self._is_coloring = True
            self.run_worker(self._color(), group="colors")

    def _set_total(self, rows: int) -> None:
        """Change the size of what is scrolled without a layout of the screen, which would paint everything again."""
        self.set_reactive(TranscriptPane.virtual_size, Size(self.size.width, rows))
        self.show_vertical_scrollbar = rows > self.size.height
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = rows
            self.vertical_scrollbar.window_size = self.size.height

    async def _color(self) -> None:
        """Colour code in a thread. The lines of a text that has been drawn anew since then are not touched."""
        document = self.document
        while document.uncolored:
            stream, block = document.uncolored.pop()
            await asyncio.to_thread(document.colors.lines, block.language, block.code)
            stream.color(block)
            self.refresh()
        self._is_coloring = False

    def _spin(self) -> None:
        """Draw the visible blocks that time changes, such as the signs of running calls."""
        if not self._moving:
            self._clocks["spin"].pause()
        top = self.scroll_offset.y
        for number in self._moving:
            index = self.document.index(number)
            row, height = self.document.top(index), self.document.heights[index]
            if row < top + self.size.height and row + height > top:
                self.document.invalidate(number)
                self.refresh(Region(0, row - top, self.size.width, height))
