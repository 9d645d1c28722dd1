"""Findings of checks as lines: a sign, what was found, and below it the remedy."""

from __future__ import annotations

from tildone.cli.output.screen import columns
from tildone.kit.text import wrap_text
from tildone.kit.theme import Role, Span
from tildone.log.findings import Finding, Severity
from tildone.views.sanitize import printable

SIGNS = {Severity.OK: ("✓", Role.SUCCESS), Severity.WARNING: ("!", Role.WARNING), Severity.ERROR: ("✗", Role.ERROR)}
UNLIMITED_COLUMNS = 1_000_000
MIN_COLUMNS = 20


def finding_lines(finding: Finding, before: Finding | None = None) -> list[tuple[Span, ...]]:
    """A finding, and below it the remedy unless the finding before has the same."""
    sign, role = SIGNS[finding.severity]
    room = max(MIN_COLUMNS, (columns() or UNLIMITED_COLUMNS) - 4)
    first, *rest = wrap_text(printable(finding.what), room)
    lines = [(Span("  "), Span(sign, role), Span(f" {first}")), *((Span(f"    {line}"),) for line in rest)]
    if finding.remedy and (before is None or before.remedy != finding.remedy):
        first, *rest = wrap_text(printable(finding.remedy), room - 2)
        lines += [(Span(f"    → {first}", Role.ACCENT),), *((Span(f"      {line}", Role.ACCENT),) for line in rest)]
    return lines
