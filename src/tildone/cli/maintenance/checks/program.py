"""Checks of the program: its version, how it was installed, and its optional dependencies."""

from __future__ import annotations

import sys
from importlib.metadata import version

from tildone import distribution
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.maintenance.checks.context import CheckContext

PURPOSES = {
    "mcp": "tildone mcp --http",
    "run": "models in tildone run",
    "postgres": "plans in PostgreSQL",
    "tui": "tildone watch",
    "web": "tildone board",
}


def versions(_context: CheckContext) -> Iterator[Finding]:
    """The versions of tildone, Python and the platform, and how this copy was installed."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(Severity.OK, f"tildone {version('tildone')}, Python {python}, {sys.platform}")
    own = distribution.script() or f"{sys.executable} -m {distribution.NAME}"
    yield Finding(Severity.OK, f"installed by {distribution.method()}: {own}")
    found = distribution.on_path(distribution.NAME)
    if found is not None and distribution.program() != distribution.NAME:
        what = f"tildone on your PATH is another copy: {found}"
        yield Finding(Severity.WARNING, what, f"remove it, or call this copy: {distribution.program()}")


def extras(_context: CheckContext) -> Iterator[Finding]:
    """Which optional dependencies are installed, and how to get the others."""
    for extra, purpose in PURPOSES.items():
        if distribution.has_extra(extra):
            yield Finding(Severity.OK, f"{extra}: installed, for {purpose}")
        else:
            what = f"{extra}: not installed; it is needed for {purpose}"
            yield Finding(Severity.OK, what, distribution.install_extra(extra))
