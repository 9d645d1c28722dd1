"""What the screen is given by the program that starts it: the parts of a run."""

from __future__ import annotations

from typing import Protocol

from tildone.app.settings import Settings
from tildone.log.store import Store
from tildone.plan.model import Plan
from tildone.run.extension import UI
from tildone.run.host import Host
from tildone.run.transcript import Conversations, Transcript


class RunBackend(Protocol):
    """One run. It is opened in two steps, so that the screen can be drawn before the slow one."""

    store: Store
    conversations: Conversations
    transcript: Transcript
    start_reason: str
    prompt: str | None
    """What the run begins with; None, if the person says it. It is known once the run is prepared."""

    @property
    def settings(self) -> Settings:
        """The settings, with the session of the plan that the open conversation works on."""

    @property
    def title(self) -> str:
        """What that plan is called."""

    @property
    def can_ask(self) -> bool:
        """Whether the person can say what is to be done."""

    @property
    def is_prepared(self) -> bool:
        """Whether `prepare` is done."""

    @property
    def plan(self) -> Plan:
        """The newest plan."""

    def prepare(self) -> None:
        """Load the model. It takes seconds, and is called in a thread.

        Raises:
            TildoneError: the run cannot start.
        """

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with this UI, on the event loop.

        Raises:
            TildoneError: the run cannot start.
        """
