"""Steering agents: pausing and stopping them, and letting them go on. Only a person may."""

from __future__ import annotations

from tildone.app.who import PersonAct, check_person
from tildone.base import TYPE_CHECKING
from tildone.plan.events import Directive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.app.settings import Settings
    from tildone.log.session import Session

ACTS = {Directive.PAUSE: PersonAct.PAUSE, Directive.STOP: PersonAct.STOP, Directive.GO: PersonAct.RESUME}

STEERED = {Directive.PAUSE: "paused", Directive.STOP: "stopped", Directive.GO: "resumed"}
"""What a session is with each directive, in the words of all surfaces."""


def steer_sessions(settings: Settings, sessions: Iterable[Session], directive: Directive) -> list[Session]:
    """Set the directive of sessions, and return those that had another one.

    Raises NotThePerson if an agent wants to change how it is held to its plan.
    """
    check_person(settings, ACTS[directive])
    return [session for session in sessions if session.set_directive(directive)]
