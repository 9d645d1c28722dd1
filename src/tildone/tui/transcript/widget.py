"""The transcript: a cursor on its blocks, folding, finding, and its keys."""

from __future__ import annotations

import re
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.message import Message

from tildone.tui.copying import copy_by_tool
from tildone.tui.transcript.block_lines import is_too_long
from tildone.tui.transcript.blocks import Block, CallBlock, NoticeBlock, PersonMessage
from tildone.tui.transcript.finding import SearchableView
from tildone.tui.transcript.keys import bindings
from tildone.tui.transcript.places import Place, path_at
from tildone.views.sanitize import visible

_CODE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?P=mark)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
FOLDABLE = (CallBlock, PersonMessage)


class TranscriptPane(SearchableView):
    """A conversation. See the package for how it is used."""

    BINDINGS: ClassVar[list[BindingType]] = bindings()

    class OfferChosen(Message):
        """The person pressed a key that the last block offers."""

        def __init__(self, number: int, key: str) -> None:
            super().__init__()
            self.number, self.key = number, key

    class BlockChosen(Message):
        """The person wants to `fork` from a block, or `edit` it."""

        def __init__(self, number: int, what: str) -> None:
            super().__init__()
            self.number, self.what = number, what

    class PagerWanted(Message):
        """The person wants to read a text in a pager."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FileWanted(Message):
        """The person wants to see the file that a call is about, in their editor. The path is as it was given."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    cursor: int | None = None
    """The id of the block with the cursor."""

    def offer(self, key: str) -> bool:
        """Choose an offer of the last block; return whether it has one with this key."""
        last = self.document.entries[-1] if self.document.entries else None
        if (
            last is None
            or not isinstance(last.block, NoticeBlock)
            or key not in {each.key for each in last.block.offers}
        ):
            return False
        self.post_message(self.OfferChosen(last.id, key))
        return True

    def clear(self) -> None:
        """Remove all blocks."""
        self.cursor = self._match = None
        self.clear_selection()
        super().clear()

    def replace(self, number: int, block: Block) -> None:
        """Exchange a block. It is drawn with the next frame."""
        if self.has_selection and number == self.document.entries[self._to[0]].id:
            self.clear_selection()
        super().replace(number, block)

    def on_resize(self) -> None:
        """End the selection, whose lines have changed."""
        self.clear_selection()
        super().on_resize()

    def copy(self, text: str) -> None:
        """Copy a text by the terminal, and by the platform's tool."""
        self.app.copy_to_clipboard(text)
        self._copy_by_tool(text)

    @work(thread=True)
    def _copy_by_tool(self, text: str) -> None:
        self.post_message(self.Copied(text, certain=copy_by_tool(text)))

    def on_key(self, event: events.Key) -> None:
        """Take the keys of a search that is being typed, and those that the last block offers."""
        if self.is_searching:
            self.type_key(event)
        elif not (event.character and self.offer(event.character)):
            return
        event.stop()
        event.prevent_default()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys that have nothing to do here to others."""
        match action:
            case "copy_selection":
                return self.has_selection
            case "escape":
                return self.has_selection or bool(self.words)
            case "character" | "word":
                return self._by_keys
            case "choose":
                return not self._by_keys
        return super().check_action(action, parameters)

    def action_line(self, rows: int) -> None:
        """Move by lines."""
        self._move(rows)

    def action_half_page(self, pages: int) -> None:
        """Move by half pages."""
        self._move(pages * max(1, self.size.height // 2))

    def action_page(self, pages: int) -> None:
        """Move by pages, of which one row stays visible."""
        self._move(pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Go to the beginning."""
        self._move(-self.document.total)

    def action_last(self) -> None:
        """Go to the end, and follow it."""
        self._move(self.document.total)
        if not self._by_keys:
            self.go_to_end()

    def action_character(self, characters: int) -> None:
        """Move the end of the selection by characters."""
        self.move_end(0, characters)

    def action_block(self, blocks: int) -> None:
        """Move the cursor to another block, and scroll to it."""
        filled = [entry.id for entry in self.document.entries if entry.rows]
        if filled:
            at = filled.index(self.cursor) + blocks if self.cursor in filled else self._nearest(filled, blocks)
            self._put_cursor(filled[min(max(0, at), len(filled) - 1)])

    def action_fold(self) -> None:
        """Expand the block with the cursor, or fold it; without a cursor, the last one that can be."""
        number = self._target(FOLDABLE)
        if number is not None:
            self._fold(number)

    def action_fold_all(self) -> None:
        """Expand all calls, or fold them."""
        self.clear_selection()
        self.document.expand_all(expanded=not self.document.expanded)
        self._settle()

    def action_thinking(self) -> None:
        """Show what the model thinks, or fold it."""
        self.clear_selection()
        self.document.show_thinking(shown=not self.document.thinking)
        self._settle()

    def action_pager(self) -> None:
        """Open the result of a call that is too long to be expanded."""
        call = self._call()
        if call is not None and is_too_long(call):
            self.post_message(self.PagerWanted(visible(call.result.text)))

    def action_open_file(self) -> None:
        """Open the file that a call is about."""
        call = self._call()
        if call is not None and call.path:
            self.post_message(self.FileWanted(call.path))

    def action_select(self) -> None:
        """Begin to select at the first line of the block with the cursor, or of the viewport."""
        index, number, _ = self.place_at(0, 0)
        if self.cursor is not None and self.document.index(self.cursor) != index:
            index, number = self.document.index(self.cursor), 0
        if self.document.entries:
            self.begin_by_keys((index, number, self.document.lines(index)[number].gutter))

    def action_copy(self) -> None:
        """Copy what is selected."""
        self.copy_selection()

    def action_copy_selection(self) -> None:
        """Copy what is selected."""
        self.copy_selection()

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

    def action_choose(self, what: str) -> None:
        """Tell that the person wants to fork from the block with the cursor, or to edit it."""
        if self.cursor is not None:
            self.post_message(self.BlockChosen(self.cursor, what))

    def action_escape(self) -> None:
        """End the selection, else the search."""
        if self.has_selection:
            self.clear_selection()
        else:
            self.find("")

    def click_place(self, place: Place) -> None:
        """Put the cursor on the block; in the header of a call, open the file at this place, or else fold the block."""
        index, number, character = place
        if self.document.entries:
            self.cursor = self.document.entries[index].id
            if number < self.document.header_rows(index):
                path = path_at(self.document, index, number, character)
                self.post_message(self.FileWanted(path)) if path else self._fold(self.cursor)
            self.refresh()

    def _has_cursor(self, index: int) -> bool:
        return self.has_focus and self.cursor == self.document.entries[index].id

    def _move(self, rows: int) -> None:
        """Scroll or, while selecting by keys, move the end of the selection."""
        if self._by_keys:
            self.move_end(rows)
        else:
            self.scroll_rows(rows)

    def _put_cursor(self, number: int) -> None:
        self.cursor = number
        self.show_line(self.document.index(number), 0)
        self.refresh()

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

    def _fold(self, number: int) -> None:
        """Expand a block, or fold it; its first line stays where it is, if it is visible."""
        index = self.document.index(number)
        self.clear_selection()
        entry = self.document.entries[index]
        first, top = self.document.row(index, 0), self.scroll_offset.y
        self.document.set_expanded(number, expanded=not entry.expanded)
        if first >= top:
            self.hold_at(top)
        if number == self._seen[0]:
            self._seen = number, entry.rows
        self._settle()

    def _block(self) -> Block | None:
        if self.cursor is not None:
            return self.document.entries[self.document.index(self.cursor)].block
        return self.document.entries[-1].block if self.document.entries else None

    def _source(self) -> str:
        """The text of the block with the cursor, or of the last one."""
        if not self.document.entries:
            return ""
        entry = self.document.entries[-1 if self.cursor is None else self.document.index(self.cursor)]
        return visible(entry.text)
