"""What only a person may do.

A command that is typed in the shell of an agent is the agent's doing, on whatever surface: it can read, and work on its
plan, but it cannot approve its own commands, answer its own questions, or change how it is held to its plan. The same
holds for the processes that a worker of a fleet has started.
"""

from __future__ import annotations

import os
from enum import Enum

from tildone.app.opening import agent_here, agent_of_client
from tildone.config import Settings
from tildone.errors import Refused
from tildone.log.fleet.lease import LEASE_VARIABLE
from tildone.views.sanitize import printable


class PersonAct(Enum):
    """Something that only a person may do, in the words of the refusal: "only a person can …"."""

    APPROVE = "approve a check"
    REMOVE_CHECK = "remove a check"
    ANSWER = "answer an agent"
    TRUST = "trust a file"
    UNINSTALL = "uninstall tildone from an agent"
    PAUSE = "pause an agent"
    STOP = "stop an agent"
    RESUME = "resume an agent"
    DELETE = "delete sessions"
    RESTORE = "restore a backup"
    BOARD_LINK = "get a link to a board"
    BOARD_TOKEN = "give out tokens of a board"  # noqa: S105  no secret
    BOARD_KEY = "renew the keys of boards"
    APPROVE_RUN = "approve what an agent asks for"
    RESUME_RUN = "resume a run"
    RETRY_RUN = "retry a run"
    PAUSE_RUN = "pause a run"
    CANCEL_RUN = "cancel a run"
    DRAIN = "drain a worker"


class NotThePerson(Refused):
    """An agent tried something that only a person may do."""


def check_person(settings: Settings, act: PersonAct) -> None:
    """Check that a person acts.

    Raises:
        NotThePerson: this process runs in the shell of an agent, or works for a run of a fleet.
    """
    reason = not_the_person(settings)
    if reason:
        raise NotThePerson(f"only a person can {act.value}: {reason}")


def not_the_person(settings: Settings) -> str:
    """Return why no person acts here; empty if one does."""
    if agent := agent_here(settings):
        return f"this is the shell of {printable(agent)}"
    return _run_here()


def not_the_persons_client(settings: Settings) -> str:
    """Return why the client of this server shows its questions to no person; empty if it does."""
    if agent := agent_of_client(settings):
        return f"its client runs in the shell of {printable(agent)}"
    return _run_here()


def check_outside_runs(act: PersonAct) -> None:
    """Check that no run of a fleet does something to runs. An agent that a person talks to may.

    Raises:
        NotThePerson: this process works for a run.
    """
    if reason := _run_here():
        raise NotThePerson(f"only a person can {act.value}: {reason}")


def _run_here() -> str:
    lease = os.environ.get(LEASE_VARIABLE)
    return f"this process works for the run {printable(lease.partition('/')[0])}" if lease else ""
