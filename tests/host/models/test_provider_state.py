"""What a provider marks its own words with comes back to it, through records that only know a signature."""

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
from tildone.host.content_codec import encode_block
from tildone.host.message_codec import encode_message
from tildone.host.model import ModelFailure
from tildone.host.providers.decoding import StreamAssembler, answer, block_of
from tildone.host.providers.encoding import history, without_lone_surrogates
from tildone.host.providers.error_mapping import to_model_failure
from tildone.log import codec


def because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


class Speaker:
    """A model that is told its own words."""

    api = "openai-responses"
    provider = "openai"
    id = "gpt-5"


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
def test_marks_come_back(part: ModelResponsePart) -> None:
    """Through JSON, as a session file keeps them."""
    block = block_of(part)
    assert block is not None
    kept = codec.parse(codec.dump(encode_block(block)))
    said = messages.assistant([kept], Speaker(), messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], Speaker())

    assert told.parts == [part]
    assert isinstance(told, ModelResponse)
    assert told.provider_name == "openai"


def test_a_signature_alone_is_kept_as_pi_keeps_it() -> None:
    block = block_of(ThinkingPart("Hm", signature="c2ln"))

    assert block is not None
    assert encode_block(block) == {
        "type": "thinking",
        "thinking": "Hm",
        "thinkingSignature": "c2ln",
    }


def test_what_pi_would_take_for_its_own_stands_in_a_field_of_ours() -> None:
    """Signatures are sent on by pi as they are, and a provider would refuse ours."""
    blocks = [encode_block(block) for part in MARKED if (block := block_of(part)) is not None]

    told = [block.keys() for block in blocks if "tildone" in block]
    assert len(told) == 5
    assert not any({"textSignature", "thinkingSignature", "thoughtSignature"} & keys for keys in told)


@pytest.mark.parametrize("foreign", ['{"type":"reasoning","id":"rs_1"}', "{", '{"tildone":1}', "[1]"])
def test_marks_that_another_program_wrote_are_not_taken_for_ours(foreign: str) -> None:
    """A signature of another form would be refused; the words are still told."""
    text = messages.text("Hello") | {"textSignature": foreign}
    call = messages.tool_call("call_1", "look", {}) | {"thoughtSignature": foreign}
    said = messages.assistant([text, call], Speaker(), messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], Speaker())

    assert told.parts == [TextPart("Hello"), ToolCallPart("look", {}, "call_1")]


def test_thinking_with_marks_of_another_form_is_left_out() -> None:
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": '{"type":"reasoning"}'}
    said = messages.assistant([thought, messages.text("Yes")], Speaker(), messages.empty_usage(), "stop", 0)

    [told] = history([messages.model_message(said)], Speaker())

    assert told.parts == [TextPart("Yes")]


@pytest.mark.parametrize(("signature", "kept"), [("c2ln", "c2ln"), (None, None)])
def test_details_that_no_json_can_hold_are_let_go(signature: str | None, kept: str | None) -> None:
    part = ThinkingPart("Hm", signature=signature, provider_details={"at": datetime(2026, 1, 1, tzinfo=UTC)})

    block = block_of(part)

    assert block is not None
    assert encode_block(block).get("thinkingSignature") == kept


def test_parts_that_no_message_of_ours_has_are_passed_over_and_not_counted() -> None:
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


def test_a_part_that_begins_again_keeps_its_place() -> None:
    """A library that finds out late what a part is says so by beginning it again."""
    deltas = StreamAssembler()

    list(deltas.events(PartStartEvent(index=0, part=TextPart("<think>"))))
    told = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=0, part=ThinkingPart("Hm")))]
    after = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=1, part=TextPart("Yes")))]

    assert [delta["contentIndex"] for delta in told + after] == [0, 0, 1, 1]
    assert told[0]["type"] == "thinking_start"


def test_arguments_that_come_as_data_are_streamed_as_text() -> None:
    """Google sends them whole, and not as JSON."""
    deltas = StreamAssembler()
    call = ToolCallPart("look", {"path": "a"}, "call_1")

    told = [messages.delta(delta) for delta in deltas.events(PartStartEvent(index=0, part=call))]
    more = [
        messages.delta(delta)
        for delta in deltas.events(PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta={"lines": 3})))
    ]

    assert [delta.get("delta") for delta in told + more] == [None, '{"path":"a"}', '{"lines":3}']


def test_a_signature_that_comes_late_is_no_words() -> None:
    deltas = StreamAssembler()
    list(deltas.events(PartStartEvent(index=0, part=ThinkingPart("Hm"))))

    assert list(deltas.events(PartDeltaEvent(index=0, delta=ThinkingPartDelta(signature_delta="c2ln")))) == []


@pytest.mark.parametrize(("reason", "words"), [("error", "broke the answer off"), (None, "cut off")])
def test_an_answer_that_did_not_end_well_is_a_failure_that_may_pass(reason: FinishReason | None, words: str) -> None:
    with pytest.raises(ModelFailure, match=words) as caught:
        answer(ModelResponse([TextPart("Hel")], finish_reason=reason), Speaker())

    assert caught.value.transient


def test_what_is_free_is_not_parted() -> None:
    used = RequestUsage(input_tokens=0, output_tokens=0)
    response = ModelResponse([], usage=used, model_name="gpt-5", provider_name="openai", finish_reason="stop")

    assert encode_message(answer(response, Speaker()))["usage"]["cost"] == messages.empty_usage()["cost"]


def test_a_price_that_a_gateway_told_is_the_price() -> None:
    used = RequestUsage(input_tokens=10, output_tokens=5, cost=Decimal("0.25"))
    response = ModelResponse([], usage=used, model_name="unheard-of", provider_name="openai", finish_reason="stop")

    assert encode_message(answer(response, Speaker()))["usage"]["cost"]["total"] == 0.25


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
def test_whatever_is_raised_becomes_a_failure_with_words(error: Exception, words: str, *, transient: bool) -> None:
    made = to_model_failure(error)

    assert (str(made), made.transient) == (words, transient)


def test_only_what_cannot_be_sent_is_replaced() -> None:
    said = {"a": ["x\ud83d", {"b\udc4d": 1}], "pair": "\ud83d\udc4d", "plain": "\U0001f44d", "none": None}

    assert without_lone_surrogates(said) == {
        "a": ["x\ufffd", {"b\ufffd": 1}],
        "pair": "\U0001f44d",
        "plain": "\U0001f44d",
        "none": None,
    }
