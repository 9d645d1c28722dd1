"""The line at the bottom where a person types a text or answers a question, and the screen that lists the keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from tildone.base import replace, value
from tildone.base.keys import ALL_BINDINGS, PUNCTUATION, KeyBindings, key_names
from tildone.log.store import Store
from tildone.plan.claims import Claim
from tildone.plan.events import State, latest_state
from tildone.plan.gate import Patience
from tildone.plan.history.blame import task_histories
from tildone.plan.history.timeline import TimelineRow, newest_events, timeline
from tildone.plan.history.usage import TaskUsage, plan_usage
from tildone.plan.model import Plan
from tildone.plan.text.amounts import usage_text
from tildone.plan.text.safe import printable, single_line, visible
from tildone.plan.text.styles import Role, Span, display_width, wrap_text
from tildone.screens.widgets.bursts import is_in_burst
from tildone.screens.widgets.keys import Line, Palette, painted
from tildone.screens.widgets.rows import Lines, ListRow, RowList


def shown_in_field(text: str) -> str:
    return visible(single_line(text)).replace("\t", " ")


class LineInput(Input):
    """A field for one line. What is pasted into it cannot contain characters that act on the terminal."""

    def validate_value(self, value: str) -> str:
        """Replace control characters by symbols."""
        return shown_in_field(value)


class Prompt(Horizontal):
    """A label and a field; hidden while nothing is asked."""

    DEFAULT_CSS = "Prompt { height: 1; display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._label = Lines(palette, raised=True, id="prompt-label")
        self.field = LineInput(compact=True, id="prompt-field", select_on_focus=False)
        self._done: Callable[[str], object] = lambda _: None
        self._changed: Callable[[str], object] | None = None
        self._ended: Callable[[], object] = lambda: None

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.field

    def ask(
        self,
        label: str,
        value: str,
        done: Callable[[str], object],
        ended: Callable[[], object],
        changed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask for a text. `done` is called with it; `ended`, when the prompt is closed; `changed`, after each key."""
        self._done, self._ended, self._changed = done, ended, changed
        text = f" {printable(label)} "
        self._label.styles.width = display_width(text)
        self._label.show(lambda _: [(Span(text, Role.ACCENT, bold=True),)])
        self.display = True
        self.field.value = value
        self.field.cursor_position = len(self.field.value)
        # At once, because keys that are on their way are for the field; and once more, after what was to have the keys.
        self.screen.set_focus(self.field)
        self.field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display and self._changed:
            self._changed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
        self._done(event.value)

    def action_cancel(self) -> None:
        changed = self._changed
        self._close()
        if changed:
            changed("")

    def _close(self) -> None:
        self._changed = None
        self.display = False
        self._ended()


class QuestionLine(Widget, can_focus=True):
    """A question that is answered with one of a few keys. Enter is never one of them; esc closes it."""

    DEFAULT_CSS = "QuestionLine { height: 1; display: none; }"

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._lines: Sequence[Line] = ()
        self._answers: Mapping[str, Callable[[], object]] = {}
        self._ended: Callable[[], object] = lambda: None

    def ask(
        self,
        question: str,
        answers: Mapping[str, tuple[str, Callable[[], object]]],
        ended: Callable[[], object],
        above: Sequence[Line] = (),
    ) -> None:
        """Ask; `answers` has a word for each key, and what it does. `ended` is called when the question is closed.

        The lines `above` the question are what it is about.
        """
        line: Line = (Span(f" {question}", Role.WARNING, bold=True),) if question else ()
        for key, (word, _) in answers.items():
            line = (*line, Span(f"{'  ' if line else ' '}{key}", bold=True), Span(f" {word}", Role.MUTED))
        self._lines, self._ended = [*above, line], ended
        self._answers = {key: answer for key, (_, answer) in answers.items()}
        self.styles.height = len(self._lines)
        self.display = True
        self.focus()
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Take the answer; other keys, and those of a burst, do nothing."""
        event.stop()
        event.prevent_default()
        answer = None if is_in_burst(event) else self._answers.get(event.character or "")
        if event.key == "escape" or answer:
            self.display = False
            self._ended()
        if answer:
            answer()

    def render_line(self, y: int) -> Strip:
        return painted(
            self._lines[y] if y < len(self._lines) else (), self.size.width, self._palette, self._palette.bar
        )


class HelpScreen(ModalScreen[None]):
    """All keys, as lines. Any of the keys that close things closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > RowList { width: 76; max-width: 100%; height: 100%; max-height: 46; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,ctrl+c", "dismiss", show=False, priority=True),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
    ]

    def __init__(
        self, palette: Palette, build: Callable[[int], Sequence[Line]], closing: str = "esc closes this"
    ) -> None:
        super().__init__()
        self._rows, self._help, self._way_out = RowList(palette), build, closing

    def compose(self) -> ComposeResult:
        yield self._rows

    def on_mount(self) -> None:
        closing: Line = (Span(self._way_out, Role.DIM),)
        self._rows.show(lambda columns: [ListRow(line) for line in ((), closing, (), *self._help(columns))])

    def action_scroll(self, rows: int) -> None:
        self._rows.scroll_rows(rows)


MAX_EVENTS_READ = 50
MAX_EVENTS_SHOWN = 12


@value
class TaskTime:
    """For how many milliseconds a task was in progress, until `since`, when it was started again, if it is.

    `used` is a text with what else it took, if that is known. `claim` says which agent works on it; what was left of
    the lease when it was read is not kept.
    """

    spent: int = 0
    since: int | None = None
    used: str = ""
    claim: Claim | None = None


