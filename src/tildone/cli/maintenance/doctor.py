"""`tildone doctor`: check the installation and the store. Nothing is changed, except modes with --fix."""

from __future__ import annotations

import os

from tildone.cli.agents.installing import agents_named, sites
from tildone.cli.maintenance.checks import AGENTS, CHECKS
from tildone.cli.maintenance.checks.context import CheckContext
from tildone.cli.opening import working_folder
from tildone.cli.output.data import put_data
from tildone.cli.output.findings import finding_lines
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import load_valid
from tildone.errors import StoreError, UsageError
from tildone.kit.formatting import format_count
from tildone.kit.theme import Span
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(args: ParsedArgs) -> int:
    """Run the checks and print the findings as they come."""
    findings: list[tuple[str, Finding]] = []
    with ProgressLine() as progress:
        for title, finding in _run_checks(args, progress):
            if not args.has("json"):
                progress.clear()
                before = findings[-1] if findings else ("", None)
                if before[0] != title:
                    put_spans([[Span(title, bold=True)]])
                put_spans(finding_lines(finding, before[1]))
            findings.append((title, finding))
    if args.has("json"):
        put_data(checks=[_as_data(*each) for each in findings])
    else:
        put(_summary([finding.severity for _, finding in findings]))
    return StoreError.exit_code if any(finding.severity is Severity.ERROR for _, finding in findings) else 0


def _run_checks(args: ParsedArgs, progress: ProgressLine) -> Iterator[tuple[str, Finding]]:
    """Run the checks one after the other. Invalid settings are a finding, and the other checks use the defaults."""
    if args.positional and args.has("fix"):
        raise UsageError("--fix changes the modes of tildone's own files; it takes no AGENT")
    folder = working_folder()
    settings, problems = load_valid(args.options, os.environ, folder)
    agents = tuple(agent.name for agent in agents_named(args.positional, sites(settings.project)[0]))
    context = CheckContext(settings, args.options, folder, progress, tuple(problems), agents, args.has("fix"))
    for title, check in CHECKS:
        if not args.positional or title == AGENTS:
            for finding in check(context):
                yield title, finding


def _summary(severities: list[Severity]) -> str:
    counts = (severities.count(Severity.ERROR), "problem"), (severities.count(Severity.WARNING), "warning")
    parts = [format_count(count, noun) for count, noun in counts if count]
    return f"{' and '.join(parts)} in {format_count(len(severities), 'finding')}." if parts else "No problems found."


def _as_data(title: str, finding: Finding) -> dict[str, str]:
    return {
        "name": title.lower(),
        "status": finding.severity.value,
        "message": finding.what,
        "remedy": finding.remedy,
    }
