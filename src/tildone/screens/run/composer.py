"""The editor: where the person types messages and commands. It never waits for anything.

Enter sends. A line break is ctrl+j, Enter after a backslash, or shift+enter where the terminal can tell it from Enter.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from itertools import count
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.document._document import EditResult, Selection
from textual.document._edit import Edit
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

from tildone.base import replace, value
from tildone.base.keys import ALL_BINDINGS, PUNCTUATION, KeyBindings, key_names
from tildone.plan.model import Plan
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable, visible
from tildone.plan.text.styles import Role, Span, clip_text
from tildone.run.tools.typed import SIGN
from tildone.screens.run import WORD_KEYS
from tildone.screens.widgets.keys import Palette, painted
from tildone.screens.widgets.prompt import key_bindings

MAX_CANDIDATES = 8
MAX_FILES = 50_000
FILES_FRESH_SECONDS = 10.0
LIST_SECONDS = 5.0
_FILE_WORD = re.compile(r"(?:^|\s)(@(\S*))$")
_TASK_VERBS = ("block", "done", "drop", "move", "note", "rename", "reopen", "rm", "start", "unblock")
_OTHER_VERBS = ("add", "append", "copy", "edit", "export", "import", "list", "next", "undo")


@value
class EditorCandidate:
    text: str
    about: str = ""


@value
class EditorCompletions:
    """The completions of the word that begins at `start`. `dismissed` is the text for which the list was closed."""

    start: int = 0
    candidates: tuple[EditorCandidate, ...] = ()
    at: int = 0
    was_moved: bool = False
    dismissed: str = ""

    @property
    def candidate(self) -> EditorCandidate:
        return self.candidates[self.at]

    @property
    def are_files(self) -> bool:
        return self.candidate.text.startswith("@")

    def moved(self, rows: int) -> EditorCompletions:
        return replace(self, at=(self.at + rows) % len(self.candidates), was_moved=True)


class EditorCompleter:
    """Completes for one run. `commands` returns the names of commands and what they do."""

    def __init__(
        self,
        folder: str,
        commands: Callable[[], Sequence[tuple[str, str]]],
        plan: Callable[[], Plan],
        arguments: Callable[[str], Sequence[str]],
    ) -> None:
        self._folder, self._commands, self._plan, self._arguments = folder, commands, plan, arguments
        self._files: tuple[float, list[str]] = (-FILES_FRESH_SECONDS, [])

    def complete(self, before: str) -> EditorCompletions:
        """Return the completions of the last word of the text before the cursor; none of a command of the shell."""
        if before.startswith(SIGN):
            return EditorCompletions()
        if before.startswith("/") and "\n" not in before:
            return self._command(before)
        named = _FILE_WORD.search(before)
        if named is None:
            return EditorCompletions()
        found = ranked(named[2], self._listed_files())
        return EditorCompletions(named.start(1), tuple(EditorCandidate(f"@{path} ") for path in found))

    def _command(self, before: str) -> EditorCompletions:
        name, space, rest = before[1:].partition(" ")
        if not space:
            about = dict(self._commands())
            return EditorCompletions(
                0, tuple(EditorCandidate(f"/{found} ", about[found]) for found in ranked(name, about))
            )
        start = len(before) - len(rest)
        if name == "todo":
            return self._todo(rest, start)
        options = self._arguments(name)
        return EditorCompletions(start, tuple(EditorCandidate(found) for found in ranked(rest, options)))

    def _todo(self, rest: str, start: int) -> EditorCompletions:
        verb, space, typed = rest.partition(" ")
        if not space:
            found = ranked(verb, sorted((*_TASK_VERBS, *_OTHER_VERBS)))
            return EditorCompletions(start, tuple(EditorCandidate(f"{name} ") for name in found))
        if verb not in _TASK_VERBS:
            return EditorCompletions()
        tasks = {f"{task.number}": task.text for task in self._plan().tasks if task.status.is_open or verb == "reopen"}
        by_text = {f"{number} {text}": number for number, text in tasks.items()}
        numbers = [by_text[label] for label in ranked(typed.strip(), by_text)]
        return EditorCompletions(
            start + len(verb) + 1, tuple(EditorCandidate(number, tasks[number]) for number in numbers)
        )

    def _listed_files(self) -> list[str]:
        read_at, files = self._files
        if monotonic() - read_at >= FILES_FRESH_SECONDS:
            files = list_files(self._folder)
            self._files = monotonic(), files
        return files


def list_files(folder: str) -> list[str]:
    """Return the files below a folder that git does not ignore; without git, all but hidden ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=LIST_SECONDS, check=True)  # noqa: S603  a fixed command
    except (OSError, subprocess.SubprocessError):
        return _walked(folder)
    names = done.stdout.decode("utf-8", "replace").split("\0")
    return [name for name in names if name and name.isprintable()][:MAX_FILES]


