"""Failures that are transient or not, requests that are retried, aborts that take effect at once, and prices."""

import asyncio
import os
import socket
import threading

import pytest

from tests.host import records as messages
from tests.host.models.model_server import Turn
from tests.host.models.scripted_model import (
    ANTHROPIC,
    CHAT,
    answer_record,
    both_formats,
    chat_request,
    open_scripted,
    stream_records,
)
from tildone.run.host import Host
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.messages import Cost, Usage
from tildone.run.model import Model, ModelFailure, Price, RetryPolicy, cost_of, price_of, read_prices
from tildone.run.providers import open_model
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

SOON = 5.0
"""Seconds, and fewer than the server holds an answer for."""


@both_formats
@pytest.mark.parametrize(
    ("statuses", "transient"),
    [((408, 429, 500, 502, 503, 504, 529), True), ((400, 401, 403, 404, 413, 422), False)],
    ids=["temporary", "permanent"],
)
async def test_temporary_errors_are_transient(spec: str, statuses: tuple[int, ...], *, transient: bool) -> None:
    async with open_scripted(spec, *({"error": status, "message": "no"} for status in statuses)) as (model, server):
        failures = [await failure(model) for _ in statuses]

    assert [str(each).splitlines()[0] for each in failures] == [f"{status} no" for status in statuses]
    assert [each.transient for each in failures] == [transient] * len(statuses)
    assert len(server.requests) == len(statuses), "asking again is for whoever asked"


@pytest.mark.parametrize(("spec", "variable"), [(CHAT, "OPENAI_API_KEY"), (ANTHROPIC, "ANTHROPIC_API_KEY")])
async def test_a_refused_key_is_traced_to_its_variable(spec: str, variable: str) -> None:
    async with open_scripted(spec, {"error": 401, "message": "no such key"}) as (model, server):
        failed = await failure(model)

    first, hint = str(failed).splitlines()
    assert first == "401 no such key"
    assert hint.startswith(f"The key for {server.url}")
    assert hint.endswith(f" is the value of ${variable} in the environment.")


