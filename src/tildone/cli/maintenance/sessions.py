"""`tildone sessions` lists the sessions in the store; `prune` deletes old ones permanently."""

from __future__ import annotations

import sys

from tildone.app.sessions import title_of
from tildone.base import TYPE_CHECKING, HeadMoved, StoreError, UsageError, value
from tildone.base.ids import now, timestamp
from tildone.cli.opening import open_existing_store, open_to_read, settings_for, with_session
from tildone.cli.output import max_columns, on_terminal, put, put_spans
from tildone.cli.output.prompts import confirm, exit_code_for, put_data
from tildone.cli.output.titles import TitledSession, titled_sessions
from tildone.cli.table import ParsedArgs
from tildone.plan.events import SessionInfo, latest_state
from tildone.plan.model import open_tasks, progress
from tildone.plan.text.amounts import DAY, ago, days, format_count, size
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_text, display_width

if TYPE_CHECKING:
    # Late, because `tildone sessions` does not use it, and it is slow to import.
    from tildone.log.store import Store

CURRENT_MARK = "●"
MAX_TITLE_COLUMNS = 32
MIN_COLUMNS_FOR_ONE_LINE = 72


def run(args: ParsedArgs) -> int:
    settings = settings_for(args)
    store = open_to_read(settings)
    current = with_session(args, settings, store).session
    left_out: list[str] = []
    found = titled_sessions(store, left_out)
    left_out += store.unreadable()
    if args.has("json"):
        listed = [_as_data(each, current=each.info.name == current) for each in found]
        put_data(sessions=listed, left_out=left_out)
    elif found:
        put_spans(_rows(found, current, max_columns()))
    elif not left_out:
        put(f"{printable(settings.store.redacted)} has no sessions yet. Start one with: tildone todo add TEXT")
    return exit_code_for(left_out)


def _as_data(session: TitledSession, *, current: bool) -> dict[str, object]:
    info, counts = session.info, progress(session.plan)
    return {
        "name": info.name,
        "title": session.title,
        "current": current,
        "closed": counts.closed,
        "total": counts.total,
        "events": info.events,
        "created": timestamp(info.created),
        "updated": timestamp(info.updated),
    }


def _rows(found: list[TitledSession], current: str, width: int) -> list[tuple[Span, ...]]:
    """One line for each session; two on a narrow terminal. The name is last, because it may be long."""
    moment = now()
    longest = min(MAX_TITLE_COLUMNS, max(display_width(each.title) for each in found))
    rows: list[tuple[Span, ...]] = []
    for session in found:
        is_current = session.info.name == current
        counts = progress(session.plan)
        done = f"{counts.closed}/{counts.total}"
        mark = Span(f"{CURRENT_MARK if is_current else ' '} ", Role.ACCENT)
        when = ago(moment - session.info.updated)
        if width < MIN_COLUMNS_FOR_ONE_LINE:
            title = clip_text(session.title, max(1, width - len(done) - 4))
            rows.append((mark, Span(title, bold=is_current), Span(f"  {done}")))
            rows.append((Span(clip_text(f"  {when}  {session.short_name}".rstrip(), width), Role.DIM),))
            continue
        title = clip_text(session.title, longest)
        title += " " * (longest - display_width(title))
        left = f"  {done:>7}  {when:>14}  "
        name = clip_text(session.short_name, max(1, width - longest - len(left) - 2))
        rows.append((mark, Span(title, bold=is_current), Span(left, Role.MUTED), Span(name, Role.DIM)))
    return rows


AGE_UNITS = {"d": ("day", 1), "w": ("week", 7), "m": ("month", 30), "y": ("year", 365)}
"""The name and the days of each unit that `--older-than` takes."""

MAX_AGE_DIGITS = 6
MIN_COLUMNS_FOR_NAMES = 72


@value
class OldSession:
    """A session that has not changed for a long time; `open` is the number of its open tasks."""

    session: TitledSession
    head: str | None
    age: int
    open: int

    @property
    def info(self) -> SessionInfo:
        return self.session.info


