"""Results of converting plans from and to other formats, with warnings.

Nothing is lost silently: everything that the other format cannot represent causes a warning.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value

if TYPE_CHECKING:
    from tildone.plan.model import Plan


MAX_NUMBERS_SHOWN = 3
"""How many line or task numbers the short form of a warning lists."""


@value
class ConversionWarning:
    message: str
    numbers: tuple[int, ...] = ()
    unit: str = "line"

    def text(self, max_numbers: int | None = None) -> str:
        """Return the message, preceded by at most `max_numbers` of the numbers."""
        if not self.numbers:
            return self.message
        first, last = self.numbers[:-1], str(self.numbers[-1])
        if max_numbers is not None and len(self.numbers) > max_numbers:
            first, last = self.numbers[:max_numbers], f"{len(self.numbers) - max_numbers} more"
        listed = f"{', '.join(map(str, first))} and {last}" if first else last
        return f"{self.unit}{'' if len(self.numbers) == 1 else 's'} {listed}: {self.message}"

    def __str__(self) -> str:
        return self.text(MAX_NUMBERS_SHOWN)


@value
class ImportedPlan:
    plan: Plan
    warnings: tuple[ConversionWarning, ...] = ()
    title: str = ""


@value
class ExportedText:
    text: str
    warnings: tuple[ConversionWarning, ...] = ()


class WarningCollector:
    """Collects warnings; equal ones become one."""

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self._numbers: dict[str, list[int]] = {}

    def add(self, message: str, *numbers: int) -> None:
        known = self._numbers.setdefault(message, [])
        known += [number for number in numbers if number not in known[-1:]]

    def all(self) -> tuple[ConversionWarning, ...]:
        return tuple(
            ConversionWarning(message, tuple(numbers), self._unit) for message, numbers in self._numbers.items()
        )


JS_WHITESPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
