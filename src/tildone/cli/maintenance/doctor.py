"""`tildone doctor`: check the installation and the store. Nothing is changed."""

from __future__ import annotations

import os

from tildone.cli.maintenance.checks import CHECKS, CheckContext
from tildone.cli.opening import settings_for
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
    told: list[tuple[str, Finding]] = []
    with ProgressLine() as progress:
        for title, finding in _found(args, progress):
            if not args.has("json"):
                progress.clear()
                before = told[-1] if told else ("", None)
                if before[0] != title:
                    put_spans([[Span(title, bold=True)]])
                put_spans(_lines(finding, before[1]))
            told.append((title, finding))
    if args.has("json"):
        put(codec.dump([_as_data(*each) for each in told]))
    else:
        put(_summary([finding.severity for _, finding in told]))
    return StoreError.exit_code if any(finding.severity is Severity.ERROR for _, finding in told) else 0


def _found(args: ParsedArgs, progress: ProgressLine) -> Iterator[tuple[str, Finding]]:
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


def _summary(all_of_it: list[Severity]) -> str:
    bad, odd = all_of_it.count(Severity.ERROR), all_of_it.count(Severity.WARNING)
    if not bad and not odd:
        return "No problems found."
    parts = [f"{count} {'is' if count == 1 else 'are'} {word}" for count, word in ((bad, "bad"), (odd, "odd")) if count]
    return f"Of {len(all_of_it)} findings, {' and '.join(parts)}."


def _as_data(title: str, finding: Finding) -> dict[str, str]:
    return {
        "check": title.lower(),
        "health": finding.severity.value,
        "what": finding.what,
        "remedy": finding.remedy,
    }
