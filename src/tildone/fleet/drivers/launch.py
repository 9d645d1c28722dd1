"""What a driver is given to start an agent for a run, and what it returns."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ANYTHING = "*"
"""The pattern that allows every command."""


@value
class AgentContext:
    """An agent to be started for a run.

    It works in `folder` on the plan `session` of the store at the address `store`, and begins with `prompt`. Without a
    `model`, its own default is used. `allow` are the patterns of the commands that it may run, and `ask` of those for
    which it may ask persons. `environ` is the environment of the worker.
    """

    folder: str
    store: str
    session: str
    prompt: str
    model: str
    allow: tuple[str, ...]
    environ: Mapping[str, str]
    ask: tuple[str, ...] = ()

    @property
    def allows_anything(self) -> bool:
        """Whether the worker allows every command."""
        return ANYTHING in self.allow


@value
class AgentLaunch:
    """How an agent is started: its command line, and its whole environment, to which the lease is added.

    One that `stops_early` ends at its first stop, also if tasks are open.
    """

    arguments: tuple[str, ...]
    environ: Mapping[str, str]
    stops_early: bool = False


if TYPE_CHECKING:
    Driver = Callable[[AgentContext], AgentLaunch]
