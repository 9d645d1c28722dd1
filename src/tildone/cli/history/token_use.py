"""The tokens and the cost of a project's agents, read from the conversations of `tildone run` in this folder.

They have every request, also those after the last change of the plan. What other agents have used is in the events.
"""

from __future__ import annotations

import os

from tildone.errors import TildoneError
from tildone.history.requests import TokenUse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AGENT = "tildone:"
"""How the ids of agents begin that `tildone run` started."""


def token_use(agents: Iterable[str], folder: str) -> tuple[list[TokenUse], set[str]]:
    """Return the requests in the conversations of these agents, in the order of their times, and the agents found.

    Conversations in other folders, those that cannot be read, and those without requests are left out.
    """
    wanted = {agent.removeprefix(AGENT) for agent in agents if agent.startswith(AGENT)}
    if not wanted or not os.path.isdir(folder):
        return [], set()
    # Late, because most plans are worked on by other agents.
    from tildone.stores.pi.session_file import id_in_file_name  # noqa: PLC0415  see above

    # A forked conversation has copies of entries, with their ids.
    requests: dict[str, TokenUse] = {}
    found: set[str] = set()
    for name in sorted(os.listdir(folder)):
        own = id_in_file_name(name)
        if own in wanted:
            of_file = dict(_requests(os.path.join(folder, name)))
            requests |= of_file
            found |= {f"{AGENT}{own}"} if of_file else set()
    return sorted(requests.values(), key=lambda use: use.at), found


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
                cost = (usage.cost.total if usage.cost else None) or 0
                yield entry.id, TokenUse(entry.timestamp, usage.total_tokens, cost)
