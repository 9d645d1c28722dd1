"""What was found in a file, taken into a session: a plan in place of the one there, a history beside what is there."""

from __future__ import annotations

from tildone.cli.opening import session_title, settings_for
from tildone.cli.output.warnings import aside
from tildone.cli.parsing.args import ParsedArgs
from tildone.cli.transfer.reading import FoundHistory, FoundPlan, shown
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.core.reduce import reduce
from tildone.errors import Refused, StoreError
from tildone.log.events import Actor
from tildone.log.state import latest_state
from tildone.log.tree import by_id
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.faults import describe_fault
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.cli.transfer.reading import Found
    from tildone.core.reduce import Outcome
    from tildone.log.store import Store
    from tildone.session import Session


@value
class Imported:
    """What became of a file: which session it went into, the plan there before and now, and how many events came.

    `new` is how many of a history's events were not there yet; a plan has no events.
    """

    found: Found
    session: str
    before: Plan
    after: Plan
    new: int | None = None


def replace_plan(session: Session, found: FoundPlan, args: ParsedArgs) -> Imported:
    """Put a plan in place of the session's.

    Raises:
        Refused: it is empty, or against the session's rules.
    """
    if not found.plan.tasks and session.plan.tasks and not args.has("force"):
        raise Refused(f"there is no task in {shown(found.path)}: to empty the plan, say --force or: tildone todo rm")
    steps = (Write(found.plan.phases),)
    if args.has("dry-run"):
        outcome: Outcome = reduce(session.plan, steps, session.dialect.rules)
    else:
        outcome = session.change(steps, Actor.IMPORT)
    if outcome.faults:
        raise Refused("; ".join(map(describe_fault, outcome.faults)))
    return Imported(found, session.name, outcome.before, outcome.after)


def take_over(args: ParsedArgs, found: FoundHistory, store: Store | None = None) -> Imported:
    """Take a history over into the session it names, or that the person names, and stand where it stands.

    Raises:
        Refused: there is nothing in it.
        StoreError: the session has other events under the same names.
    """
    if not found.events:
        raise Refused(f"there is no plan in {shown(found.path)}")
    store = store or open_store(settings_for(args))
    session = args.options.get("session", found.session)
    before = latest_state(store.history(session)).plan
    if args.has("dry-run"):
        here = {event.id for event in store.events(session)}
        return Imported(found, session, before, found.plan, sum(event.id not in here for event in found.events))
    try:
        new = store.import_events(session, found.events, found.session_head)
    except StoreError as error:
        if not _clash(store, session, found):
            raise
        hint = f"import {shown(found.path)} into another with --session"
        raise StoreError(f"{session_title(session)} has other events of the same names; {hint}") from error
    return Imported(found, session, before, found.plan, new)


def _clash(store: Store, session: str, found: FoundHistory) -> bool:
    here = by_id(store.events(session))
    return any(here.get(event.id, event) != event for event in found.events)


def as_data(done: Imported) -> dict[str, object]:
    """What became of a file, for programs."""
    return {
        "file": done.found.path,
        "format": done.found.form,
        "session": done.session,
        "phases": len(done.after.phases),
        "tasks": len(done.after.tasks),
        "changed": done.before != done.after,
        "new_events": done.new,
        "said": [remark.told() for remark in done.found.said],
    }


def counted(done: Imported) -> str:
    """How much a file brought."""
    if isinstance(done.found, FoundHistory):
        total = len(done.found.events)
        return _many(total, "event") if done.new == total else f"{_many(total, 'event')}, {done.new} of them new"
    return f"{_many(len(done.after.tasks), 'task')} in {_many(len(done.after.phases), 'phase')}"


def said_of(found: Found, *, everything: bool) -> None:
    """Tell what of a file is not in the plan."""
    aside(f"What else is in {shown(found.path)}", found.said, everything=everything)


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
