"""A model whose provider has a limited rate of requests."""

import asyncio

import pytest

from tests.host.tools.test_in_a_host import Scripted
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.model import ChatRequest, LimitedModel, RetryPolicy

REQUEST = ChatRequest("", ())


async def test_a_request_waits_for_the_limit_and_says_why() -> None:
    waits, slept, told = [2000, 500, 0], list[float](), list[str | None]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    inner = Scripted()
    model = LimitedModel(inner, lambda: waits.pop(0), told.append, RetryPolicy(sleep=sleep))
    events = [event async for event in model.stream(REQUEST)]

    assert (slept, len(inner.requests), len(events)) == ([2.0, 0.5], 1, 1)
    assert told == [
        "waits for the limit of requests to script, 2.0 s",
        "waits for the limit of requests to script, 0.5 s",
        None,
    ]
    assert (model.api, model.provider, model.id) == (inner.api, inner.provider, inner.id)


async def test_a_request_that_waits_can_be_aborted() -> None:
    told: list[str | None] = []
    inner, controller = Scripted(), AbortController()
    model = LimitedModel(inner, lambda: 3_600_000, told.append)

    async def read() -> None:
        async for _ in model.stream(REQUEST, controller.signal):
            pass

    reading = asyncio.create_task(read())
    while not told:  # noqa: ASYNC110  there is no event to wait for
        await asyncio.sleep(0)
    controller.abort("interrupted")

    with pytest.raises(Aborted):
        await reading
    assert told[-1] is None
    assert inner.requests == []


async def test_without_a_limit_nothing_is_said() -> None:
    told: list[str | None] = []
    model = LimitedModel(Scripted(), lambda: 0, told.append)

    assert [event async for event in model.stream(REQUEST)]
    await model.close()
    assert told == []
