"""`tildone stats`: pictures of the plan's history: open tasks over time, time per task, nudges, tokens and cost."""

from __future__ import annotations

import os

from tildone.app.opening import session_title
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import open_for_reading, settings_for
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import Refused, UsageError
from tildone.history.stats import session_stats
from tildone.ids import local_time, now, timestamp
from tildone.log.tree import branch, by_id, labels
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.history.stats import Stats
    from tildone.session import Session

STREAM = "-"
"""The name of standard output."""


def run(args: ParsedArgs) -> int:
    """Print the pictures or their data, or write them to an SVG file."""
    if args.has("svg") and args.has("json"):
        raise UsageError("stats prints JSON or writes an SVG file: use --json or --svg, not both")
    if args.has("force") and not args.has("svg"):
        raise UsageError("--force is for the file of --svg")
    session = open_for_reading(args)
    stats = _stats(args, session)
    if args.has("json"):
        # Imported here and below, because each of the three outputs needs its own.
        from tildone.history.stats_data import NO_STATS, stats_data  # noqa: PLC0415  see above

        put_data(session=session.name, **(stats_data(stats, timestamp) if stats else NO_STATS))
    elif args.has("svg"):
        _write_svg(session, stats, args.options["svg"], force=args.has("force"))
    elif stats:
        from tildone.history.stats_lines import stats_lines  # noqa: PLC0415  see above

        put_spans(stats_lines(_title(session), stats, local_time, columns()))
    else:
        _print_no_plan(session)
    return 0


def _print_no_plan(session: Session) -> None:
    store = session.store
    if store.session_head(session.name).head is None and store.leaves(session.name):
        print_no_events(session)
        return
    put(f"No plan yet in {printable(session_title(session.name))}. Start one with: tildone todo add TEXT")


def _stats(args: ParsedArgs, session: Session) -> Stats | None:
    # Late, because it is for this verb alone, and reads conversations only if there are any.
    from tildone.cli.history.token_use import token_use  # noqa: PLC0415  see above

    # In this order: events written in between are included, and the head is one of them.
    head = session.store.session_head(session.name).head
    events = by_id(session.store.events(session.name))
    line = branch(events, head)
    agents = {event.author.agent for event in line}
    requests, requesting = token_use(agents, settings_for(args).session_dir)
    return session_stats(line, now(), labels(events.values()), requests, requesting)


def _write_svg(session: Session, stats: Stats | None, path: str, *, force: bool) -> None:
    from tildone.files.atomic import write_text  # noqa: PLC0415  see `run`
    from tildone.files.private import SHARED_FILE  # noqa: PLC0415  see `run`
    from tildone.history.stats_svg import stats_svg  # noqa: PLC0415  see `run`

    if stats is None:
        raise Refused("there is no plan to draw; start one with: tildone todo add TEXT")
    picture = stats_svg(_title(session), stats, local_time, _time_of_day)
    if path == STREAM:
        put(picture.removesuffix("\n"))
        return
    if not force:
        _check_overwrite(path)
    write_text(path, picture, mode=SHARED_FILE)
    put(f"Wrote the picture to {printable(path)}")


def _check_overwrite(path: str) -> None:
    """Check that an existing file is a picture of this kind, or empty.

    Raises:
        Refused: it is another file.
    """
    from tildone.files.atomic import read_text  # noqa: PLC0415  see `run`
    from tildone.history.stats_svg import BEGINNING  # noqa: PLC0415  see `run`

    text = read_text(path)
    if text is None or not (text.startswith(BEGINNING) or text == ""):
        raise Refused(f"{path} is not a picture that tildone stats wrote; to overwrite it, use --force")


def _title(session: Session) -> str:
    """The name of the project's folder, or that of another session."""
    return (os.path.basename(session.name) if os.path.isabs(session.name) else session.name) or session.name


def _time_of_day(at: int) -> str:
    return local_time(at, "%H:%M")
