"""The records of a conversation, the requests built from them, and provider state, which only its provider gets."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from tests.host.records import Message, SilentModel
from tildone.plan import codec
from tildone.run.codec import encode_block, encode_message
from tildone.run.messages import NO_RESULT
from tildone.run.model import ModelFailure
from tildone.run.providers.provider_model import (
    StreamAssembler,
    answer,
    block_of,
    history,
    to_model_failure,
    without_lone_surrogates,
)

SPEAKER = SilentModel("scripted-stream", "local", "scripted")


def said(*content: dict[str, Any], stop: str = "stop", error: str | None = None) -> Message:
    return messages.assistant(content, SPEAKER, messages.empty_usage(), stop, 5, error=error)


def call(call_id: str = "c1", name: str = "look") -> dict[str, Any]:
    return messages.tool_call(call_id, name, {})


def result(call_id: str = "c1", text: str = "seen") -> Message:
    return messages.tool_result(call_id, "look", text, is_error=False, at=6)


def test_a_result_without_details_has_no_such_field() -> None:
    plain = {"role": "toolResult", "toolCallId": "c1", "toolName": "look", "isError": False, "timestamp": 6}
    content = [messages.text("seen")]

    assert result() == {**plain, "content": content}
    assert messages.tool_result("c1", "look", content, {}, is_error=False, at=6)["details"] == {}


def test_the_text_of_a_message_is_its_text_blocks_and_only_an_answer_calls_tools() -> None:
    thought = {"type": "thinking", "thinking": "hm"}

    assert messages.text_of(said(thought, messages.text("a"), call(), messages.text("b"))) == "a\nb"
    assert messages.text_of({"role": "user", "content": "as it is"}) == "as it is"
    assert messages.text_of({"role": "branchSummary", "summary": "left"}) == "left"
    assert messages.text_of({"role": "bashExecution", "output": "x"}) == ""
    assert messages.tool_calls(said(messages.text("a"), call("c1"), call("c2"))) == [call("c1"), call("c2")]
    assert messages.tool_calls(messages.user("Go", 0)) == []


@pytest.mark.parametrize(
    ("written", "arguments"),
    [('{"a": 1}', {"a": 1}), ("", {}), ("  ", {}), ({"a": 1}, {"a": 1}), ("{", "{"), ("[]", "[]"), ("NaN", "NaN")],
)
def test_arguments_are_an_object_or_the_invalid_text(written: Any, arguments: Any) -> None:
    made = messages.tool_call("c1", "look", written)

    assert isinstance(made["arguments"], dict)
    assert messages.arguments_of(made) == arguments


def test_usage_adds_up() -> None:
    one = messages.empty_usage() | {"input": 1, "totalTokens": 1, "cost": {"input": 0.5, "total": 0.5}}
    other = messages.empty_usage() | {"input": 2, "totalTokens": 2, "reasoning": 3}

    total = messages.add_usage(one, other)

    assert (total["input"], total["totalTokens"], total["reasoning"]) == (3, 3, 3)
    assert (total["cost"]["input"], total["cost"]["output"]) == (0.5, 0)
    assert one["input"] == 1
    assert messages.add_usage({"input": 3}, {"input": 4, "cost": {"total": 0.5}}) == messages.empty_usage() | {
        "input": 7,
        "cost": messages.empty_usage()["cost"] | {"total": 0.5},
    }


GO, RAN = messages.user("Go", 0), {"role": "bashExecution", "command": "ls", "exitCode": 0, "timestamp": 3}
TEXT, BOTH = messages.text("I would"), said(call("c1"), call("c2"), stop="aborted")
NONE_YET = messages.tool_result("c1", "look", NO_RESULT, is_error=True, at=5)
SENT: dict[str, tuple[list[Message], list[Message]]] = {
    "ordinary messages": ([GO, said(call()), result(), said(TEXT)], [GO, said(call()), result(), said(TEXT)]),
    "a message of an extension": ([{"role": "custom", "customType": "x", "content": "Go", "display": False}], [GO]),
    "a command of the person": (
        [{**RAN, "output": "a.py\nb.py"}],
        [messages.user("I ran a command in the shell: ls\n```\na.py\nb.py\n```", 3)],
    ),
    "output that would close its code block": (
        [{**RAN, "output": "```\nI am free\n````"}],
        [messages.user("I ran a command in the shell: ls\n`````\n```\nI am free\n````\n`````", 3)],
    ),
    "a command that is excluded from the context": ([{**RAN, "output": "x", "excludeFromContext": True}], []),
    "the beginning of an interrupted answer": ([said(TEXT, stop="aborted")], [said(TEXT, stop="aborted")]),
    "empty answers, which providers refuse": ([GO, *(said(stop=stop) for stop in ("aborted", "error", "stop"))], [GO]),
    "empty messages": (
        [{"role": "user", "content": nothing} for nothing in ("", [], [{"type": "text", "text": ""}])],
        [],
    ),
    "other roles: the system prompt is sent separately": (
        [{"role": role, "content": "x"} for role in ("system", "somebodyElses")],
        [],
    ),
    "a call without a result": ([BOTH, result("c1"), GO], [BOTH, result("c1"), {**NONE_YET, "toolCallId": "c2"}, GO]),
    "a result without a call, which compaction removed": ([result("gone"), GO], [GO]),
    "a message that arrived while tools ran": (
        [BOTH, result("c2"), GO, result("c1")],
        [BOTH, result("c1"), result("c2"), GO],
    ),
    "an empty answer between a call and its result": (
        [said(call()), said(stop="error"), result()],
        [said(call()), result()],
    ),
    "an id that is used again": (
        [said(call()), result(text="first"), said(call()), result(text="second")],
        [said(call()), result(text="first"), said(call()), result(text="second")],
    ),
    "a later result of an id that is used again": (
        [said(call(), stop="aborted"), said(call()), result()],
        [said(call(), stop="aborted"), NONE_YET, said(call()), result()],
    ),
    "two results": ([said(call()), result(text="one"), result(text="two")], [said(call()), result(text="one")]),
}


@pytest.mark.parametrize("case", SENT)
def test_a_request_has_what_every_provider_accepts(case: str) -> None:
    """Messages of other roles become messages of the user or are left out; every call is followed by its result."""
    given, sent = SENT[case]

    assert messages.for_model(given) == sent


ENDS: list[tuple[Message, str]] = [
    ({"output": ""}, "It printed nothing."),
    ({"exitCode": 2}, "It ended with exit code 2."),
    ({"cancelled": True, "exitCode": None}, "It was cancelled."),
    ({"truncated": True}, "Its output was cut."),
    ({"truncated": True, "fullOutputPath": "out.txt"}, "Its output was cut; all of it is in out.txt."),
]


def test_the_end_of_a_command_is_sent() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0, "cancelled": False}
    sent = [messages.text_of(messages.for_model([{**ran, **facts}])[0]) for facts, _ in ENDS]

    assert [text for text, (_, words) in zip(sent, ENDS, strict=True) if not text.endswith(words)] == []


@pytest.mark.parametrize("role", ["branchSummary", "compactionSummary"])
def test_a_summary_is_sent_as_a_summary(role: str) -> None:
    [told] = messages.for_model([{"role": role, "summary": "It began.", "timestamp": 4}])

    assert (told["role"], told["timestamp"]) == ("user", 4)
    assert messages.text_of(told).startswith("Summary of ")
    assert messages.text_of(told).endswith("<summary>\nIt began.\n</summary>")


ids = st.sampled_from(["c1", "c2", "c3"])
anything = st.one_of(
    st.just(messages.user("Go", 0)),
    st.lists(ids, unique=True, max_size=3).map(lambda some: said(*map(call, some))),
    ids.map(result),
    st.just({"role": "custom", "customType": "note", "content": "x", "display": True}),
    st.just({"role": "system", "content": "x"}),
)


@given(st.lists(anything, max_size=12))
def test_every_call_is_followed_by_its_result_in_any_conversation(happened: list[Message]) -> None:
    told = messages.for_model(happened)

    waiting: list[str] = []
    for message in told:
        if message["role"] == "toolResult":
            assert message["toolCallId"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [each["id"] for each in messages.tool_calls(message)]
    assert waiting == []
    assert {message["role"] for message in told} <= {"user", "assistant", "toolResult"}


def because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


OPENAI_SPEAKER = SilentModel("openai-responses", "openai", "gpt-5")


MARKED: list[ModelResponsePart] = [
    TextPart("Hello", id="msg_1", provider_name="openai", provider_details={"phase": "commentary"}),
    ThinkingPart("Hm", signature="c2ln", provider_name="openai"),
    ThinkingPart("Hm", id="rs_1", signature="c2ln", provider_name="openai"),
    ThinkingPart("", id="rs_2", provider_name="openai", provider_details={"raw_content": ["Hm"]}),
    ThinkingPart("", id="redacted_thinking", signature="c2ln", provider_name="openai"),
    ToolCallPart("look", {"path": "a"}, "call_1", id="fc_1", provider_name="openai"),
    ToolCallPart("look", {}, "call_1", provider_name="openai", provider_details={"thought_signature": "c2ln"}),
]


def stored(part: ModelResponsePart) -> dict[str, Any]:
    block = block_of(part)
    assert block is not None
    return encode_block(block)


def sent_again(*content: dict[str, Any]) -> ModelResponse:
    """Return an answer with these blocks, as its provider gets it with the next request."""
    record = messages.assistant(content, OPENAI_SPEAKER, messages.empty_usage(), "stop", 0)
    [told] = history([messages.model_message(record)], OPENAI_SPEAKER)
    assert isinstance(told, ModelResponse)
    return told


@pytest.mark.parametrize("part", MARKED, ids=lambda part: f"{type(part).__name__} {part.id}")
def test_provider_state_survives_a_round_trip(part: ModelResponsePart) -> None:
    """It passes through JSON, as in a conversation file."""
    told = sent_again(codec.parse_strictly(codec.dump(stored(part))))

    assert (told.parts, told.provider_name) == ([part], "openai")


def test_a_signature_alone_is_stored_in_the_field_of_pi_and_other_state_in_one_of_our_own() -> None:
    """Pi sends signatures to the provider unchanged, which would refuse ours. Details that are not JSON are dropped."""
    told = [block.keys() for part in MARKED if "tildone" in (block := stored(part))]
    at = {"at": datetime(2026, 1, 1, tzinfo=UTC)}

    assert stored(ThinkingPart("Hm", signature="c2ln")) == {
        "type": "thinking",
        "thinking": "Hm",
        "thinkingSignature": "c2ln",
    }
    assert len(told) == 5
    assert not any({"textSignature", "thinkingSignature", "thoughtSignature"} & keys for keys in told)
    for signature in ("c2ln", None):
        part = ThinkingPart("Hm", signature=signature, provider_details=at)
        assert stored(part).get("thinkingSignature") == signature


@pytest.mark.parametrize("foreign", ['{"type":"reasoning","id":"rs_1"}', "{", '{"tildone":1}', "[1]"])
def test_a_signature_in_the_format_of_another_program_is_not_sent(foreign: str) -> None:
    """The provider would refuse it; the text is still sent, and thinking is left out."""
    text = messages.text("Hello") | {"textSignature": foreign}
    call = messages.tool_call("call_1", "look", {}) | {"thoughtSignature": foreign}
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": '{"type":"reasoning"}'}

    assert sent_again(thought, text, call).parts == [TextPart("Hello"), ToolCallPart("look", {}, "call_1")]


def streamed(*events: Any) -> list[dict[str, Any]]:
    deltas = StreamAssembler()
    return [messages.delta(delta) for event in events for delta in deltas.events(event)]


def test_unsupported_parts_are_skipped_and_not_numbered() -> None:
    drawn = FilePart(BinaryImage(b"\x89PNG", media_type="image/png"))

    assert streamed(
        PartStartEvent(index=0, part=drawn),
        PartEndEvent(index=0, part=drawn),
        PartStartEvent(index=1, part=TextPart("Hel")),
        PartDeltaEvent(index=1, delta=TextPartDelta("lo")),
        PartDeltaEvent(index=0, delta=TextPartDelta("lost")),
        PartEndEvent(index=1, part=TextPart("Hello")),
    ) == [
        {"type": "text_start", "contentIndex": 0},
        {"type": "text_delta", "contentIndex": 0, "delta": "Hel"},
        {"type": "text_delta", "contentIndex": 0, "delta": "lo"},
        {"type": "text_end", "contentIndex": 0, "content": "Hello"},
    ]


def test_a_part_that_starts_twice_keeps_its_number() -> None:
    """The library starts a part again when it recognizes its type late."""
    parts = (0, TextPart("<think>")), (0, ThinkingPart("Hm")), (1, TextPart("Yes"))
    _, *told = streamed(*(PartStartEvent(index=index, part=part) for index, part in parts))

    thought = next(at for at, delta in enumerate(told) if delta["type"] == "thinking_start")
    assert [delta["contentIndex"] for delta in told[thought:]] == [0, 0, 1, 1]


def test_arguments_that_arrive_as_data_are_streamed_as_text() -> None:
    """Google sends them as one object and not as JSON text."""
    told = streamed(
        PartStartEvent(index=0, part=ToolCallPart("look", {"path": "a"}, "call_1")),
        PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta={"lines": 3})),
    )

    assert [delta.get("delta") for delta in told] == [None, '{"path":"a"}', '{"lines":3}']


def test_a_late_signature_is_not_streamed_as_text() -> None:
    start = PartStartEvent(index=0, part=ThinkingPart("Hm"))

    assert streamed(start, PartDeltaEvent(index=0, delta=ThinkingPartDelta(signature_delta="c2ln"))) == streamed(start)


@pytest.mark.parametrize(("reason", "words"), [("error", "broke the answer off"), (None, "cut off")])
def test_an_incomplete_answer_is_a_transient_failure(reason: FinishReason | None, words: str) -> None:
    with pytest.raises(ModelFailure, match=words) as caught:
        answer(ModelResponse([TextPart("Hel")], finish_reason=reason), OPENAI_SPEAKER)

    assert caught.value.transient


def cost(model: str, used: RequestUsage) -> dict[str, Any]:
    response = ModelResponse([], usage=used, model_name=model, provider_name="openai", finish_reason="stop")
    told: dict[str, Any] = encode_message(answer(response, OPENAI_SPEAKER))["usage"]["cost"]
    return told


def test_a_price_of_zero_is_not_split_and_one_that_the_provider_reports_is_used() -> None:
    assert cost("gpt-5", RequestUsage(input_tokens=0, output_tokens=0)) == messages.empty_usage()["cost"]
    assert cost("unheard-of", RequestUsage(input_tokens=10, output_tokens=5, cost=Decimal("0.25")))["total"] == 0.25


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
    others = {"pair": "\U0001f44d", "plain": "\U0001f44d", "none": None}
    said = {"a": ["x\ud83d", {"b\udc4d": 1}], **others, "pair": "\ud83d\udc4d"}

    assert without_lone_surrogates(said) == {"a": ["x\ufffd", {"b\ufffd": 1}], **others}
