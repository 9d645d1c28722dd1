"""What the verbs that show the plan and those that change it tell a person: hints."""

from __future__ import annotations

from tildone.app.opening import session_title
from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.table import ParsedArgs

BEGIN = "add a task with: tildone todo add TEXT"
"""The hint for a plan that does not exist yet."""


def no_tasks(session: str) -> str:
    """The sentence that is shown for an empty plan."""
    return f"No tasks in {session_title(session)}. Add one with: tildone todo add TEXT"


def command_hint(args: ParsedArgs, verb: str) -> str:
    """The command for a verb of this copy of tildone, with the session and the store that this command line names."""
    # Late, because only some messages need them.
    import shlex

    from tildone.base.distribution import program

    given = [f" --{name} {shlex.quote(args.options[name])}" for name in ("session", "store") if args.has(name)]
    return f"{program()} {verb}{''.join(given)}"
