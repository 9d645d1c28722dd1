"""The view of a conversation: one scrolling widget that draws only the lines that are visible.

`transcript.widget.TranscriptPane` is a list of *blocks* (`transcript.blocks`). Its owner changes the list:

- `add(block) -> int` appends a block and returns its id; `replace(id, block)` exchanges it; `load(blocks)` shows a
  finished conversation; `clear()` removes everything. A block without rows, `Remark(Container())`, takes no space.
- `append_text(id, piece)` adds to an `AnswerBlock` or a `Thinking` that is streamed; `finish_text(id)` ends it.
- `viewport.follows` says whether the view is at its end and stays there; `viewport.new_lines`, how many lines were
  added since it was not.
- `offer(key) -> bool` chooses an offer of the last block, if it is a `NoticeBlock` that has this key.
- `selection.exists` and `copy_selection()` are for a `ctrl+c` that reaches the owner.

It sends `Copied` (show its `words`), `OfferChosen`, `BlockChosen` (`f` and `e` on a block: fork, edit) and
`PagerWanted` and `FileWanted`. `transcript.keys.KEYS` lists its keys, for a footer and a help.

Theory of operation. A block is drawn by the components of `kit` to lines of spans, the same lines as in plain output;
a streamed text is read line by line, and a line that is complete is drawn once. Code is coloured when its fence has
closed, in a thread if it is long. A document (`document`) holds the lines of all blocks for the current width, and
finds the block of a row by bisection over cumulative heights. Blocks that have not been drawn at this width have an
estimated height, which is corrected when they come near the viewport, or in idle time; the first visible line stays
where it is. A long text is fitted to another width in the same way, part by part. Pieces of streamed text are
collected and drawn by a timer.
"""