@both_formats
async def test_keys_in_an_error_are_redacted(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some providers repeat the key that they refuse."""
    monkeypatch.setenv("GROQ_API_KEY", "value-of-another-key")
    said = f"Incorrect API key provided: sk-proj-{'aB3' * 10}; value-of-another-key."
    async with open_scripted(spec, {"error": 401, "message": said}, {"error": 500, "message": said}) as (model, _):
        failures = [await failure(model) for _ in range(2)]

    assert [str(each).splitlines()[0] for each in failures] == [
        "401 Incorrect API key provided: [redacted]; [redacted].",
        "500 Incorrect API key provided: [redacted]; [redacted].",
    ]
    assert [each.transient for each in failures] == [False, True]


@both_formats
async def test_an_unknown_model_is_named_with_those_that_the_server_has(spec: str) -> None:
    name, said = spec.partition(":")[2], list[str]()
    for models in ([f"{name}-2", "other"], [f"other-{number}" for number in range(12)], None):
        async with open_scripted(spec, {"error": 404, "message": "no such model"}) as (model, server):
            server.models = models
            said.append(str(await failure(model)))

    similar, listed, unlisted = said
    assert f"may have no model {name!r}; similar are {name}-2. Name one with --model" in similar
    assert "; it has other-0, other-1, " in listed
    assert "other-9 and 2 more. Name one" in listed
    assert "; see its list of models. Name one with --model PROVIDER:NAME." in unlisted


@both_formats
async def test_a_rate_limited_request_is_retried_after_the_delay(spec: str) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    turns: list[Turn] = [{"error": 429, "retry_after": 7}, {"error": 500}, {"text": "Here"}]
    async with open_scripted(spec, *turns) as (model, server):
        transcript = Transcript(header("s", ".", 0), now=lambda: 0, new_id=lambda: os.urandom(4).hex())
        host = Host(model=model, transcript=transcript, cwd=".", now=lambda: 0, retry=RetryPolicy(sleep=sleep))
        await host.prompt("Where?")
        await host.settled()

    assert messages.text_of(messages.said_in(transcript)[-1]) == "Here"
    assert (pauses, len(server.requests)) == ([7, 4], 3)


@both_formats
async def test_a_broken_connection_is_a_transient_failure(spec: str) -> None:
    cuts = [0, 1, 3]
    async with open_scripted(spec, *({"text": "one two three", "cut": after} for after in cuts)) as (model, _):
        failures = [await failure(model) for _ in cuts]

    assert all(each.transient for each in failures)


async def test_an_unreachable_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as deaf:  # bound, so that nobody else gets the port, and not listening
        deaf.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1/"
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        model = open_model(CHAT)

        failed = await failure(model)

        await model.close()
    assert str(failed).startswith(f"{address} cannot be reached: ")
    assert str(failed).endswith("\nThe address is the value of $OPENAI_BASE_URL in the environment.")
    assert failed.transient


OVERLOADED: Turn = {"text": "one two", "breaks": "overloaded_error"}
FAILED: list[tuple[str, Turn, str, bool]] = [
    # Its status is that of a rate limit, but waiting does not help.
    (CHAT, {"error": 429, "kind": "insufficient_quota", "message": "pay first"}, "pay first", False),
    *((spec, OVERLOADED, "overloaded", True) for spec in (CHAT, ANTHROPIC)),
    (CHAT, {"text": "I", "ends": "content_filter"}, "refused", False),
    (ANTHROPIC, {"text": "I", "ends": "refusal"}, "refused", False),
    # Anthropic always sends a stop reason; a stream without one was cut off.
    (ANTHROPIC, {"text": "I", "ends": None}, "cut off", True),
]


@pytest.mark.parametrize(("spec", "turn", "words", "transient"), FAILED)
async def test_a_failure_says_why_and_whether_waiting_helps(
    spec: str, turn: Turn, words: str, *, transient: bool
) -> None:
    async with open_scripted(spec, turn) as (model, _):
        failed = await failure(model)

    assert words in str(failed)
    assert failed.transient is transient


async def test_a_message_that_cannot_be_encoded_is_a_model_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception while a request is built ends the request and not the host."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    model = open_model(CHAT)

    damaged = {"type": "image", "data": "abc", "mimeType": "image/png"}

    with pytest.raises(ModelFailure, match="padding") as caught:
        await stream_records(model, chat_request({"role": "user", "content": [damaged]}))

    assert not caught.value.transient
    await model.close()


@both_formats
async def test_an_abort_in_mid_stream_closes_the_connection(spec: str) -> None:
    """It does not wait for the next event."""
    controller = AbortController()
    async with open_scripted(spec, {"text": "one two", "hold": {CHAT: 2, ANTHROPIC: 3}[spec]}) as (model, server):
        stream = model.stream(chat_request(), controller.signal)
        assert [messages.delta(await anext(stream)).get("delta") for _ in range(2)] == [None, "one"]
        assert await happened(server.held)

        controller.abort("enough")

        with pytest.raises(Aborted, match="enough"):
            await asyncio.wait_for(anext(stream), SOON)
        assert await happened(server.requests[0].left)


@both_formats
@pytest.mark.parametrize("is_abort", [True, False])
async def test_a_request_that_is_aborted_or_cancelled_closes_its_connection(spec: str, *, is_abort: bool) -> None:
    """Before the first word, or in the middle of the answer."""
    controller = AbortController()
    async with open_scripted(spec, {"text": "one two three", "hold": 0 if is_abort else 3}) as (model, server):
        asked = asyncio.create_task(stream_records(model, signal=controller.signal))
        assert await happened(server.held)

        (controller.abort if is_abort else asked.cancel)()

        with pytest.raises(Aborted if is_abort else asyncio.CancelledError):
            await asyncio.wait_for(asked, SOON)
        assert await happened(server.requests[0].left)


@both_formats
async def test_a_stream_that_is_closed_closes_its_connection(spec: str) -> None:
    async with open_scripted(spec, {"text": "one two three", "hold": 3}) as (model, server):
        stream = model.stream(chat_request())
        await anext(stream)
        assert await happened(server.held)

        await stream.aclose()

        assert await happened(server.requests[0].left)


async def test_a_model_can_be_used_after_an_abort() -> None:
    """With a signal that is aborted, no request is sent."""
    controller = AbortController()
    async with open_scripted(CHAT, {"text": "one two three", "hold": 3}, {"text": "Hello"}) as (model, server):
        stream = model.stream(chat_request(), controller.signal)
        await anext(stream)
        assert await happened(server.held)
        controller.abort()
        with pytest.raises(Aborted):
            [_ async for _ in stream]
        with pytest.raises(Aborted):
            await stream_records(model, signal=controller.signal)
        assert len(server.requests) == 1

        assert messages.text_of(await answer_record(model)) == "Hello"


async def failure(model: Model) -> ModelFailure:
    """Return the failure of a request."""
    with pytest.raises(ModelFailure) as caught:
        await stream_records(model)
    return caught.value


async def happened(event: threading.Event) -> bool:
    """Wait for an event of the server; return False after a timeout."""
    return await asyncio.to_thread(event.wait, SOON)


def busy(retry_after: float | None = None) -> ModelFailure:
    return ModelFailure("busy", transient=True, retry_after=retry_after)


def test_a_transient_failure_is_retried_three_times() -> None:
    """The first request does not count, as in pi; other failures are not retried."""
    policy = RetryPolicy()

    assert [policy.allows(busy(), attempt) for attempt in (1, 3, 4)] == [True, True, False]
    assert not policy.allows(ModelFailure("no", transient=False), 1)


DELAYS = {(1, None): 2, (2, None): 4, (9, None): 60, (1, 0): 0, (1, 30): 30, (3, 1): 1, (1, 3600): 60}


def test_the_delay_is_at_most_a_minute_and_jitter_applies_only_to_our_own() -> None:
    jittery = RetryPolicy(jitter=lambda delay: delay * 1.5)

    assert {(attempt, after): RetryPolicy().delay(attempt, busy(after)) for attempt, after in DELAYS} == DELAYS
    assert {(attempt, after): jittery.delay(attempt, busy(after)) for attempt, after in DELAYS} == {
        (attempt, after): delay * 1.5 if after is None else delay for (attempt, after), delay in DELAYS.items()
    }


async def test_an_abort_ends_the_pause() -> None:
    controller = AbortController()

    async def sleep(_: float) -> None:
        asyncio.get_running_loop().call_soon(controller.abort, "enough")
        await asyncio.Event().wait()

    assert not await asyncio.wait_for(RetryPolicy(sleep=sleep).pause(60, controller.signal), 5)


async def test_a_pause_returns_whether_it_was_complete() -> None:
    async def fail(_: float) -> None:
        raise OSError("no clock")

    controller = AbortController()
    policy = RetryPolicy(sleep=lambda _seconds: asyncio.sleep(0))

    assert await policy.pause(2, controller.signal)
    assert await policy.pause(2)
    with pytest.raises(OSError, match="no clock"):
        await RetryPolicy(sleep=fail).pause(2)
    controller.abort()
    assert not await policy.pause(2, controller.signal)


async def test_a_cancelled_pause_cancels_its_sleep() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    pause = asyncio.create_task(RetryPolicy(sleep=sleep).pause(2))
    await started.wait()
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause

    await asyncio.wait_for(ended.wait(), 5)


def test_the_cost_of_a_request() -> None:
    """Tokens of the cache have prices of their own, if given; missing numbers cost nothing."""
    million = 1_000_000
    totals = {
        Price(2.0, 10.0): 2.0 + 10.0 + 2.0 + 2.0,
        Price(2.0, 10.0, cache_read=0.2, cache_write=2.5): 2.0 + 10.0 + 0.2 + 2.5,
        Price(0, 0): 0,
    }

    assert {
        price: cost_of(Usage(million, million, million, million), price).total for price in totals
    } == pytest.approx(totals)
    assert cost_of(Usage(None, None, None, None), Price(1, 1)) == Cost(total=0)


def test_a_price_is_found_with_or_without_the_provider() -> None:
    found = {
        name: price_of("openai-chat:qwen3", read_prices([(name, {"input": 1, "output": 2.5})]))
        for name in ("openai-chat:qwen3", "qwen3", "ollama:qwen3")
    }

    assert found == {"openai-chat:qwen3": Price(1, 2.5), "qwen3": Price(1, 2.5), "ollama:qwen3": None}


async def test_a_configured_price_takes_precedence() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    async with open_scripted(CHAT, {"text": "Hi", "usage": usage, "model": "gpt-5", "repeat": True}) as (listed, _):
        priced = open_model(CHAT, {"gpt-5": Price(1000, 10000)})
        by_list, by_price = [(await answer_record(model))["usage"]["cost"]["total"] for model in (listed, priced)]
        await priced.close()

    assert by_price == pytest.approx(2.0)
    assert by_list != by_price
