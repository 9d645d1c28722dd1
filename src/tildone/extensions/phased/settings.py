"""Settings of the phased extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.errors import UsageError
from tildone.value import value

CLEAR_DELAY = "tasks.todoClearDelay"
NEVER, DEFAULT_SECONDS = -1, 60


@value
class PhasedSettings:
    """Settings of the phased dialect in a host.

    Unless `enabled`, there is neither a tool nor a command. `reminders_max` limits the reminders per prompt to an agent
    that stops with open tasks. A finished task is cleared after `clear_delay` seconds: immediately if that is 0, never
    if it is negative. By default, a minute in a conversation's own list, and never in a plan that others share.
    """

    enabled: bool = True
    reminders: bool = True
    reminders_max: int = 3
    clear_delay: float | None = None

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> PhasedSettings:
        """Read settings from a mapping by their public names; other keys are ignored.

        Raises:
            UsageError: a value is of the wrong type.
        """
        default = cls()
        return cls(
            enabled=_flag(settings, "todo.enabled", default.enabled),
            reminders=_flag(settings, "todo.reminders", default.reminders),
            reminders_max=int(_number(settings, "todo.reminders.max", default.reminders_max)),
            clear_delay=_number(settings, CLEAR_DELAY, 0) if CLEAR_DELAY in settings else None,
        )

    def clear_delay_ms(self, *, shared: bool) -> int:
        """Return the delay in milliseconds."""
        default = NEVER if shared else DEFAULT_SECONDS
        return int((default if self.clear_delay is None else self.clear_delay) * 1000)


def _flag(settings: Mapping[str, Any], name: str, default: object) -> bool:
    given = settings.get(name, default)
    if isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be true or false")


def _number(settings: Mapping[str, Any], name: str, default: float) -> float:
    given = settings.get(name, default)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be a number")
