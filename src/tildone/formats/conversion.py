"""What comes of carrying a plan between its own form and those of others, and what is said of the rest.

Nothing is dropped silently: whatever has no place on the other side is remarked upon.
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
    """A sentence about what has no place, and the lines or tasks (as `unit` calls them) that it is about, if any."""

    what: str
    where: tuple[int, ...] = ()
    unit: str = "line"

    def told(self, most: int | None = None) -> str:
        """The sentence, with no more than so many numbers before it."""
        if not self.where:
            return self.what
        return f"{self.unit}{'' if len(self.where) == 1 else 's'} {_counted(self.where, most)}: {self.what}"

    def __str__(self) -> str:
        return self.told(LISTED)


@value
class ImportedPlan:
    """The plan that was found in a text of another form, and what of the text a plan has no place for."""

    plan: Plan
    said: tuple[ConversionWarning, ...] = ()


@value
class ExportedText:
    """A plan in another form, and what of the plan that form has no place for."""

    text: str
    said: tuple[ConversionWarning, ...] = ()


class WarningCollector:
    """Remarks while they are being gathered: those that say the same become one."""

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self._places: dict[str, list[int]] = {}

    def add(self, what: str, *where: int) -> None:
        """Say something, of the lines or tasks named."""
        places = self._places.setdefault(what, [])
        places += [place for place in where if place not in places[-1:]]

    def all(self) -> tuple[ConversionWarning, ...]:
        """Every remark, in the order in which the first of each was made."""
        return tuple(ConversionWarning(what, tuple(where), self._unit) for what, where in self._places.items())


def _counted(numbers: Sequence[int], most: int | None) -> str:
    """Numbers as a sentence lists them."""
    if most is not None and len(numbers) > most:
        first, last = numbers[:most], f"{len(numbers) - most} more"
    else:
        first, last = numbers[:-1], str(numbers[-1])
    return f"{', '.join(map(str, first))} and {last}" if first else last
