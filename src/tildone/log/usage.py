"""What an agent has used so far in its conversation: tokens and dollars, as far as they are known, and their JSON.

The amounts are cumulative: they only grow within a conversation, and begin again at 0 if the program that counts them
is started again. What a task took is the difference of two of them, so no amount has to be estimated.
"""

from __future__ import annotations

from tildone.log.json_scanner import dump, parse
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any, TypeVar

    N = TypeVar("N", int, float)

_INFINITY = float("inf")
_NAMES = {"tokens_in": "in", "tokens_out": "out", "cost": "cost"}


@value
class AgentUsage:
    """Tokens that the model read and wrote, and their cost in US dollars; None is unknown."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens; None if none are known."""
        if self.tokens_in is None and self.tokens_out is None:
            return None
        return (self.tokens_in or 0) + (self.tokens_out or 0)

    @property
    def is_known(self) -> bool:
        """Whether any amount is known."""
        return self.tokens is not None or self.cost is not None


UNKNOWN = AgentUsage()


def added(one: AgentUsage, other: AgentUsage) -> AgentUsage:
    """Return the sum; an amount that only one of them has is that one's."""
    return AgentUsage(
        _sum(one.tokens_in, other.tokens_in), _sum(one.tokens_out, other.tokens_out), _sum(one.cost, other.cost)
    )


def since(before: AgentUsage, now: AgentUsage) -> AgentUsage:
    """Return what was used between two cumulative amounts of one agent.

    An amount that became smaller was counted from 0 again.
    """
    return AgentUsage(
        _difference(before.tokens_in, now.tokens_in),
        _difference(before.tokens_out, now.tokens_out),
        _difference(before.cost, now.cost),
    )


def usage_out(usage: AgentUsage | None) -> str:
    """Return the field `used` of an event, followed by a comma; empty if nothing is known."""
    if usage is None or not usage.is_known:
        return ""
    return f'"used":{usage_text(usage)},'


def usage_text(usage: AgentUsage) -> str:
    """Return a usage as a JSON object of the amounts that are known."""
    amounts = {short: getattr(usage, name) for name, short in _NAMES.items()}
    return dump({short: amount for short, amount in amounts.items() if amount is not None})


def usage_of_text(text: str) -> AgentUsage | None:
    """Return the usage of a JSON text; None if there is none in it."""
    try:
        return usage_in(parse(text))
    except ValueError:
        return None


def usage_in(data: object) -> AgentUsage | None:
    """Return the usage in JSON data. Amounts of another type count as unknown: they are not worth losing an event."""
    if not isinstance(data, dict):
        return None
    usage = AgentUsage(_count(data.get("in")), _count(data.get("out")), _amount(data.get("cost")))
    return usage if usage.is_known else None


def _sum(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _difference(before: N | None, now: N | None) -> N | None:
    if now is None or before is None or now < before:
        return now
    return now - before


def _count(data: Any) -> int | None:
    return data if isinstance(data, int) and not isinstance(data, bool) and data >= 0 else None


def _amount(data: Any) -> float | None:
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    return data if is_number and 0 <= data < _INFINITY else None
