"""Kept summaries: what readers computed about a session, so that the next one need not read it."""

from __future__ import annotations

from tildone.value import value


@value
class KeptSummary:
    """A summary of a session at a head. It is valid only while that is the session's head.

    The text means something to readers only.
    """

    head: str | None
    text: str
