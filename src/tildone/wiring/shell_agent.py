"""The process of the shell agent: `python -m tildone.wiring.shell_agent`.

The environment names the store and the plan.
"""

from __future__ import annotations

import os
import sys

from tildone.agents.identity import AgentId
from tildone.app.opening import check_approvals, open_session, open_store, run_leases
from tildone.config import load
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import TildoneError
from tildone.fleet.hands import HandTree
from tildone.fleet.permissions import RunAsker, answers_to
from tildone.fleet.shell_agent import Approver, ShellAgent
from tildone.ids import id_maker, now
from tildone.log.events import Author
from tildone.log.fleet.lease import LEASE_VARIABLE, fence_in
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.log.fleet.lease import RunFence
    from tildone.log.store import Store
    from tildone.session import Session

AGENT = "shell"
CLAIM_SECONDS = 86_400
"""For how long it claims a task. Whoever goes on with the run is the same agent, and need not wait for it."""


def main() -> int:
    """Work through the plan, and return the exit code."""
    try:
        settings = replace(load({}, os.environ, os.getcwd()), claim_seconds=CLAIM_SECONDS)
        author = Author(agent=str(_identity()))
        store = open_store(settings)
        session = open_session(settings, BY_HAND, store, lambda: author)
        lease = os.environ.get(LEASE_VARIABLE, "")
        if not lease:
            return ShellAgent(session, _print).work()
        return _of_run(session, store, fence_in(lease), settings, author.agent).work()
    except TildoneError as error:
        sys.stderr.write(f"tildone: {printable(str(error))}\n")
        return error.exit_code


def _of_run(session: Session, store: Store, held: RunFence, settings: Settings, name: str) -> ShellAgent:
    """Return the agent of a run of a fleet, which can ask persons."""
    leases = run_leases(store, Author(agent=name))
    hands = leases.look(held.run)
    open_questions = [question for view in hands for question in view.lease.questions if view.lease.hand == held.hand]
    asker = RunAsker(leases, held, id_maker(now, os.urandom), open_questions)
    approver = Approver(check_approvals(settings), asker, answers_to(store.events(settings.session), held.run))
    is_shared = len(hands) > 1 and os.path.exists(".git")
    events = lambda: store.events(settings.session)  # noqa: E731  short
    return ShellAgent(session, _print, approver, HandTree(os.getcwd(), held.run, name, events) if is_shared else None)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _identity() -> AgentId:
    """Return who this agent is: the hand of its run, whichever worker has it; else this process."""
    run, _, _epoch = os.environ.get(LEASE_VARIABLE, "").rpartition("/")
    return AgentId(AGENT, conversation=run) if run else AgentId(AGENT, pid=os.getpid())


if __name__ == "__main__":
    sys.exit(main())
