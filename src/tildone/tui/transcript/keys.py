"""The actions of a transcript, once: for its bindings, a footer and a help. Their keys are in `tildone.kit.keys`."""

from __future__ import annotations

from tildone.kit.keys import EXPAND, PAGER, THINKING
from tildone.tui.screen_keys import Pane, ScreenKey

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
