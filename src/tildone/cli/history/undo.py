"""`tildone undo` and `redo`: back before the newest changes of the plan, and forth again."""

from __future__ import annotations

from tildone.cli.opening import reading
from tildone.cli.output.screen import put
from tildone.cli.parsing.args import Typed, called
from tildone.cli.plan.applying import standing
from tildone.errors import UsageError
from tildone.history.changes import changes, told
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.core.plan import Plan

LONGEST = 9


def undo(typed: Typed) -> int:
    """Take back the newest changes, whoever made them."""
    count = _count(typed)
    outcome = reading(typed).undo(count)
    return _say("Took back", count, outcome.after, outcome.before, now=outcome.after)


def redo(typed: Typed) -> int:
    """Take back the newest undoings."""
    count = _count(typed)
    outcome = reading(typed).redo(count)
    return _say("Made again", count, outcome.before, outcome.after, now=outcome.after)


def _count(typed: Typed) -> int:
    if not typed.words:
        return 1
    said = typed.words[0]
    if not said.isdecimal() or len(said) > LONGEST or int(said) == 0:
        raise UsageError(f"{called(typed.path)} takes a number of changes above 0, not {said!r}")
    return int(said)


def _say(verb: str, count: int, before: Plan, after: Plan, *, now: Plan) -> int:
    what = told(changes(before, after)) or ["nothing that shows"]
    many = "" if count == 1 else f" {count} changes"
    put(f"{verb}{many}: {'; '.join(what)}")
    put(standing(now))
    return 0
