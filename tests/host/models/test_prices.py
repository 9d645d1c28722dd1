"""Prices that the person has configured."""

import pytest

from tests.host.models.scripted_model import CHAT, open_scripted, stream_records
from tildone.run.messages import Cost, Usage
from tildone.run.model import Price, cost_of, price_of, read_prices
from tildone.run.providers import open_model


@pytest.mark.parametrize(
    ("price", "total"),
    [
        (Price(2.0, 10.0), 2.0 + 10.0 + 2.0 + 2.0),
        (Price(2.0, 10.0, cache_read=0.2, cache_write=2.5), 2.0 + 10.0 + 0.2 + 2.5),
        (Price(0, 0), 0),
    ],
)
def test_the_cost_of_a_request(price: Price, total: float) -> None:
    million = 1_000_000

    assert cost_of(Usage(million, million, million, million), price).total == pytest.approx(total)


def test_missing_numbers_cost_nothing() -> None:
    assert cost_of(Usage(None, None, None, None), Price(1, 1)) == Cost(total=0)


@pytest.mark.parametrize(("name", "found"), [("openai-chat:qwen3", True), ("qwen3", True), ("ollama:qwen3", False)])
def test_a_price_is_found_with_or_without_the_provider(name: str, *, found: bool) -> None:
    prices = read_prices([(name, {"input": 1, "output": 2.5})])

    assert price_of("openai-chat:qwen3", prices) == (Price(1, 2.5) if found else None)


async def test_a_configured_price_takes_precedence() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    async with open_scripted(CHAT, {"text": "Hi", "usage": usage, "model": "gpt-5"}) as (listed, server):
        del server
        by_list = (await stream_records(listed))[-1]["message"]["usage"]["cost"]
    async with open_scripted(CHAT, {"text": "Hi", "usage": usage, "model": "gpt-5"}):
        model = open_model(CHAT, {"gpt-5": Price(1000, 10000)})
        by_price = (await stream_records(model))[-1]["message"]["usage"]["cost"]
        await model.close()

    assert by_price["total"] == pytest.approx(2.0)
    assert by_list["total"] != by_price["total"]
