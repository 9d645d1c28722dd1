"""What readers have seen of a session, as a dictionary: their names and the heads, the most recently recorded last."""

from __future__ import annotations

MAX_READERS = 100
"""Of how many readers a session records what they have seen. A reader that was dropped is told the plan again."""


def with_seen(heads: dict[str, str], reader: str, head: str | None) -> dict[str, str]:
    """Return the heads with the one that a reader has seen; None removes it. The oldest beyond MAX_READERS go."""
    others = [(name, seen) for name, seen in heads.items() if name != reader]
    return dict(others if head is None else [*others[1 - MAX_READERS :], (reader, head)])
