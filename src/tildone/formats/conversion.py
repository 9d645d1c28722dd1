"""Results of converting plans from and to other formats, with warnings.

Nothing is lost silently: everything that the other format cannot represent causes a warning.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan

LISTED = 3


@value
class ConversionWarning:
    """What cannot be represented, as a sentence, and the numbers of the lines or tasks (`unit`) concerned."""

    what: str
    where: tuple[int, ...] = ()
    unit: str = "line"

    def told(self, most: int | None = None) -> str:
        """The sentence, preceded by at most `most` numbers."""
        if not self.where:
            return self.what
        return f"{self.unit}{'' if len(self.where) == 1 else 's'} {_counted(self.where, most)}: {self.what}"

    def __str__(self) -> str:
        return self.told(LISTED)


@value
class ImportedPlan:
    """A plan read from another format, with warnings about what a plan cannot represent."""

    plan: Plan
    said: tuple[ConversionWarning, ...] = ()


@value
class ExportedText:
    """A plan written in another format, with warnings about what that format cannot represent."""

    text: str
    said: tuple[ConversionWarning, ...] = ()


class WarningCollector:
    """Collects warnings; equal ones become one."""

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self._places: dict[str, list[int]] = {}

    def add(self, what: str, *where: int) -> None:
        """Add a warning about these lines or tasks."""
        places = self._places.setdefault(what, [])
        places += [place for place in where if place not in places[-1:]]

    def all(self) -> tuple[ConversionWarning, ...]:
        """All warnings, in the order of their first occurrence."""
        return tuple(ConversionWarning(what, tuple(where), self._unit) for what, where in self._places.items())


def _counted(numbers: Sequence[int], most: int | None) -> str:
    """An enumeration of numbers, at most `most` of them in full."""
    if most is not None and len(numbers) > most:
        first, last = numbers[:most], f"{len(numbers) - most} more"
    else:
        first, last = numbers[:-1], str(numbers[-1])
    return f"{', '.join(map(str, first))} and {last}" if first else last