def run_prune(args: ParsedArgs) -> int:
    min_age, words = parse_age(args.options.get("older-than", ""))
    asking = not args.has("yes") and not args.has("dry-run")
    if asking and (args.has("json") or not on_terminal() or not sys.stdin.isatty()):
        raise UsageError("confirmation requires a terminal; use --yes to skip it, or --dry-run to list the sessions")
    settings = settings_for(args)
    if not args.has("dry-run"):
        # Late, because `tildone sessions` does not use it.
        from tildone.app.who import PersonAct, check_person  # noqa: PLC0415  see above

        check_person(settings, PersonAct.DELETE)
    store = open_existing_store(settings, read_only=args.has("dry-run"))
    try:
        found = _older_than(store, min_age)
        chosen = [old for old in found if args.has("open") or not old.open]
        if not args.has("json"):
            _print_sessions(found, chosen, f"in {settings.store.redacted} was last changed more than {words} ago")
        amount = f"{format_count(len(chosen), 'session')} with {_events_of(chosen)}"
        confirmed = bool(chosen) and (not asking or confirm(f"Delete {amount} permanently?"))
        wanted = confirmed and not args.has("dry-run")
        removed = [old for old in chosen if _is_deleted(store, old)] if wanted else []
        freed = _compact(store) if removed else ""
        if args.has("json"):
            put_data(sessions=[_old_data(old, removed=old in removed) for old in found])
        elif chosen and not args.has("dry-run"):
            for old in chosen if wanted else []:
                if old not in removed:
                    put(f"{printable(old.info.name)} has changed in the meantime: it was kept.")
            done = f"Deleted {format_count(len(removed), 'session')} with {_events_of(removed)}.{freed}"
            put(done if removed else "Nothing was deleted.")
    finally:
        store.close()
    return 0


def parse_age(given: str) -> tuple[int, str]:
    """Return the minimum age in milliseconds, and in words."""
    number, unit = given[:-1], given[-1:].lower()
    is_number = number.isascii() and number.isdecimal() and len(number) <= MAX_AGE_DIGITS and int(number) > 0
    if unit not in AGE_UNITS or not is_number:
        wrong = f", not {given!r}" if given else ""
        raise UsageError(f"--older-than requires a number of days, weeks, months or years (90d, 12w, 6m, 1y){wrong}")
    word, days = AGE_UNITS[unit]
    return int(number) * days * DAY, format_count(int(number), word)


def _older_than(store: Store, min_age: int) -> list[OldSession]:
    """The sessions that have not changed for `min_age` milliseconds, oldest first."""
    moment = now()
    found = []
    for info in store.sessions():
        if moment - info.updated > min_age:
            state = latest_state(store.history(info.name))
            session = TitledSession(info, state.plan, title_of(info, state.plan))
            found.append(OldSession(session, state.head, moment - info.updated, len(open_tasks(state.plan))))
    return sorted(found, key=lambda old: old.age, reverse=True)


def _print_sessions(found: list[OldSession], chosen: list[OldSession], which: str) -> None:
    if not found:
        put(f"No session {printable(which)}.")
        return
    ages, is_narrow = [days(old.age) for old in found], max_columns() < MIN_COLUMNS_FOR_NAMES
    put_spans(
        (
            Span(f"{long.rjust(max(map(len, ages)))}  ", Role.DIM),
            Span(f"{format_count(old.info.events, 'event').rjust(12)}  ", Role.MUTED),
            Span(f"{old.open} open".rjust(8), Role.WARNING if old.open else Role.DIM),
            Span(f"  {old.session.title}"),
            # The name, unless the title says it; on a narrow terminal the title must do.
            Span("" if is_narrow or not old.session.short_name else f"  {old.session.short_name}", Role.DIM),
        )
        for old, long in zip(found, ages, strict=True)
    )
    with_open_tasks = len(found) - len(chosen)
    if with_open_tasks:
        kept = format_count(with_open_tasks, "session")
        put(f"{kept} with open tasks would be kept; to delete them as well, use --open")


def _events_of(sessions: list[OldSession]) -> str:
    return format_count(sum(old.info.events for old in sessions), "event")


def _is_deleted(store: Store, old: OldSession) -> bool:
    try:
        store.delete(old.info.name, expected=old.head)
    except HeadMoved:
        return False
    return True


def _compact(store: Store) -> str:
    """Compact the store, and return a sentence on the disk space of the deleted sessions."""
    try:
        freed = store.compact()
    except StoreError as error:
        return f" Their space remains reserved for new plans: {printable(str(error))}"
    if freed is None:
        return ""
    return f" {size(freed)} were freed." if freed else " Their space remains reserved for new plans."


def _old_data(old: OldSession, *, removed: bool) -> dict[str, object]:
    return {
        "name": old.info.name,
        "title": old.session.title,
        "updated": timestamp(old.info.updated),
        "days": old.age // DAY,
        "events": old.info.events,
        "open": old.open,
        "removed": removed,
    }
