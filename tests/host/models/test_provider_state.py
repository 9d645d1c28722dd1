"""Opaque provider state is sent back to the provider, through records that only have a field for a signature."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.exceptions import ContentFilterError, ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    BinaryImage,
    FilePart,
    FinishReason,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from tests.host import records as messages
from tests.host.records import SilentModel
from tildone.plan import codec
from tildone.run.codec import encode_block, encode_message
from tildone.run.model import ModelFailure
from tildone.run.providers.coding import StreamAssembler, answer, block_of, history, without_lone_surrogates
from tildone.run.providers.failures import to_model_failure


def because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


SPEAKER = SilentModel("openai-responses", "openai", "gpt-5")


MARKED: list[ModelResponsePart] = [
    TextPart("Hello", id="msg_1", provider_name="openai", provider_details={"phase": "commentary"}),
    ThinkingPart("Hm", signature="c2ln", provider_name="openai"),
    ThinkingPart("Hm", id="rs_1", signature="c2ln", provider_name="openai"),
    ThinkingPart("", id="rs_2", provider_name="openai", provider_details={"raw_content": ["Hm"]}),
    ThinkingPart("", id="redacted_thinking", signature="c2ln", provider_name="openai"),
    ToolCallPart("look", {"path": "a"}, "call_1", id="fc_1", provider_name="openai"),
    ToolCallPart("look", {}, "call_1", provider_name="openai", provider_details={"thought_signature": "c2ln"}),
]


@pytest.mark.parametrize("part", MARKED, ids=lambda part: f"{type(part).__name__} {part.id}")
def test_provider_state_survives_a_round_trip(part: ModelResponsePart) -> None:
    """It passes through JSON, as in a conversation file."""
    block = block_of(part)
    assert block is not None
    kept = codec.parse_strictly(codec.dump(encode_block(block)))
    said = messages.assistant([kept], SPEAKER, messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], SPEAKER)

    assert told.parts == [part]
    assert isinstance(told, ModelResponse)
    assert told.provider_name == "openai"


def test_a_signature_alone_is_stored_in_the_field_of_pi() -> None:
    block = block_of(ThinkingPart("Hm", signature="c2ln"))

    assert block is not None
    assert encode_block(block) == {
        "type": "thinking",
        "thinking": "Hm",
        "thinkingSignature": "c2ln",
    }


def test_other_provider_state_is_stored_in_a_field_of_our_own() -> None:
    """Pi sends signatures to the provider unchanged, which would refuse ours."""
    blocks = [encode_block(block) for part in MARKED if (block := block_of(part)) is not None]

    told = [block.keys() for block in blocks if "tildone" in block]
    assert len(told) == 5
    assert not any({"textSignature", "thinkingSignature", "thoughtSignature"} & keys for keys in told)


@pytest.mark.parametrize("foreign", ['{"type":"reasoning","id":"rs_1"}', "{", '{"tildone":1}', "[1]"])
def test_a_signature_in_the_format_of_another_program_is_not_sent(foreign: str) -> None:
    """The provider would refuse it; the text is still sent."""
    text = messages.text("Hello") | {"textSignature": foreign}
    call = messages.tool_call("call_1", "look", {}) | {"thoughtSignature": foreign}
    said = messages.assistant([text, call], SPEAKER, messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], SPEAKER)

    assert told.parts == [TextPart("Hello"), ToolCallPart("look", {}, "call_1")]


def test_thinking_with_a_foreign_signature_is_left_out() -> None:
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": '{"type":"reasoning"}'}
    said = messages.assistant([thought, messages.text("Yes")], SPEAKER, messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], SPEAKER)

    assert told.parts == [TextPart("Yes")]


@pytest.mark.parametrize(("signature", "kept"), [("c2ln", "c2ln"), (None, None)])
def test_details_that_are_not_json_are_dropped(signature: str | None, kept: str | None) -> None:
    part = ThinkingPart("Hm", signature=signature, provider_details={"at": datetime(2026, 1, 1, tzinfo=UTC)})

    block = block_of(part)

    assert block is not None
    assert encode_block(block).get("thinkingSignature") == kept


def test_unsupported_parts_are_skipped_and_not_numbered() -> None:
    drawn = FilePart(BinaryImage(b"\x89PNG", media_type="image/png"))
    events: list[Any] = [
        PartStartEvent(index=0, part=drawn),
        PartEndEvent(index=0, part=drawn),
        PartStartEvent(index=1, part=TextPart("Hel")),
        PartDeltaEvent(index=1, delta=TextPartDelta("lo")),
        PartDeltaEvent(index=0, delta=TextPartDelta("lost")),
        PartEndEvent(index=1, part=TextPart("Hello")),
    ]
    deltas = StreamAssembler()

    told = [messages.delta(delta) for event in events for delta in deltas.events(event)]

    assert told == [
        {"type": "text_start", "contentIndex": 0},
        {"type": "text_delta", "contentIndex": 0, "delta": "Hel"},
        {"type": "text_delta", "contentIndex": 0, "delta": "lo"},
        {"type": "text_end", "contentIndex": 0, "content": "Hello"},
    ]


def test_a_part_that_starts_twice_keeps_its_number() -> None:
    """The library starts a part again when it recognizes its type late."""
    deltas = StreamAssembler()

    list(deltas.events(PartStartEvent(index=0, part=TextPart("<think>"))))
    told = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=0, part=ThinkingPart("Hm")))]
    after = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=1, part=TextPart("Yes")))]

    assert [delta["contentIndex"] for delta in told + after] == [0, 0, 1, 1]
    assert told[0]["type"] == "thinking_start"


def test_arguments_that_arrive_as_data_are_streamed_as_text() -> None:
    """Google sends them as one object and not as JSON text."""
    deltas = StreamAssembler()
    call = ToolCallPart("look", {"path": "a"}, "call_1")

    told = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=0, part=call))]
    more = [
        messages.delta(delta)
        for delta in deltas.events(PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta={"lines": 3})))
    ]

    assert [delta.get("delta") for delta in told + more] == [None, '{"path":"a"}', '{"lines":3}']


def test_a_late_signature_is_not_streamed_as_text() -> None:
    deltas = StreamAssembler()
    list(deltas.events(PartStartEvent(index=0, part=ThinkingPart("Hm"))))

    assert list(deltas.events(PartDeltaEvent(index=0, delta=ThinkingPartDelta(signature_delta="c2ln")))) == []


@pytest.mark.parametrize(("reason", "words"), [("error", "broke the answer off"), (None, "cut off")])
def test_an_incomplete_answer_is_a_transient_failure(reason: FinishReason | None, words: str) -> None:
    with pytest.raises(ModelFailure, match=words) as caught:
        answer(ModelResponse([TextPart("Hel")], finish_reason=reason), SPEAKER)

    assert caught.value.transient


def test_a_price_of_zero_is_not_split() -> None:
    used = RequestUsage(input_tokens=0, output_tokens=0)
    response = ModelResponse([], usage=used, model_name="gpt-5", provider_name="openai", finish_reason="stop")

    assert encode_message(answer(response, SPEAKER))["usage"]["cost"] == messages.empty_usage()["cost"]


def test_a_price_that_the_provider_reports_is_used() -> None:
    used = RequestUsage(input_tokens=10, output_tokens=5, cost=Decimal("0.25"))
    response = ModelResponse([], usage=used, model_name="unheard-of", provider_name="openai", finish_reason="stop")

    assert encode_message(answer(response, SPEAKER))["usage"]["cost"]["total"] == 0.25


@pytest.mark.parametrize(
    ("error", "words", "transient"),
    [
        (ModelAPIError("m", "no sense"), "no sense", True),
        (because(ModelAPIError("m", "Connection error."), OSError("refused")), "refused", True),
        (ModelAPIError("m", "", body="plain words"), "plain words", True),
        (ModelAPIError("m", "", body={"detail": "elsewhere"}), "elsewhere", True),
        (UnexpectedModelBehavior("empty"), "empty", True),
        (ContentFilterError("filtered"), "filtered", False),
        (KeyError("choices"), "'choices'", False),
        (TimeoutError(), "TimeoutError", False),
    ],
)
def test_every_exception_becomes_a_failure_with_a_message(error: Exception, words: str, *, transient: bool) -> None:
    made = to_model_failure(error)

    assert (str(made), made.transient) == (words, transient)


def test_only_lone_surrogates_are_replaced() -> None:
    said = {"a": ["x\ud83d", {"b\udc4d": 1}], "pair": "\ud83d\udc4d", "plain": "\U0001f44d", "none": None}

    assert without_lone_surrogates(said) == {
        "a": ["x\ufffd", {"b\ufffd": 1}],
        "pair": "\U0001f44d",
        "plain": "\U0001f44d",
        "none": None,
    }
