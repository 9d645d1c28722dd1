"""Settings of the phased extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.errors import UsageError
from tildone.value import value


@value
class PhasedSettings:
    """Settings of the phased dialect in a host.

    Unless `enabled`, there is neither a tool nor a command. `reminders_max` limits the reminders per prompt to an agent
    that stops with open tasks. A finished task is cleared after `clear_delay` seconds: immediately if that is 0, never
    if it is negative.
    """

    enabled: bool = True
    reminders: bool = True
    reminders_max: int = 3
    clear_delay: float = 60

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
            clear_delay=_number(settings, "tasks.todoClearDelay", default.clear_delay),
        )

    @property
    def clear_delay_ms(self) -> int:
        """The delay in milliseconds."""
        return int(self.clear_delay * 1000)


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
