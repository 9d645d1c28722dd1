"""What is said beside the point: what of a file or a plan had no place on the other side."""

from __future__ import annotations

import sys

from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.formats.conversion import ConversionWarning

LISTED = 5


def aside(title: str, said: Sequence[ConversionWarning], *, everything: bool) -> None:
    """Tell it on standard error, under a title: a few sentences, unless everything is wanted."""
    if not said:
        return
    # In the order of a reader: what was done, then what was not.
    sys.stdout.flush()
    print(f"{printable(title)}:", file=sys.stderr)
    for remark in said if everything else said[:LISTED]:
        print(f"  {printable(remark.told() if everything else str(remark))}", file=sys.stderr)
    more = len(said) - LISTED
    if more > 0 and not everything:
        print(f"  and {more} more, which --verbose shows", file=sys.stderr)
