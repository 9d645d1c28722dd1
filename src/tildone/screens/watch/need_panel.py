"""An open question of an agent, shown whole, and the keys that answer it.

A person opens it with a key, so a key that was on its way must not answer it: the answers count 300 ms after the last
line of the question has been on the screen. Enter never answers. What allows more than one command asks once more.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic

from textual import events
from textual.strip import Strip

from tildone.app.answering import caution_of
from tildone.app.sessions import SessionRow
from tildone.base import value
from tildone.log.needs import Need
from tildone.plan.text.amounts import short_age, token_count
from tildone.plan.text.safe import printable, printable_lines, short_agent
from tildone.plan.text.state import SessionWord, counted, signs_spans
from tildone.plan.text.styles import Role, Span, clip_text, display_width, wrap_text
from tildone.screens.widgets.bursts import is_in_burst
from tildone.screens.widgets.keys import Line, Palette, padded, painted, spread, width_of
from tildone.screens.widgets.rows import ListRow, ResizedWidget

ARMING_SECONDS = 0.3
"""How long the whole question is shown before its keys count."""

BAR = "█"
MIN_ROWS = 6
SCROLLED = {"j": 1, "down": 1, "k": -1, "up": -1, "pagedown": 8, "pageup": -8}

_TITLES = {
    "command": "Run this command?",
    "change": "Make this change?",
    "check": "Let this command be run as a check?",
}
_KEYS = {"once": "y", "yes": "y", "no": "n", "session": "a", "always": "a"}
_LABELS = {"once": "once", "yes": "yes", "no": "no", "session": "for the whole session", "always": "always"}
_LASTING = frozenset({"session", "always"})


def answer_keys(need: Need) -> dict[str, str]:
    """Return the answers by their keys. A dangerous command is allowed with a capital letter."""
    keys: dict[str, str] = {}
    for number, option in enumerate(need.options, 1):
        key = _KEYS.get(option, str(number))
        if key == "y" and caution_of(need):
            key = "Y"
        keys[str(number) if key in keys else key] = option
    return keys


class NeedPanel(ResizedWidget, can_focus=True):
    """A question above the footer; hidden while none is open."""

    DEFAULT_CSS = "NeedPanel { height: auto; display: none; }"

    def __init__(self, palette: Palette, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self.need: Need | None = None
        self._palette, self._clock = palette, clock
        self._answers: Mapping[str, str] = {}
        self._body: list[Line] = []
        self._hints: list[Line] = []
        self._top, self._seen_at, self._repeat = 0, -1.0, ""
        self._title = ""
        self._done: Callable[[Need, str], object] = lambda _need, _answer: None
        self._ended: Callable[[], object] = lambda: None

    def ask(self, need: Need, of: int, done: Callable[[Need, str], object], ended: Callable[[], object]) -> None:
        """Show a question, the first of so many. `done` is called with an answer; `ended`, when it is closed."""
        self.need, self._done, self._ended = need, done, ended
        self._answers = answer_keys(need)
        self._top, self._seen_at, self._repeat = 0, -1.0, ""
        self._title = f"{_TITLES.get(need.kind, 'A question')}{f'  1 of {of}' if of > 1 else ''}"
        self.display = True
        self.fit()
        self.focus()

    def close(self) -> None:
        self.need, self.display = None, False
        self._ended()

    @property
    def is_armed(self) -> bool:
        return self._seen_at >= 0 and self._clock() - self._seen_at >= ARMING_SECONDS

    def on_key(self, event: events.Key) -> None:
        """Answer, scroll or close; other keys, and letters of a burst, do nothing."""
        event.stop()
        event.prevent_default()
        need, answer = self.need, self._answers.get(event.character or "")
        if event.key == "escape":
            self.close()
        elif event.key in SCROLLED:
            self._top = max(0, min(self._top + SCROLLED[event.key], len(self._body) - self._visible_rows))
            self._repeat = ""
            self.refresh()
        elif need is not None and answer is not None and self.is_armed and not is_in_burst(event):
            if answer in _LASTING and self._repeat != answer:
                self._repeat = answer
                self.fit()
                return
            self.close()
            self._done(need, answer)

    def on_resize(self) -> None:
        self.fit()

    def render_line(self, y: int) -> Strip:
        rows = self._visible_rows
        if self._seen_at < 0 and self._top + rows >= len(self._body):
            self._seen_at = self._clock()
        title = (Span(f"? {self._title}", Role.WARNING, bold=True),)
        below = [(Span("↓", bold=True), Span(" read to its end first", Role.MUTED))]
        keys = below if self._top + rows < len(self._body) else self._hints
        shown: list[Line] = [title, *self._body[self._top : self._top + rows], *keys]
        line = shown[y] if y < len(shown) else ()
        return painted((Span(BAR, Role.WARNING), Span(" "), *line), self.size.width, self._palette, self._palette.bar)

    @property
    def _visible_rows(self) -> int:
        return max(1, min(len(self._body), max(MIN_ROWS, self.app.size.height // 2) - 1 - len(self._hints)))

    def fit(self) -> None:
        """Fit the question to the size of the screen."""
        if self.need is None:
            return
        columns = max(8, (self.size.width or self.app.size.width) - 6)
        self._hints = self._wrapped_hints(columns + 4)
        lines = [part for line in printable_lines(self.need.text) for part in wrap_text(line, columns) or [""]]
        self._body = [(Span("  "), Span(line)) for line in lines]
        if caution_of(self.need):
            self._body += [(Span("  "), Span(part, Role.ERROR)) for part in wrap_text(caution_of(self.need), columns)]
        if self.need.detail:
            self._body += [
                (Span("  "), Span(part, Role.DIM)) for part in wrap_text(printable(self.need.detail), columns)
            ]
        self.styles.height = self._visible_rows + 1 + len(self._hints)
        self.refresh()

    def _wrapped_hints(self, columns: int) -> list[Line]:
        """The keys that answer, on as many lines as they need: none of them is cut off."""
        hints = [
            (f"{key} again: " if option == self._repeat else f"{key} ", f"{_LABELS.get(option, printable(option))}   ")
            for key, option in self._answers.items()
        ]
        lines: list[Line] = [()]
        for key, label in [*hints, ("esc ", "later")]:
            hint = (Span(key, bold=True), Span(label, Role.MUTED))
            if lines[-1] and width_of((*lines[-1], *hint)) > columns:
                lines.append(())
            lines[-1] = (*lines[-1], *hint)
        return lines


NARROW, WIDE = 60, 100
"""Below NARROW columns, a row has the sign of its state only, and no reason; from WIDE ones on, titles are longer."""

MOVES_MARK = "↕"


@value
class Listed:
    """A session in its place in the list. `moves` means that its place is another one once the cursor leaves it."""

    session: SessionRow
    moves: bool = False


def listed(ordered: Sequence[SessionRow], held: str, shown: Sequence[str]) -> list[Listed]:
    """Return the sessions in order, except that the session `held`, on which the cursor stands, keeps its place.

    `shown` are the names of the sessions in the order in which they are on the screen.
    """
    names = [each.name for each in ordered]
    if held not in names or held not in shown or set(names) != set(shown):
        return [Listed(each) for each in ordered]
    due, place = names.index(held), list(shown).index(held)
    rows = [Listed(each) for each in ordered if each.name != held]
    return [*rows[:place], Listed(ordered[due], moves=place != due), *rows[place:]]


def session_rows(rows: Sequence[Listed], now: Callable[[], int], columns: int) -> list[ListRow]:
    """Return one row for each session; `now` returns the time when a row is drawn."""
    counts = max((len(count_text(each.session)) for each in rows), default=0)
    return [ListRow(partial(_line, each, now, columns, counts), each.session.name) for each in rows]


def summary(counts: Mapping[SessionWord, int], unreadable: int, columns: int) -> Line:
    """Return the title of the list: how many sessions need a person, are at work, and are there in all.

    What does not fit is left out whole, from the end.
    """
    words = (SessionWord.NEEDS_YOU, SessionWord.STUCK, SessionWord.WORKING)
    spans = [Span(counted(counts[word], word.value), word.role) for word in words if counts.get(word)]
    spans.append(Span(f"{sum(counts.values())} in all", Role.MUTED))
    if unreadable:
        spans.append(Span(f"{unreadable} unreadable", Role.ERROR))
    title = Span(" Sessions", bold=True), Span("  ")
    line: Line = (*title, *_joined(spans))
    while spans and width_of(line) > columns:
        spans.pop()
        line = (*title, *_joined(spans))
    return line


def _joined(spans: Sequence[Span]) -> list[Span]:
    return [part for span in spans for part in (Span(" · ", Role.DIM), span)][1:]


def count_text(session: SessionRow) -> str:
    """Return how many tasks are closed, of all tasks: `6/12`; empty without tasks."""
    return f"{session.closed}/{session.total}" if session.total else ""


def agents_text(session: SessionRow) -> str:
    return ", ".join(
        f"{short_agent(agent.agent)} on {printable(agent.machine)}" if agent.machine else short_agent(agent.agent)
        for agent in session.agents
    )


def used_text(session: SessionRow) -> str:
    """Return what the agents of a session have used: `184k tokens · $1.92`; empty if that is not known."""
    tokens = f"{token_count(session.tokens)} tokens" if session.tokens else ""
    return " · ".join(part for part in (tokens, f"${session.cost:.2f}" if session.cost else "") if part)


def _line(row: Listed, now: Callable[[], int], columns: int, count_columns: int) -> Line:
    session = row.session
    age = f"{MOVES_MARK if row.moves else ''}{short_age(now() - session.updated)}"
    count = Span(f"{count_text(session):>{count_columns}}", Role.MUTED)
    sign = Span(session.word.sign, session.word.role)
    title = Span(printable(session.title), bold=session.word is SessionWord.NEEDS_YOU)
    right = (Span(f" {age:>4} ", Role.DIM),)
    if columns < NARROW:
        strip_columns = min(10, max(4, columns // 4))
        used = 2 + strip_columns + count_columns + 2 + len(right[0].text)
        name = padded((Span(clip_text(str(title.text), max(1, columns - used)), bold=title.bold),), columns - used)
        strip = padded(signs_spans(session.strip, strip_columns), strip_columns)
        return spread((sign, Span(" "), *name, Span(" "), *strip, Span(" "), count), right, columns)
    title_columns, strip_columns = (18, 15) if columns >= WIDE else (16, 12)
    name = padded((title,), title_columns)
    word = padded((Span(session.word.value, session.word.role),), 9)
    strip = padded(signs_spans(session.strip, strip_columns), strip_columns)
    left = (Span(" "), sign, Span(" "), *name, Span(" "), *word, Span(" "), *strip, Span(" "), count, Span("  "))
    room = columns - sum(display_width(str(span.text)) for span in (*left, *right))
    return spread((*left, Span(clip_text(session.why, max(0, room)), Role.MUTED)), right, columns)