@value
class SessionDetail:
    """One session: its state, the times of its tasks by number, and its newest events."""

    name: str
    state: State = State()
    times: tuple[tuple[int, TaskTime], ...] = ()
    events: tuple[TimelineRow, ...] = ()

    @property
    def plan(self) -> Plan:
        return self.state.plan


class DetailReader:
    """Reads sessions of a store; `when` formats the time of an event."""

    def __init__(self, store: Store, *, when: Callable[[int], str], patience: Patience) -> None:
        self.patience = patience
        self._store, self._when = store, when

    def read(self, name: str) -> SessionDetail:
        """Read a session; one that does not exist is empty.

        Raises TildoneError if the store or the session cannot be read.
        """
        state = latest_state(self._store.history(name))
        events = newest_events(self._store.history(name, state.head), MAX_EVENTS_READ) if state.head else []
        used = plan_usage(events, 0).tasks
        claims = {claim.task: replace(claim, remaining=0) for claim in self._store.records.claims(name)}
        times = {
            entry.task.number: TaskTime(
                entry.time_in_progress(entry.since or 0) or 0,
                entry.since,
                _used(used.get(entry.task.number)),
                claims.get(entry.task.number),
            )
            for entry in task_histories(events)
            if entry.position is not None
        }
        rows = timeline(events, state.head, self._when, self.patience.nudges)[-MAX_EVENTS_SHOWN:]
        return SessionDetail(name, state, tuple(times.items()), tuple(reversed(rows)))


def _used(task: TaskUsage | None) -> str:
    return usage_text(tokens=task.usage.tokens, cost=task.usage.cost, nudges=task.nudges) if task else ""


KEY_COLUMNS, LEAST_COLUMNS = 19, 8
"""How wide the keys are in a help, and how narrow what they do may become."""

_SHOWN = {
    "escape": "esc",
    "pagedown": "page down",
    "pageup": "page up",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_CHARACTERS = {name: character for character, name in PUNCTUATION.items()}


class Pane(Enum):
    """Where a key works. The value is a heading."""

    ANY = "Everywhere"
    LIST = "In the list of sessions"
    EDITOR = "In the editor"
    TRANSCRIPT = "In the conversation"
    PLAN = "In the plan"
    TREE = "In the tree of the conversation"


@value
class ScreenKey:
    """An action: its name in the table of bindings, what it does, Textual's action, and where its key works."""

    name: str
    does: str
    action: str
    pane: Pane = Pane.ANY


@value
class Hint:
    """Actions in a footer, and a word for them. The first key of each is shown."""

    word: str
    names: tuple[str, ...]


FixedKeys = Mapping[str, tuple[tuple[str, str], ...]]
"""Keys that cannot be changed, by heading, and what they do."""


def key_bindings(keys: Iterable[ScreenKey], *, priority: bool = False) -> list[BindingType]:
    """Return the bindings with the default keys; `App.set_keymap` replaces them by those of the person."""
    return [
        Binding(ALL_BINDINGS[key.name], key.action, key.does, show=False, priority=priority, id=key.name)
        for key in keys
    ]


def shown_keys(keys: str) -> list[str]:
    shown: list[str] = []
    for name in key_names(keys):
        *modifiers, last = name.split("+") if len(name) > 1 else [name]
        shown.append("+".join([*modifiers, _SHOWN.get(last) or _CHARACTERS.get(last, last)]))
    return shown


def first_key(keys: KeyBindings, name: str) -> str:
    """Return the first key of an action as it is shown. A name that is not that of an action is a key."""
    return shown_keys(keys.get(name, name))[0]


def footer_line(hints: Sequence[Hint], columns: int, keys: KeyBindings = ALL_BINDINGS) -> Line:
    """Return as many keys as fit, the first ones; the last one is always shown."""
    shown = [(" ".join(first_key(keys, name) for name in hint.names), hint.word) for hint in hints]
    while len(shown) > 1 and sum(display_width(f"{key} {word}") + 2 for key, word in shown) + 1 > columns:
        shown.pop(-2)
    return Span(" "), *(part for key, word in shown for part in (Span(key, bold=True), Span(f" {word}  ", Role.MUTED)))


def help_lines(
    listed: Iterable[ScreenKey], first: Pane, keys: KeyBindings, columns: int, fixed: FixedKeys | None = None
) -> list[Line]:
    """Return all keys, by pane, those of one of them first. What they do is wrapped, not cut off."""
    rows: dict[str, list[tuple[str, str]]] = {first.value: []}
    for pane in Pane:
        rows.setdefault(pane.value, [])
    for key in listed:
        rows[key.pane.value].append((" ".join(shown_keys(keys[key.name])), key.does))
    for heading, more in (fixed or {}).items():
        rows.setdefault(heading, []).extend(more)
    lines: list[Line] = []
    for heading, found in rows.items():
        if found:
            lines += [(Span(heading, bold=True),)]
            lines += [line for shown, does in found for line in _help_rows(shown, does, columns)]
            lines += [()]
    return lines[:-1]


def _help_rows(shown: str, does: str, columns: int) -> list[Line]:
    names = f"  {shown:<{KEY_COLUMNS}} "
    width = display_width(names)
    first_line, *others = wrap_text(does, max(LEAST_COLUMNS, columns - width))
    rest: list[Line] = [(Span(" " * width), Span(other, Role.MUTED)) for other in others]
    return [(Span(names, Role.ACCENT), Span(first_line, Role.MUTED)), *rest]