def ranked(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names that match what was typed, the best first: by prefix, by a part, then by letters in order."""
    wanted = typed.casefold()
    found = []
    for place, name in enumerate(names):
        rank = _rank(wanted, name.casefold())
        if rank is not None:
            found.append((*rank, place, name))
    return [name for *_, name in sorted(found)[:MAX_CANDIDATES]]


def _rank(wanted: str, name: str) -> tuple[int, int] | None:
    base = name.rpartition("/")[2]
    if name.startswith(wanted):
        return 0, len(name) if wanted else 0
    if base.startswith(wanted):
        return 1, len(name)
    if wanted in name:
        return 2, len(name)
    letters = iter(name)
    return (3, len(name)) if all(char in letters for char in wanted) else None


def _walked(folder: str) -> list[str]:
    found: list[str] = []
    until = monotonic() + LIST_SECONDS
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = os.path.relpath(path, folder)
        names = (os.path.normpath(os.path.join(below, name)) for name in sorted(files) if not name.startswith("."))
        found += [name for name in names if name.isprintable()]
        if len(found) >= MAX_FILES or monotonic() > until:
            break
    return found[:MAX_FILES]


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


def existing_file(path: str, cwd: str) -> str | None:
    """Return the absolute path of a file, which no editor takes for an option; None if there is no such file."""
    absolute = os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    return absolute if "\0" not in path and os.path.isfile(absolute) else None


class TypedHistory:
    """Texts, the oldest first. `at` is the place of the one that is shown; None while the person's own text is."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = list(texts)
        self._at: int | None = None
        self._draft = ""

    def begin(self, texts: Sequence[str]) -> None:
        """Begin again with the texts of another conversation."""
        self._texts = list(texts)
        self._at = None

    def add(self, text: str) -> None:
        """Add a text that was sent; the same text twice in a row is kept once."""
        self._at = None
        if text.strip() and self._texts[-1:] != [text]:
            self._texts.append(text)

    def leave(self) -> None:
        """The person has changed the text: it is their own again."""
        self._at = None

    def earlier(self, typed: str) -> str | None:
        """Return the next earlier text that begins like what was typed; None if there is none."""
        if self._at is None:
            self._draft = typed
        end = len(self._texts) if self._at is None else self._at
        found = [place for place in range(end) if self._matches(place)]
        if not found:
            return None
        self._at = found[-1]
        return self._texts[self._at]

    def later(self) -> str | None:
        """Return the next later text; after the last, what was typed. None if no earlier text is shown."""
        if self._at is None:
            return None
        found = [place for place in range(self._at + 1, len(self._texts)) if self._matches(place)]
        if not found:
            self._at = None
            return self._draft
        self._at = found[0]
        return self._texts[self._at]

    def _matches(self, place: int) -> bool:
        text = self._texts[place]
        shown = None if self._at is None else self._texts[self._at]
        return text.startswith(self._draft) and text not in (self._draft, shown)


PLACEHOLDER = "Say what is to be done. @ names a file, / a command, ! runs one."
MAX_PASTED_LINES, MAX_PASTED_CHARACTERS = 10, 1_000
"""A paste that is longer is folded."""

CONTINUATION = "\\"
SAME_KEYS = dict.fromkeys(("alt+ctrl+m", "ctrl+alt+m"), "alt+enter")
"""Other names that terminals have for a key."""


class Composer(TextArea):
    DEFAULT_CSS = """
    Composer, Composer:focus {
        height: auto; min-height: 1; max-height: 8; border: none; padding: 0; background: $background;
        & .text-area--cursor-line { background: $background; }
        & .text-area--placeholder { color: $foreground-muted; }
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = key_bindings(WORD_KEYS)
    _pastes: Mapping[str, str] = {}
    """The pastes that are folded, each by what stands for it in the text."""

    @dataclass
    class Sent(Message):
        """The person has sent a text; `later`, for when the model has stopped."""

        text: str
        later: bool

    class Folded(Message):
        """A paste was folded."""

    class Typing(Message):
        """The text has changed, or the cursor has moved: what can be completed is another thing."""

    def __init__(self, keys: KeyBindings = ALL_BINDINGS, offered: Callable[[str], bool] = lambda _: False) -> None:
        """`offered` takes a character that the last block of the conversation offers, while nothing is typed."""
        super().__init__(
            compact=True,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
            id="composer",
        )
        self.sent_texts = TypedHistory()
        self.completions = EditorCompletions()
        self._keys, self._offered = keys, offered
        self._killed = ""

    @property
    def before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    @property
    def whole(self) -> str:
        """The text with all pastes unfolded."""
        return self.unfolded(self.text)

    def unfolded(self, text: str) -> str:
        return self._folds.sub(lambda fold: self._pastes[fold[0]], text) if self._pastes else text

    def validate_selection(self, selection: Selection) -> Selection:
        """Move the cursor over a folded paste, not into it."""
        before = self.selection
        return Selection(
            self._outside(selection.start, to_end=selection.start > before.start),
            self._outside(selection.end, to_end=selection.end > before.end),
        )

    def edit(self, edit: Edit) -> EditResult:
        """Delete a folded paste as a whole."""
        if edit.top != edit.bottom:
            start, end = self._outside(edit.top, to_end=False), self._outside(edit.bottom, to_end=True)
            edit = Edit(edit.text, start, end, edit.maintain_selection_offset)
        return super().edit(edit)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002  the widget's
        """Scroll to the cursor. While lines are taken back it may be below those that are left."""
        if self.cursor_location[0] >= self.document.line_count:
            return self.scroll_offset
        return super().scroll_cursor_visible(center, animate)

    @property
    def _folds(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._pastes)))

    def _outside(self, place: tuple[int, int], *, to_end: bool) -> tuple[int, int]:
        """Return the place; of one inside of a folded paste, the end or the beginning of that."""
        row, column = place
        if self._pastes and row < self.document.line_count:
            for fold in self._folds.finditer(self.document[row]):
                if fold.start() < column < fold.end():
                    return row, fold.end() if to_end else fold.start()
        return place

    def _fold(self, pasted: str) -> str:
        """Return what stands for a long paste in the text; the paste itself, if it is short."""
        lines = pasted.rstrip("\n").count("\n") + 1
        if lines <= MAX_PASTED_LINES and len(pasted) <= MAX_PASTED_CHARACTERS:
            return pasted
        size = format_count(lines, "line") if lines > 1 else format_count(len(pasted), "character")
        names = (f"[pasted: {size}{f', {number}' if number > 1 else ''}]" for number in count(1))
        name = next(name for name in names if self._pastes.get(name, pasted) == pasted)
        self._pastes = {**self._pastes, name: pasted}
        self.post_message(self.Folded())
        return name

    def action_unfold(self) -> None:
        """Unfold the paste at the cursor, else the last one."""
        row, column = self.cursor_location
        folds = [
            (number, fold)
            for number in range(self.document.line_count if self._pastes else 0)
            for fold in self._folds.finditer(self.document[number])
        ]
        here = [each for each in folds if each[0] == row and each[1].start() <= column <= each[1].end()]
        for number, fold in (here or folds)[-1:]:
            self.replace(self._pastes[fold[0]], (number, fold.start()), (number, fold.end()))

    def fill(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)

    def accept(self, candidate: EditorCandidate) -> None:
        before = self.before_cursor
        self.completions, length = EditorCompletions(), len(before) - self.completions.start
        row, column = self.cursor_location
        self.replace(candidate.text, (row, column - length), (row, column))

    def action_send(self, *, later: bool = False) -> None:
        text = self.whole
        if text.strip():
            self.sent_texts.add(text)
            self.load_text("")
            self._pastes = {}
            self.completions = EditorCompletions()
            self.post_message(self.Sent(text.strip(), later=later))

    def action_send_later(self) -> None:
        self.action_send(later=True)

    async def _on_key(self, event: events.Key) -> None:
        if self._handle(event):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _handle(self, event: events.Key) -> bool:
        """Apply a key of our own; return False if it is one of the widget's."""
        key = event.key
        if self.completions.candidates and self._handle_completions(key):
            self.post_message(self.Typing())
        elif key == "enter" and self.before_cursor.endswith(CONTINUATION):
            self.action_delete_left()
            self.insert("\n")
        elif self._is(key, "tui.input.submit"):
            self.action_send()
        elif self._is(key, "app.message.followUp"):
            self.action_send_later()
        elif self._is(key, "editor.newLine"):
            self.action_new_line()
        elif self._is(key, "app.exit") and not self.text:
            self.app.call_later(self.run_action, "app.leave")
        elif self._is(key, "editor.conversationEnd") and (key != "end" or self.cursor_location == self.document.end):
            self.app.call_later(self.run_action, "app.conversation_end")
        elif not self.text and event.character and self._offered(event.character):
            return True
        elif self._is(key, "editor.earlier") and self.cursor_at_first_line:
            return self.action_earlier()
        elif self._is(key, "editor.later") and self.cursor_at_last_line:
            return self.action_later()
        else:
            return False
        return True

    def _is(self, key: str, action: str) -> bool:
        return SAME_KEYS.get(key, key) in {PUNCTUATION.get(name, name) for name in key_names(self._keys[action])}

    def _handle_completions(self, key: str) -> bool:
        offered = self.completions
        is_up = self._is(key, "tui.select.up")
        if is_up or self._is(key, "tui.select.down"):
            self.completions = offered.moved(-1 if is_up else 1)
        elif self._is(key, "tui.select.confirm") and (offered.was_moved or offered.are_files):
            self.accept(offered.candidate)
        elif self._is(key, "tui.select.cancel"):
            self.completions = EditorCompletions(dismissed=self.text)
        else:
            return False
        return True

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_earlier(self) -> bool:
        """Recall what was sent before; return whether there is something."""
        return self._recall(self.sent_texts.earlier(self.text))

    def action_later(self) -> bool:
        """Recall what was sent after that; return whether there is something."""
        return self._recall(self.sent_texts.later())

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
        self.sent_texts.leave()
        self.replace(self._fold("\n".join(map(visible, text.split("\n")))), *self.selection)

    def type_key(self, event: events.Key | events.Paste) -> None:
        """Take a key or a paste that came to another widget, but was meant for the editor."""
        if isinstance(event, events.Paste):
            self.post_message(events.Paste(event.text))
        else:
            self.post_message(events.Key(event.key, event.character))

    def on_text_area_changed(self) -> None:
        self.post_message(self.Typing())

    async def action_kill(self, action: str) -> None:
        """Delete by an action of the widget, and keep the text for `ctrl+y`."""
        before = self.text
        start = len(self.before_cursor)
        done = getattr(self, f"action_{action}")()
        if isawaitable(done):
            await done
        cut = len(before) - len(self.text)
        if cut > 0:
            at = min(start, len(self.before_cursor))
            self._killed = before[at : at + cut]

    def action_yank(self) -> None:
        if self._killed:
            self.insert(self._killed)

    def _recall(self, text: str | None) -> bool:
        if text is None:
            return False
        self.fill(text)
        return True
