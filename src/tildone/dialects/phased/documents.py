"""The phases out of a Markdown document that a person wrote or edited."""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.core.reduce import enforce_focus
from tildone.dialects.phased.params import RULES
from tildone.formats.markdown.reader import ParsedChecklist, read
from tildone.value import replace

UNNAMED = "Todos"


def from_markdown(text: str) -> ParsedChecklist:
    """What the document says, under the rules of this dialect: every phase has a name, one task is in progress."""
    reading = read(text)
    phases = tuple(replace(phase, name=phase.name or UNNAMED) for phase in reading.plan.phases)
    return replace(reading, plan=enforce_focus(Plan(phases), RULES))
