"""Settings of the phased extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.errors import UsageError
from tildone.value import value


@value
class PhasedSettings:
    """How the phases behave in a host.

    Without `enabled` there is neither a tool nor a command. `reminders_max` is how often an agent that stops with
    something left is told so after one prompt. A finished task goes after `clear_delay` seconds; 0 means as soon as
    may be, less than 0 never.
    """

    enabled: bool = True
    reminders: bool = True
    reminders_max: int = 3
    clear_delay: float = 60

    @classmethod
    def from_mapping(cls, said: Mapping[str, Any]) -> PhasedSettings:
        """Read settings from a mapping by their public names; other keys are ignored.

        Raises:
            UsageError: a value is of the wrong type.
        """
        usual = cls()
        return cls(
            enabled=_flag(said, "todo.enabled", usual.enabled),
            reminders=_flag(said, "todo.reminders", usual.reminders),
            reminders_max=int(_number(said, "todo.reminders.max", usual.reminders_max)),
            clear_delay=_number(said, "tasks.todoClearDelay", usual.clear_delay),
        )

    @property
    def clear_delay_ms(self) -> int:
        """The delay in milliseconds."""
        return int(self.clear_delay * 1000)


def _flag(said: Mapping[str, Any], name: str, usual: object) -> bool:
    given = said.get(name, usual)
    if isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be true or false")


def _number(said: Mapping[str, Any], name: str, usual: float) -> float:
    given = said.get(name, usual)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be a number")
