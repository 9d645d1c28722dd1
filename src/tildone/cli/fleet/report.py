"""The Markdown report of a run: what it was, its plan, and what happened."""

from __future__ import annotations

from tildone.formats.markdown.writer import lossless_checklist
from tildone.ids import timestamp
from tildone.log.fleet.facts import RunFact
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.views.runs import describe_run_fact
from tildone.views.sanitize import safe_text, single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.workers import RunView

INDENT = "    "
"""An indented line is shown as it is: nothing in it is read as Markdown."""


def report_of(fleet: Fleet, views: Sequence[RunView]) -> str:
    """Return the report of a run with these hands."""
    lease = views[0].lease
    plan = latest_state(fleet.store.history(lease.session)).plan
    work = lease.work
    facts = [
        ("plan", lease.session),
        ("repository", work.repo),
        ("agent", " ".join(part for part in (work.agent, work.model) if part)),
        ("queued", timestamp(lease.made)),
        *((f"hand {view.lease.hand + 1}", f"{view.lease.state.value} {timestamp(view.lease.since)}") for view in views),
    ]
    events = [
        f"{timestamp(event.at)}  {describe_run_fact(event.fact)}"
        for event in fleet.store.events(lease.session)
        if isinstance(event.fact, RunFact) and event.fact.run == lease.run
    ]
    parts = (
        [f"# Run {lease.run}", ""],
        [_shown(f"{name}: {text}") for name, text in facts if text],
        ["", "## Plan", "", lossless_checklist(plan, escaped=True).rstrip("\n"), "", "## Events", ""],
        [_shown(event) for event in events],
    )
    return "".join(f"{line}\n" for lines in parts for line in lines)


def _shown(text: str) -> str:
    return f"{INDENT}{safe_text(single_line(text))}"
