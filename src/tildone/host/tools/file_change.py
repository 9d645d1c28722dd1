"""A change of one file, prepared before the person is asked: what is written must be what they were shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tildone.host.tools.diffs import Hunk, changed_lines, unified_diff
from tildone.host.tools.files import encoding_of, is_binary, read_file, replace_file
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.formatting import format_count, format_size
from tildone.value import value

MAX_DIFF_LINES = 2000
"""How many lines of a diff are shown with a question."""


@value
class PreparedChange:
    """The content of a file before and after; `before` is None if the file does not exist.

    `hunks` returns the changed lines of the text before the change, and is called only if the change is shown.
    """

    path: str
    shown: str
    before: bytes | None
    after: bytes
    hunks: Callable[[], tuple[str, Sequence[Hunk]]]

    @property
    def is_new(self) -> bool:
        """Whether the file is created."""
        return self.before is None

    def write(self) -> None:
        """Write the file.

        Raises:
            ToolFailure: it cannot be written, or has changed since the change was prepared.
        """
        if content(self.path, self.shown) != self.before:
            raise ToolFailure(f"{self.shown} has changed in the meantime; read it again")
        replace_file(self.path, self.after, self.shown)


@value
class ShownChange:
    """A change as the person sees it: the number of added and removed lines, and the lines of the diff."""

    added: int
    removed: int
    lines: tuple[str, ...]


def content(path: str, shown: str) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        return read_file(path, shown)
    except ToolFailure as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return None
        raise


def whole_file(path: str, shown: str, data: bytes) -> PreparedChange:
    """Return the change that replaces all of a file."""
    before = content(path, shown)

    def hunks() -> tuple[str, Sequence[Hunk]]:
        old, new = _text(before or b""), _text(data)
        return old, changed_lines(old, new)

    return PreparedChange(path, shown, before, data, hunks)


def show_change(change: PreparedChange) -> ShownChange:
    """Return the change as the person sees it. A diff that is too long says how much of it is missing."""
    if is_binary(change.before or b"") or is_binary(change.after):
        sizes = f"{format_size(len(change.before or b''))} before, {format_size(len(change.after))} after"
        return ShownChange(0, 0, (f"A binary file: {sizes}",))
    text, hunks = change.hunks()
    added, removed = sum(len(hunk.new) for hunk in hunks), sum(len(hunk.old) for hunk in hunks)
    if not hunks:
        return ShownChange(0, 0, ("Nothing changes",) if change.before is not None else ("An empty file",))
    # The first two lines name the file, which the question does.
    lines = unified_diff(text, hunks, change.shown).split("\n")[2:]
    hidden = len(lines) - MAX_DIFF_LINES
    more = (f"… {format_count(hidden, 'more line')} that cannot be shown here",) if hidden > 0 else ()
    return ShownChange(added, removed, (*lines[:MAX_DIFF_LINES], *more))


def _text(data: bytes) -> str:
    """Return the text of a file; what cannot be decoded is shown as a replacement character."""
    encoding = encoding_of(data)
    return data[len(encoding.bom) :].decode(encoding.name, "replace")
