"""The list of sessions as rows: what needs a person first, then by the last change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tildone.history.authors import short_agent
from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Role, Span
from tildone.overview.rows import SessionRow
from tildone.tui.painting import padded, spread, width_of
from tildone.tui.row_list import Line, ListRow
from tildone.value import value
from tildone.views.amounts import short_age, token_count
from tildone.views.sanitize import printable
from tildone.views.session_state import SessionWord
from tildone.views.strip import signs_spans

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
    needing = counts.get(SessionWord.NEEDS_YOU, 0)
    parts = [
        (SessionWord.NEEDS_YOU, "need you" if needing > 1 else "needs you"),
        (SessionWord.STUCK, "stuck"),
        (SessionWord.WORKING, "working"),
    ]
    spans = [Span(f"{counts[word]} {text}", word.role) for word, text in parts if counts.get(word)]
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
    """Return who is at work on a session, and where; empty if nobody is known to be."""
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
