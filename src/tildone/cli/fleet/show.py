"""`tildone fleet show`: a run with its plan, its questions and its history."""

from __future__ import annotations

from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.fleet.places import places_of
from tildone.cli.fleet.questions import as_data as question_data
from tildone.cli.fleet.questions import put_questions, questions_of
from tildone.cli.fleet.rows import as_data, rows_of
from tildone.cli.output.amounts import counted
from tildone.cli.output.data import put_data
from tildone.cli.output.left_out import exit_code_for
from tildone.cli.output.screen import columns, moment, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.ids import now, timestamp
from tildone.kit.text import clip_text
from tildone.kit.theme import Role, Span
from tildone.log.fleet.facts import RunFact
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import run_lines, why_queued
from tildone.views.plan_lines import plan_lines
from tildone.views.runs import describe_run_fact
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.fleet.lease import Lease

UNLIMITED_COLUMNS = 1_000_000


def run(args: ParsedArgs) -> int:
    """Show a run.

    Raises:
        NotFound: there is no such run.
    """
    fleet = open_existing_fleet(args, read_only=True)
    views = fleet.run_named(args.positional[0])
    lease, left_out = views[0].lease, list[str]()
    waits, places = _waits(fleet, lease), places_of(fleet, lease)
    rows, questions = rows_of(fleet, views, now(), left_out).shown, questions_of(fleet, views)
    happened = [] if left_out else _happened(fleet, lease)
    if args.has("json"):
        hands = [as_data(row, now()) for row in rows]
        events = [{"at": timestamp(at), "what": what} for at, what in happened]
        asked = [question_data(question) for question in questions]
        found = {"run": lease.run, "hands": hands, "waits": waits or None, "places": dict(places)}
        put_data(**found, questions=asked, events=events, left_out=left_out)
        return exit_code_for(left_out)
    width = columns()
    put_spans(run_lines(rows, now(), width))
    facts = [("waits", waits), *_facts(lease), *((name, printable(text)) for name, text in places)]
    put_spans((Span(f"{name:<8}", Role.DIM), Span(text)) for name, text in facts if text)
    if not left_out:
        put("")
        put_spans(plan_lines(latest_state(fleet.store.history(lease.session)).plan, width))
    if questions:
        put("")
        put_questions(questions, "")
    if happened:
        put("")
    room = max(1, (width or UNLIMITED_COLUMNS) - 18)
    put_spans((Span(f"{moment(at)}  ", Role.DIM), Span(clip_text(what, room))) for at, what in happened)
    return exit_code_for(left_out)


def _waits(fleet: Fleet, lease: Lease) -> str:
    """Return what a queued run waits for, as far as it is known."""
    if lease.is_queued and lease.not_before > now():
        failed = f", after {counted(lease.fails, 'failed attempt')}" if lease.fails else ""
        return f"until {moment(lease.not_before)}{failed}"
    limits = {limit.provider: limit.runs for limit in fleet.leases.limits()}
    return why_queued(lease, fleet.leases.look(), fleet.leases.workers(), limits.get(lease.work.provider, 0))


def _facts(lease: Lease) -> list[tuple[str, str]]:
    """Return what the run consists of, by name."""
    work = lease.work
    agent = " ".join(part for part in (work.agent, work.model) if part)
    rows = (
        ("plan", lease.session),
        ("agent", agent),
        ("repo", " ".join(part for part in (work.repo, work.ref) if part)),
        ("labels", ", ".join(work.labels)),
        ("allow", ", ".join(work.allow)),
    )
    return [(name, printable(text)) for name, text in rows]


def _happened(fleet: Fleet, lease: Lease) -> list[tuple[int, str]]:
    """Return what the log of the plan tells of the run, the oldest first."""
    return [
        (event.at, describe_run_fact(event.fact))
        for event in fleet.store.events(lease.session)
        if isinstance(event.fact, RunFact) and event.fact.run == lease.run
    ]
