"""Warnings about content that an import or an export cannot represent."""

from __future__ import annotations

import sys

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
    # Where both streams are a terminal, what was done comes before what was not.
    sys.stdout.flush()
    print(f"{printable(title)}:", file=sys.stderr)
    for warning in warnings if verbose else warnings[:MAX_LISTED]:
        print(f"  {printable(warning.text() if verbose else str(warning))}", file=sys.stderr)
    more = len(warnings) - MAX_LISTED
    if more > 0 and not verbose:
        print(f"  and {more} more (use --verbose to list all)", file=sys.stderr)
