"""Warnings about content that an import or an export cannot represent."""

from __future__ import annotations

from tildone.cli.output.screen import put_notice
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.formats.conversion import ConversionWarning


MAX_LISTED = 5


def print_warnings(title: str, warnings: Sequence[ConversionWarning], *, verbose: bool) -> None:
    """Print the warnings on standard error under a title; only the first few unless `verbose`."""
    if not warnings:
        return
    put_notice(f"{printable(title)}:")
    for warning in warnings if verbose else warnings[:MAX_LISTED]:
        put_notice(f"  {printable(warning.text() if verbose else str(warning))}")
    more = len(warnings) - MAX_LISTED
    if more > 0 and not verbose:
        put_notice(f"  and {more} more (use --verbose to list all)")
