"""The generated part of `docs/reference/checks.md`: the states of a task with a check, and their transitions."""

import re

from tests.core.transitions import table
from tests.project.source import ROOT
from tildone.plan.model import Status

PAGE = ROOT / "docs" / "reference" / "checks.md"
GENERATED = re.compile(r"(?<=<!-- generated from tildone.plan.reduce -->\n).*(?=<!-- end -->)", re.DOTALL)
NAMES = {Status.COMPLETED: "done", Status.ABANDONED: "dropped"}


def page() -> str:
    """Return the page as it should be now."""
    return GENERATED.sub(lambda _: f"\n{transitions()}\n\n", PAGE.read_text(encoding="utf-8"))


def transitions() -> str:
    """Return the table: a row for each event, a column for each state before it."""
    rows = [f"| {event.name} | {' | '.join(map(_cell, row, row.values()))} |" for event, row in table().items()]
    heading = " | ".join(map(_name, Status))
    return "\n".join([f"| event | {heading} |", f"|---{'|---' * len(Status)}|", *rows])


def _cell(before: Status, now: Status) -> str:
    return "–" if before is now else _name(now)


def _name(status: Status) -> str:
    return NAMES.get(status) or str(status.value).replace("_", " ")
