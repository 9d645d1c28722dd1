"""`tildone stats`: pictures of the plan's history: open tasks over time, time per task, nudges, tokens and cost."""

import os
from collections.abc import Iterable, Iterator
from functools import partial

from tildone.app.opening import session_title
from tildone.base import Refused, TildoneError, UsageError
from tildone.base.files import STREAM, read_text, write_text
from tildone.base.ids import local_time, now, timestamp
from tildone.base.private import SHARED_FILE
from tildone.cli.history.log import print_no_events
from tildone.cli.opening import open_for_reading, settings_for
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import branch, by_id, labels
from tildone.plan.history.stats import Stats, session_stats
from tildone.plan.history.stats_svg import BEGINNING, stats_svg
from tildone.plan.history.usage import TokenUse
from tildone.plan.text.safe import printable


def run(args: ParsedArgs) -> int:
    if args.has("svg") and args.has("json"):
        raise UsageError("stats prints JSON or writes an SVG file: use --json or --svg, not both")
    if args.has("force") and not args.has("svg"):
        raise UsageError("--force is for the file of --svg")
    session = open_for_reading(args)
    stats = _stats(args, session)
    if args.has("json"):
        # Imported here and below, because each of the three outputs needs its own.
        from tildone.plan.history.stats import NO_STATS, stats_data  # noqa: PLC0415  see above

        put_data(session=session.name, **(stats_data(stats, timestamp) if stats else NO_STATS))
    elif args.has("svg"):
        _write_svg(session, stats, args.options["svg"], force=args.has("force"))
    elif stats:
        from tildone.plan.history.stats_lines import stats_lines  # noqa: PLC0415  see above

        put_spans(stats_lines(_title(session), stats, local_time, columns()))
    elif session.store.session_head(session.name).head is None and session.store.leaves(session.name):
        print_no_events(session)
    else:
        put(f"No plan yet in {printable(session_title(session.name))}. Start one with: tildone todo add TEXT")
    return 0


def _stats(args: ParsedArgs, session: Session) -> Stats | None:
    # In this order: events written in between are included, and the head is one of them.
    head = session.store.session_head(session.name).head
    events = by_id(session.store.events(session.name))
    line = branch(events, head)
    agents = {event.author.agent for event in line}
    requests, requesting = token_use(agents, settings_for(args).session_dir)
    return session_stats(line, now(), labels(events.values()), requests, requesting)


def _write_svg(session: Session, stats: Stats | None, path: str, *, force: bool) -> None:
    if stats is None:
        raise Refused("there is no plan to draw; start one with: tildone todo add TEXT")
    picture = stats_svg(_title(session), stats, local_time, partial(local_time, form="%H:%M"))
    if path == STREAM:
        put(picture.removesuffix("\n"))
        return
    if not force:
        text = read_text(path)
        if text is None or not (text.startswith(BEGINNING) or text == ""):
            raise Refused(f"{path} is not a picture that tildone stats wrote; to overwrite it, use --force")
    write_text(path, picture, mode=SHARED_FILE)
    put(f"Wrote the picture to {printable(path)}")


def _title(session: Session) -> str:
    """The name of the project's folder, or that of another session."""
    return (os.path.basename(session.name) if os.path.isabs(session.name) else session.name) or session.name


AGENT = "tildone:"
"""How the ids of agents begin that `tildone run` started."""


def token_use(agents: Iterable[str], folder: str) -> tuple[list[TokenUse], set[str]]:
    """Return the requests in the conversations of these agents, in the order of their times, and the agents found.

    Conversations in other folders, those that cannot be read, and those without requests are left out.
    """
    wanted = {agent.removeprefix(AGENT) for agent in agents if agent.startswith(AGENT)}
    if not wanted or not os.path.isdir(folder):
        return [], set()
    # Late, because most plans are worked on by other agents.
    from tildone.stores.pi.session_file import id_in_file_name  # noqa: PLC0415  see above

    # A forked conversation has copies of entries, with their ids.
    requests: dict[str, TokenUse] = {}
    found: set[str] = set()
    for name in sorted(os.listdir(folder)):
        own = id_in_file_name(name)
        if own in wanted:
            of_file = dict(_requests(os.path.join(folder, name)))
            requests |= of_file
            found |= {f"{AGENT}{own}"} if of_file else set()
    return sorted(requests.values(), key=lambda use: use.at), found


def _requests(path: str) -> Iterator[tuple[str, TokenUse]]:
    from tildone.run.codec import decode_entry  # noqa: PLC0415  see above
    from tildone.run.events import MessageEntry  # noqa: PLC0415  see above
    from tildone.run.messages import AssistantMessage  # noqa: PLC0415  see above
    from tildone.stores.pi.session_file import load  # noqa: PLC0415  see above

    try:
        _, records = load(path)
    except TildoneError:
        return
    for entry in map(decode_entry, records):
        body = entry.body
        if isinstance(body, MessageEntry) and isinstance(body.message, AssistantMessage):
            usage = body.message.usage
            if entry.timestamp is not None and usage is not None and usage.total_tokens:
                cost = (usage.cost.total if usage.cost else None) or 0
                yield entry.id, TokenUse(entry.timestamp, usage.total_tokens, cost)
