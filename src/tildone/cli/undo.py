"""`tildone undo` and `redo`: back before the newest change of the plan, and forth again."""

from tildone.cli.args import Typed
from tildone.cli.desk import standing
from tildone.cli.place import reading
from tildone.cli.screen import put
from tildone.views.changes import changes, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.core.plan import Plan


def undo(typed: Typed) -> int:
    """Take back the newest change, whoever made it."""
    outcome = reading(typed).undo()
    return _say("Took back", outcome.after, outcome.before, now=outcome.after)


def redo(typed: Typed) -> int:
    """Take back the newest undo."""
    outcome = reading(typed).redo()
    return _say("Made again", outcome.before, outcome.after, now=outcome.after)


def _say(verb: str, before: "Plan", after: "Plan", *, now: "Plan") -> int:
    what = told(changes(before, after)) or ["nothing that shows"]
    put(f"{verb}: {'; '.join(what)}")
    put(standing(now))
    return 0
