"""The dialect record for plans that only people have changed so far."""

from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Reply

BY_HAND = Dialect(
    name="by hand",
    rules=Rules(),
    tools=(),
    refuse=lambda *_: Reply("", {}, is_error=True),
    context=lambda _: None,
    carry_on=lambda _: "",
)
"""It has no tools and no limits, and starts no task automatically."""
