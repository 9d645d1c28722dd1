"""The tokens of a project's agents, read from the conversations of `tildone run`: no other agent tells its own."""

from __future__ import annotations

import os

from tildone.errors import TildoneError
from tildone.history.stats import TokenUse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AGENT = "tildone:"
"""How the ids of agents begin that `tildone run` started."""


def token_use(agents: Iterable[str], folder: str) -> list[TokenUse]:
    """Return the requests in the conversations of these agents, in the order of their times.

    Conversations in other folders, and those that cannot be read, are left out.
    """
    wanted = {agent.removeprefix(AGENT) for agent in agents if agent.startswith(AGENT)}
    if not wanted or not os.path.isdir(folder):
        return []
    # Late, because most plans are worked on by other agents.
    from tildone.stores.pi.session_file import id_in_file_name  # noqa: PLC0415  see above

    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if id_in_file_name(name) in wanted]
    # A forked conversation has copies of entries, with their ids.
    requests = {entry_id: use for path in paths for entry_id, use in _requests(path)}
    return sorted(requests.values(), key=lambda use: use.at)


def _requests(path: str) -> Iterator[tuple[str, TokenUse]]:
    from tildone.host.entries import MessageEntry  # noqa: PLC0415  see above
    from tildone.host.entry_codec import decode_entry  # noqa: PLC0415  see above
    from tildone.host.messages import AssistantMessage  # noqa: PLC0415  see above
    from tildone.stores.pi.session_file import load  # noqa: PLC0415  see above

    try:
        _, records = load(path)
    except TildoneError:
        return
    for entry in map(decode_entry, records):
        body = entry.body
        if isinstance(body, MessageEntry) and isinstance(body.message, AssistantMessage):
            usage = body.message.usage
            if entry.timestamp is not None and usage is not None and usage.total_tokens:
                yield entry.id, TokenUse(entry.timestamp, usage.total_tokens)
