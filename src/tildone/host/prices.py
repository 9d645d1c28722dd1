"""Prices of models that the person has configured, and the cost of a request.

The prices of well-known models come from the price list of the provider library (`providers.decoding`), which is dated
by its version. A configured price takes precedence. Without either, the cost is unknown and is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tildone.host.content import Cost, Usage
from tildone.value import replace, value

TOKENS_PER_PRICE = 1_000_000


@value
class Price:
    """Dollars per million tokens. Tokens in the cache cost as much as others, unless they have a price of their own."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


def read_prices(settings: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, Price]:
    """Return the prices in the settings, by the name of the model."""
    return {name: Price(**given) for name, given in settings}


def price_of(spec: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of the model `provider:name`, which may be configured with or without the provider."""
    return prices.get(spec) or prices.get(spec.partition(":")[2])


def cost_of(usage: Usage, price: Price) -> Cost:
    """Return what a request costs, in dollars."""
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    parts = Cost(
        _dollars(usage.input, price.input),
        _dollars(usage.output, price.output),
        _dollars(usage.cache_read, cache_read),
        _dollars(usage.cache_write, cache_write),
    )
    total = sum(part or 0 for part in (parts.input, parts.output, parts.cache_read, parts.cache_write))
    return replace(parts, total=total)


def _dollars(tokens: int | None, price: float) -> float:
    return (tokens or 0) * price / TOKENS_PER_PRICE
