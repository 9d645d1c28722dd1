"""The changes of a plan that an agent has not made itself."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.history.changes import changes
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan
    from tildone.history.changes import Change, ChangeKind
    from tildone.log.events import Author, Event

    Key = tuple[ChangeKind, int | str]


def changes_by_others(
    seen: Plan, plan: Plan, newest_first: Sequence[Event], since: str | None, own: Author
) -> list[Change]:
    """Return the changes from the plan `seen`, at the event `since`, to `plan`, without those of the agent `own`.

    A change is the agent's if it has made one of the same kind to the same task. If `since` is not among the events,
    all changes are returned: too much was changed since to be told apart, or the history was moved.
    """
    found = changes(seen, plan)
    index = next((i for i, event in enumerate(newest_first) if event.id == since), None)
    if index is None:
        return found
    own_keys: set[Key] = set()
    before = seen
    for event in reversed(newest_first[:index]):
        if not isinstance(event.fact, PlanChanged):
            continue
        after = numbered(event.fact.plan)
        if own.agent and event.author.agent == own.agent:
            own_keys |= {_key(change) for change in changes(before, after)}
        before = after
    return [change for change in found if _key(change) not in own_keys]


def _key(change: Change) -> Key:
    return change.kind, change.number or change.subject
