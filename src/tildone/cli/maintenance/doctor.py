"""`tildone doctor`: check the installation and the store. Nothing is changed."""

from __future__ import annotations

import os

from tildone.cli.maintenance.checks import CHECKS, CheckContext
from tildone.cli.opening import settings_for
from tildone.cli.output.amounts import counted
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import StoreError, UsageError
from tildone.kit.text import wrap_text
from tildone.kit.theme import Role, Span
from tildone.log import codec
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNS = {Severity.OK: ("✓", Role.SUCCESS), Severity.WARNING: ("!", Role.WARNING), Severity.ERROR: ("✗", Role.ERROR)}
UNLIMITED_COLUMNS = 1_000_000
MIN_COLUMNS = 20


def run(args: ParsedArgs) -> int:
    """Run all checks and print the findings as they come."""
    findings: list[tuple[str, Finding]] = []
    with ProgressLine() as progress:
        for title, finding in _run_checks(args, progress):
            if not args.has("json"):
                progress.clear()
                before = findings[-1] if findings else ("", None)
                if before[0] != title:
                    put_spans([[Span(title, bold=True)]])
                put_spans(_lines(finding, before[1]))
            findings.append((title, finding))
    if args.has("json"):
        put(codec.dump([_as_data(*each) for each in findings]))
    else:
        put(_summary([finding.severity for _, finding in findings]))
    return StoreError.exit_code if any(finding.severity is Severity.ERROR for _, finding in findings) else 0


def _run_checks(args: ParsedArgs, progress: ProgressLine) -> Iterator[tuple[str, Finding]]:
    try:
        settings = settings_for(args)
    except UsageError as error:
        yield "Settings", Finding(Severity.ERROR, str(error), "correct the setting, and rerun tildone doctor")
        return
    context = CheckContext(settings, args.options, os.getcwd(), progress)
    for title, check in CHECKS:
        for finding in check(context):
            yield title, finding


def _lines(finding: Finding, before: Finding | None) -> list[tuple[Span, ...]]:
    """A finding, and below it the remedy unless the finding before has the same."""
    sign, role = SIGNS[finding.severity]
    room = max(MIN_COLUMNS, (columns() or UNLIMITED_COLUMNS) - 4)
    first, *rest = wrap_text(printable(finding.what), room)
    lines = [(Span("  "), Span(sign, role), Span(f" {first}")), *((Span(f"    {line}"),) for line in rest)]
    if finding.remedy and (before is None or before.remedy != finding.remedy):
        first, *rest = wrap_text(printable(finding.remedy), room - 2)
        lines += [(Span(f"    → {first}", Role.ACCENT),), *((Span(f"      {line}", Role.ACCENT),) for line in rest)]
    return lines


def _summary(severities: list[Severity]) -> str:
    counts = (severities.count(Severity.ERROR), "error"), (severities.count(Severity.WARNING), "warning")
    parts = [counted(count, noun) for count, noun in counts if count]
    return f"{' and '.join(parts)} in {counted(len(severities), 'finding')}." if parts else "No problems found."


def _as_data(title: str, finding: Finding) -> dict[str, str]:
    return {
        "check": title.lower(),
        "health": finding.severity.value,
        "what": finding.what,
        "remedy": finding.remedy,
    }
