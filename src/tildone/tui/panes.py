"""The two panes and the lines around them: which are shown, and what is drawn in them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from tildone.app.check_states import owner_name
from tildone.core.plan import Plan
from tildone.history.durations import SECOND
from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.kit.text import clip_text
from tildone.kit.theme import Role, Span
from tildone.loop.decision import Patience
from tildone.overview.index import SessionIndex
from tildone.overview.rows import SessionRow
from tildone.tui.check_actions import CheckActions
from tildone.tui.editing import Editor
from tildone.tui.keys import footer_line
from tildone.tui.lists import PlanList, SessionList
from tildone.tui.painting import spread, width_of
from tildone.tui.palette import Palette
from tildone.tui.plan_rows import PlanOptions, event_lines, fact_lines, plan_rows, preview_lines, title_line
from tildone.tui.reading import SessionDetail
from tildone.tui.row_list import Line, Lines, ListRow, RowList
from tildone.tui.screen_keys import Pane, first_key
from tildone.tui.session_rows import NARROW, agents_text, listed, session_rows, summary
from tildone.value import replace
from tildone.views.sanitize import printable

WIDE_COLUMNS = 120
"""From this width on, the list and the plan are side by side."""

SHORT_ROWS, TALL_ROWS = 16, 30
ALL = 1_000_000
TEXTS = ("list-title", "preview", "plan-title", "facts", "events", "message", "footer")
"""The lines around the panes."""


class Panes(CheckActions):
    """The widgets, and how they are drawn from what was last read. `now` returns the time."""

    CSS = """
    Screen { background: $background; }
    ModalScreen { background: $background 60%; &:ansi { background: transparent; } }
    #left { width: 5fr; } #right { width: 7fr; }
    .wide #right { border-left: solid $panel; }
    #prompt-field, #prompt-field:focus { background: $surface; color: $foreground; width: 1fr; padding: 0; }
    """
    ENABLE_COMMAND_PALETTE = False
    # The lists select text by themselves.
    ALLOW_SELECT = False
    TITLE = "tildone watch"

    def __init__(
        self, index: SessionIndex, editor: Editor, palette: Palette, patience: Patience, now: Callable[[], int]
    ) -> None:
        super().__init__(editor, palette)
        self._index, self._palette, self._patience, self._now = index, palette, patience, now
        self.keys: KeyBindings = ALL_BINDINGS
        self._is_read = False
        self._detail = SessionDetail("")
        self._not_live_since, self._retry_at = "", 0
        self._in_plan = False
        self._words = {Pane.LIST: "", Pane.PLAN: ""}
        self._shown = PlanOptions()
        self.session_list, self._plan_list = SessionList(palette, id="sessions"), PlanList(palette, id="plan")
        self._body, self._left, self._right = Horizontal(), Vertical(id="left"), Vertical(id="right")
        self._texts = {name: Lines(palette, raised=name != "events") for name in TEXTS}

    def compose(self) -> ComposeResult:
        """Create the two panes, and the lines below them."""
        texts = self._texts
        with self._body:
            with self._left:
                yield from (texts["list-title"], self.session_list, texts["preview"])
            with self._right:
                yield from (texts["plan-title"], self._plan_list, texts["facts"], texts["events"])
        yield from (self.need_panel, texts["message"], self.prompt, self.question, texts["footer"])

    @property
    def watched(self) -> SessionRow | None:
        """The session that is shown."""
        return self._index.row(self.session_list.key)

    @property
    def detail(self) -> SessionDetail:
        """The session that is shown, in detail; empty until it is read."""
        name = self.session_list.key
        return self._detail if self._detail.name == name else SessionDetail(name)

    @property
    def is_drawn(self) -> bool:
        """Whether the session with the cursor and its plan are read."""
        return self.watched is not None and self._detail.name == self.session_list.key

    @property
    def plan(self) -> Plan:
        """The plan of that session; empty until it is read."""
        return self.detail.plan

    @property
    def plan_list(self) -> RowList:
        """The list of the tasks of the plan."""
        return self._plan_list

    def draw_times(self) -> None:
        """Draw what changes as time passes."""
        self.session_list.refresh()
        self.draw_plan()

    def draw(self) -> None:
        """Draw everything again from what was last read."""
        if self._is_read:
            self._draw_sessions()
            self.draw_plan()

    @property
    def _pane(self) -> Pane:
        return Pane.PLAN if self._in_plan else Pane.LIST

    def _lay_out(self, size: Size) -> None:
        """Show both panes or one, and as many of the lines around them as there is room for."""
        is_wide, rows = size.width >= WIDE_COLUMNS, size.height
        self._body.set_class(is_wide, "wide")
        self._left.display = is_wide or not self._in_plan
        self._right.display = is_wide or self._in_plan
        heights = {
            "preview": 0 if is_wide or rows < SHORT_ROWS else 5,
            "facts": 0 if rows < SHORT_ROWS else 2 if rows < TALL_ROWS else 4,
            "events": 0 if rows < TALL_ROWS else min(9, rows // 5),
            "footer": 1 if rows >= SHORT_ROWS else 0,
        }
        for name in ("list-title", "plan-title"):
            self._texts[name].styles.margin = (0, 0, 0 if rows < SHORT_ROWS else 1, 0)
        for name, height in heights.items():
            self._texts[name].display = height > 0
            self._texts[name].styles.height = height
        self._texts["footer"].show(lambda columns: [footer_line(self._pane, columns, self.keys)])

    def _draw_notice(self, line: Line) -> None:
        self._texts["message"].show(lambda _: [line])

    def _draw_sessions(self) -> None:
        words, held = self._words[Pane.LIST], self.session_list.key
        rows = listed(self._found(words), held, self.session_list.keys)
        counts, unreadable = self._index.counts(), len(self._index.unreadable())
        is_wide = self.size.width >= WIDE_COLUMNS

        def title(columns: int) -> list[Line]:
            mark = self._mark(words, columns, with_live=not is_wide)
            return [spread(summary(counts, unreadable, columns - width_of(mark) - 1), mark, columns)]

        self._texts["list-title"].show(title)
        if rows:
            self.session_list.show(lambda columns: session_rows(rows, self._now, columns))
        else:
            self.session_list.show(lambda _: [ListRow(line) for line in _no_sessions(words)])
        session, detail = self.watched, self.detail
        self._texts["preview"].show(
            lambda columns: preview_lines(session, detail, self._now(), columns) if session else []
        )

    def _found(self, words: str) -> list[SessionRow]:
        """The sessions that contain all of these words, and the one whose plan is open."""
        rows = [*self._index.rows(query=words, limit=ALL).rows]
        opened = self.watched if self._in_plan else None
        if opened is not None and opened not in rows:
            insort(rows, opened, key=lambda row: row.sort_key)
        return rows

    def draw_plan(self) -> None:
        """Draw the plan again."""
        session, words = self.watched, self._words[Pane.PLAN]
        detail = self.detail
        if session is None:
            self._plan_list.show(lambda _: [])
            for name in ("plan-title", "facts", "events"):
                self._texts[name].show(lambda _: [])
            return
        plan, options = detail.plan, self.with_checks(replace(self._shown, words=words))
        # Until the plan is read, nothing is said about it.
        none = _no_tasks(words) if self.is_drawn else []

        def rows_for(columns: int) -> list[ListRow]:
            rows = plan_rows(plan, dict(detail.times), options, self._now(), columns)
            return rows or [ListRow(line) for line in none]

        self._plan_list.show(rows_for)
        self._texts["plan-title"].show(lambda columns: [_title(session, self._plan_mark(session, columns), columns)])
        proposed = self._proposed_text()
        self._texts["facts"].show(lambda _: fact_lines(session, detail.state, self._patience, self._now(), proposed))
        events = event_lines(detail)
        self._texts["events"].show(lambda columns: [(Span("─" * columns, Role.DIM),), *events])

    def _proposed_text(self) -> str:
        """Whose checks wait for the approval of a person, and the key that shows them; empty if none does."""
        names = ", ".join(map(owner_name, self.proposed))
        return f"{names} (proposed checks; {first_key(self.keys, 'task.approve')} shows them)" if names else ""

    def _plan_mark(self, session: SessionRow, columns: int) -> Line:
        agents = agents_text(session) if columns >= WIDE_COLUMNS else ""
        return Span(f"{agents}  " if agents else "", Role.MUTED), *self._mark(self._words[Pane.PLAN], columns)

    def _mark(self, words: str, columns: int, *, with_live: bool = True) -> Line:
        """The right end of a title: the filter, and whether the screen is live."""
        found = (Span(f"/{clip_text(printable(words), columns // 4)}  ", Role.ACCENT),) if words else ()
        if not with_live:
            return found
        if self._not_live_since:
            return *found, Span(f"○ {self._not_live(columns)} ", Role.ERROR)
        return *found, Span("● live " if columns >= NARROW else "● ", Role.SUCCESS)

    def _not_live(self, columns: int) -> str:
        """Since when the screen is not live, and when the store is tried again."""
        seconds = -(-max(0, self._retry_at - self._now()) // SECOND)
        if columns < NARROW:
            return f"not live · {seconds} s"
        return f"not live since {self._not_live_since} · trying again {f'in {seconds} s' if seconds else 'now'}"


def _title(session: SessionRow, mark: Line, columns: int) -> Line:
    return spread(title_line(session, columns - width_of(mark) - 1), mark, columns)


def _no_sessions(words: str) -> list[Line]:
    if words:
        return [(), (Span(f"  Nothing contains “{printable(words)}”. ", Role.MUTED), Span("esc", bold=True), _CLEARS)]
    return [
        (),
        (Span("  No plans here yet."),),
        (Span("  An agent with tildone shows up by itself: ", Role.MUTED), Span("tildone install claude", bold=True)),
    ]


def _no_tasks(words: str) -> list[Line]:
    if words:
        return _no_sessions(words)
    return [
        (),
        (Span("  No tasks yet."),),
        (
            Span("  Press ", Role.MUTED),
            Span("a", bold=True),
            Span(" to add one, or wait for the agent to.", Role.MUTED),
        ),
    ]


_CLEARS = Span(" clears the filter.", Role.MUTED)
