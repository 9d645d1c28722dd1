"""A provider's model: streams one request at a time, which can be aborted at any moment.

Theory of operation. The library's stream can only be stopped by cancelling the task that reads it. So the request runs
in a task of its own, which puts events into a queue for `stream`. Setting the abort signal, or closing the
generator, cancels that task, which closes the connection even while it waits for the network. A marker in the queue,
put there whenever the task ends, wakes the reader; errors of the task are raised after the last event.
"""

import asyncio
import contextlib
import os
import re
from base64 import b64decode
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from difflib import get_close_matches
from http import HTTPStatus
from itertools import groupby
from typing import Any, assert_never, cast

from genai_prices import Usage as PricedUsage
from genai_prices.types import PriceCalculation
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelMessage as LibraryMessage
from pydantic_ai.models import Model as Inner
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from tildone.base import replace, value
from tildone.base.secrets import Redactor
from tildone.plan import codec
from tildone.run.events import AnswerDone, BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart, StreamEvent
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import (
    AssistantMessage,
    Block,
    Cost,
    Extra,
    ImageBlock,
    JsonObject,
    ModelMessage,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    Usage,
    UserMessage,
    arguments_of,
    tool_call,
    tool_calls,
)
from tildone.run.model import ChatRequest, Model, ModelFailure, Price, ToolSpec, cost_of
from tildone.run.turn_loop import is_json

TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


def to_model_failure(error: Exception, address: str | None = None) -> ModelFailure:
    """Return the failure for an error of the library, at a provider with this address."""
    match error:
        case ModelFailure():
            return error
        case ModelHTTPError(status_code=status):
            words = _words(error.body) or error.message
            transient = _is_transient(error) and (status in TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR)
            return ModelFailure(f"{status} {words}", transient=transient, retry_after=error.retry_after)
        case ModelConnectionError(phase="connect"):
            return ModelFailure(f"{address} cannot be reached: {_root(error)}", transient=True)
        case ModelAPIError():
            return ModelFailure(
                _words(error.body) or _root(error), transient=_is_transient(error), retry_after=error.retry_after
            )
        case UnexpectedModelBehavior():
            return ModelFailure(error.message, transient=not isinstance(error, ContentFilterError))
        case _:
            return ModelFailure(_root(error), transient=False)


def _is_transient(error: ModelAPIError) -> bool:
    return not isinstance(error, ModelQuotaExceededError | ModelRequestRejectedError)


def _root(error: BaseException) -> str:
    """Return the message of the innermost cause, which wrapping errors omit."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _words(body: object) -> str | None:
    """Return the message in the body of an error response, in any of the providers' formats."""
    match body:
        case {"error": Mapping() as inner}:
            return _words(inner)
        case {"message": str(words)} | {"error": str(words)} | {"detail": str(words)}:
            return words
        case str(words):
            return words
        case _:
            return None


KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "google": "GOOGLE_API_KEY",
    "google-gla": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
ADDRESS_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
LIST_TIMEOUT_SECONDS = 5.0
MAX_NAMES = 10


async def refusal_hint(status: int, inner: Inner, name: str) -> str:
    """Return a hint about a response with this HTTP status; empty if there is none."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        variable = KEY_VARIABLES.get(inner.system)
        return f"The key for {inner.base_url} is the value of ${variable} in the environment." if variable else ""
    if status == HTTPStatus.NOT_FOUND:
        here = f"{inner.base_url} may have no model {name!r}"
        return f"{here}; {_suggestion(name, await _known_names(inner))}. Name one with --model PROVIDER:NAME."
    return ""


def address_hint(inner: Inner) -> str:
    """Return where the address of a server that cannot be reached comes from; empty if it is the provider's own."""
    variable = ADDRESS_VARIABLES.get(inner.system, "")
    return f"The address is the value of ${variable} in the environment." if os.environ.get(variable) else ""


def _suggestion(name: str, known: Sequence[str]) -> str:
    if not known:
        return "see its list of models"
    close = get_close_matches(name, known, 3)
    listed = close or known[:MAX_NAMES]
    more = "" if close or len(known) <= MAX_NAMES else f" and {len(known) - MAX_NAMES} more"
    return f"{'similar are' if close else 'it has'} {', '.join(listed)}{more}"


async def _known_names(inner: Inner) -> list[str]:
    """Return the names of the models that the server lists; none if it does not answer."""
    names: list[str] = []
    client: Any = getattr(inner, "client", None)
    with suppress(Exception):  # the library may raise anything; the hint is only shorter without the names
        async with asyncio.timeout(LIST_TIMEOUT_SECONDS):
            async for model in client.with_options(max_retries=0).models.list():
                names.append(str(model.id))  # noqa: PERF401  what arrived before the time limit counts
    return names


REDACTED = "redacted_thinking"
"""The id of a thinking part that the provider has encrypted, in the library's messages."""


@value
class ProviderState:
    signature: str | None = None
    state: JsonObject | None = None


def state_of(part: TextPart | ThinkingPart | ToolCallPart) -> ProviderState:
    """Return the opaque data of a part."""
    fields = {name: getattr(part, name, None) for name in ("id", "signature", "provider_details")}
    state = {name: data for name, data in fields.items() if data}
    if state.keys() - {"signature"} and is_json(state):
        return ProviderState(state=state)
    signature = state.get("signature")
    return ProviderState(signature if isinstance(signature, str) else None)


def part_fields(block: TextBlock | ThinkingBlock | ToolCallBlock, *names: str) -> JsonObject | None:
    """Return the opaque data of a block as fields of a part; None if another program wrote it in its own format."""
    state = block.provider_state
    if state is None:
        if block.signature and block.signature.startswith("{"):
            return None
        state = {"signature": block.signature} if block.signature else {}
    return {name: state[name] for name in names if name in state}


STOP_REASONS = {"stop": StopReason.STOP, "length": StopReason.LENGTH, "tool_call": StopReason.TOOL_USE}


class StreamAssembler:
    """Turns the library's stream events into ours, for one answer.

    The library numbers all parts of an answer; our messages have no blocks for some of them (files, calls that the
    provider executes itself). Those are skipped, and the others are numbered again without gaps. A part that starts a
    second time, because the library recognized its type late, keeps its number.
    """

    def __init__(self) -> None:
        self._indices: list[int] = []

    def events(self, event: ModelResponseStreamEvent) -> Iterator[BlockEvent]:
        match event:
            case PartStartEvent(index=index, part=part):
                yield from self._started(index, part)
            case PartDeltaEvent(index=index, delta=delta) if index in self._indices:
                yield from _delta(self._indices.index(index), delta)
            case PartEndEvent(index=index, part=part) if index in self._indices:
                block = block_of(part)
                if block is not None:
                    yield BlockEnd(_kind(block), self._indices.index(index), block)
            case _:
                pass

    def _started(self, index: int, part: ModelResponsePart) -> Iterator[BlockEvent]:
        if block_of(part) is None:
            return
        if index not in self._indices:
            self._indices.append(index)
        at = self._indices.index(index)
        match part:
            case TextPart(content=content):
                yield BlockStart(BlockKind.TEXT, at)
                yield from _piece(BlockKind.TEXT, at, content)
            case ThinkingPart(content=content):
                yield BlockStart(BlockKind.THINKING, at)
                yield from _piece(BlockKind.THINKING, at, content)
            case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
                yield BlockStart(BlockKind.TOOL_CALL, at, call_id, name)
                yield from _piece(BlockKind.TOOL_CALL, at, arguments)


def _delta(at: int, delta: object) -> Iterator[BlockEvent]:
    match delta:
        case TextPartDelta(content_delta=content):
            yield from _piece(BlockKind.TEXT, at, content)
        case ThinkingPartDelta(content_delta=content):
            yield from _piece(BlockKind.THINKING, at, content)
        case ToolCallPartDelta(args_delta=arguments):
            yield from _piece(BlockKind.TOOL_CALL, at, arguments)


def _piece(kind: BlockKind, at: int, more: str | Extra | None) -> Iterator[BlockEvent]:
    if more:
        yield BlockDelta(kind, at, more if isinstance(more, str) else codec.dump(more))


def _kind(block: TextBlock | ThinkingBlock | ToolCallBlock) -> BlockKind:
    match block:
        case TextBlock():
            return BlockKind.TEXT
        case ThinkingBlock():
            return BlockKind.THINKING
        case ToolCallBlock():  # exhaustive
            return BlockKind.TOOL_CALL


def block_of(part: ModelResponsePart) -> TextBlock | ThinkingBlock | ToolCallBlock | None:
    """Return a part as a block of our messages; None if they have no such block."""
    match part:
        case TextPart(content=content):
            kept = state_of(part)
            return TextBlock(content, kept.signature, kept.state)
        case ThinkingPart(content=content, id=part_id, signature=signature):
            if part_id == REDACTED:
                return ThinkingBlock(content, signature, redacted=True)
            kept = state_of(part)
            return ThinkingBlock(content, kept.signature, provider_state=kept.state)
        case ToolCallPart(tool_name=name, args=arguments, tool_call_id=call_id):
            kept = state_of(part)
            call = tool_call(call_id, name, arguments or "")
            return replace(call, signature=kept.signature, provider_state=kept.state)
        case _:
            return None


def answer(response: ModelResponse, model: Model, price: Price | None = None) -> AssistantMessage:
    """Return the complete answer. Its cost is computed from `price`, else as the provider or the price list says."""
    content = tuple(block for part in response.parts if (block := block_of(part)) is not None)
    raw_reason = (response.provider_details or {}).get("finish_reason")
    usage = usage_of(response.usage)
    return AssistantMessage(
        content,
        model.api,
        model.provider,
        model.id,
        replace(usage, cost=_cost(response) if price is None else cost_of(usage, price)),
        _stop_reason(response, content, raw_reason),
        int(response.timestamp.timestamp() * 1000),
        response_id=response.provider_response_id,
        response_model=response.model_name if response.model_name != model.id else None,
        raw_stop_reason=raw_reason,
    )


def _stop_reason(response: ModelResponse, content: Sequence[Block], raw_reason: str | None) -> StopReason:
    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal")
        raise ModelFailure(f"the provider refused to answer: {refusal or raw_reason}", transient=False)
    if response.finish_reason == "error":
        raise ModelFailure(f"the provider broke the answer off: {raw_reason}", transient=True)
    if response.state != "complete" or (response.finish_reason is None and raw_reason is None):
        raise ModelFailure("the answer was cut off", transient=True)
    calls = any(isinstance(block, ToolCallBlock) for block in content)
    if calls and response.finish_reason != "length":
        return StopReason.TOOL_USE
    return STOP_REASONS.get(response.finish_reason or "stop", StopReason.STOP)


def usage_of(counted: RequestUsage) -> Usage:
    """Return the usage as pi counts it: tokens read from and written to the cache are not part of the input."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    return Usage(
        input=max(0, counted.input_tokens - read - written),
        output=counted.output_tokens,
        cache_read=read,
        cache_write=written,
        total_tokens=counted.total_tokens,
        reasoning=counted.output_reasoning_tokens or None,
    )


def _cost(response: ModelResponse) -> Cost:
    """Return the price in dollars: as billed by the provider, else from the price list, else 0."""
    cost = Cost()
    with contextlib.suppress(AssertionError, LookupError, ValueError):
        price = response.cost()
        shares = _input_shares(price, response.usage)
        cost = replace(shares, output=float(price.output_price), total=float(price.total_price))
    billed = response.usage.cost
    return cost if billed is None else replace(cost, total=float(billed))


def _input_shares(price: PriceCalculation, counted: RequestUsage) -> Cost:
    """Return the price of the input by kind of token: the price of each alone, scaled so that the sum is the total."""
    read, written = counted.cache_read_tokens, counted.cache_write_tokens
    kinds = (
        PricedUsage(input_tokens=max(0, counted.input_tokens - read - written)),
        PricedUsage(input_tokens=read, cache_read_tokens=read),
        PricedUsage(input_tokens=written, cache_write_tokens=written),
    )
    prices = [price.model_price.calc_price(usage)["input_price"] for usage in kinds]
    whole = sum(prices, Decimal(0))
    scale = price.input_price / whole if whole else Decimal(0)
    plain, cache_read, cache_write = (float(part * scale) for part in prices)
    return Cost(input=plain, cache_read=cache_read, cache_write=cache_write)


APIS_WITH_ERROR_FLAG = {"anthropic-messages", "bedrock-converse-stream"}
"""APIs whose tool results can be marked as failed. For other APIs the library would change the text."""

MAX_CALL_ID_CHARACTERS = 40
"""The length of the longest tool call id that every provider accepts."""


def parameters(request: ChatRequest) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[_tool(spec) for spec in request.tools],
        instruction_parts=[InstructionPart(content=without_lone_surrogates(request.system))] if request.system else [],
    )


def history(messages: Sequence[ModelMessage], model: Model) -> list[LibraryMessage]:
    """Return the conversation of a request. The results of one answer's calls form one message."""
    ids = _foreign_ids(messages, model)
    encoded: list[LibraryMessage] = []
    for _, group in groupby(messages, key=type):
        results = []
        for message in group:
            match message:
                case UserMessage():
                    encoded.append(ModelRequest([UserPromptPart(_user_content(message))]))
                case AssistantMessage():
                    encoded.append(_response(message, model, ids))
                case ToolResultMessage():
                    results.append(_result(message, model, ids))
                case _:
                    assert_never(message)
        if results:
            encoded.append(ModelRequest(results))
    return encoded


def without_lone_surrogates(value: Any) -> Any:
    """Replace lone surrogates: they cannot be encoded, so this and every later request would fail."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {without_lone_surrogates(key): without_lone_surrogates(item) for key, item in value.items()}
        case list():
            return [without_lone_surrogates(item) for item in value]
        case _:
            return value


def _tool(spec: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=dict(spec.parameters), strict=False
    )


def _user_content(message: UserMessage) -> str | list[UserContent]:
    match message.content:
        case str(text) | (TextBlock(text),):
            return str(without_lone_surrogates(text))
        case content:
            return [piece for block in content if (piece := _encoding_piece(block)) is not None]


def _encoding_piece(block: Block) -> str | BinaryContent | None:
    match block:
        case TextBlock(text):
            return str(without_lone_surrogates(text))
        case ImageBlock(data, mime_type):
            return BinaryContent(b64decode(data), media_type=mime_type)
        case _:
            return None


def _foreign_ids(messages: Sequence[ModelMessage], model: Model) -> dict[str, str]:
    """Map ids of other models' calls to a form that every provider accepts. The model's own ids are not changed."""
    answers = [message for message in messages if isinstance(message, AssistantMessage) and not _is_own(message, model)]
    ids = [call.id for answer in answers for call in tool_calls(answer)]
    return {call_id: re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:MAX_CALL_ID_CHARACTERS] for call_id in ids}


def _is_own(message: AssistantMessage, model: Model) -> bool:
    return (message.api, message.provider, message.model) == (model.api, model.provider, model.id)


def _result(message: ToolResultMessage, model: Model, ids: Mapping[str, str]) -> ToolReturnPart:
    pieces = [piece for block in message.content if (piece := _encoding_piece(block)) is not None]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    failed = message.is_error and model.api in APIS_WITH_ERROR_FLAG
    return ToolReturnPart(
        tool_name=message.tool_name,
        content="\n".join(texts) if len(texts) == len(pieces) else pieces,
        tool_call_id=ids.get(message.tool_call_id, message.tool_call_id),
        outcome="failed" if failed else "success",
    )


def _response(message: AssistantMessage, model: Model, ids: Mapping[str, str]) -> ModelResponse:
    provider = model.provider if _is_own(message, model) else None
    parts = [part for block in message.content if (part := _part(block, provider, ids)) is not None]
    return ModelResponse(parts, model_name=message.model, provider_name=provider)


def _part(block: Block, provider: str | None, ids: Mapping[str, str]) -> ModelResponsePart | None:
    """Return a part of an answer. If another model wrote it (`provider` is None), thinking and state are left out."""
    match block:
        case TextBlock(text):
            return TextPart(without_lone_surrogates(text), **_state(block, provider)) if text else None
        case ToolCallBlock():
            arguments = without_lone_surrogates(arguments_of(block))
            return ToolCallPart(block.name, arguments, ids.get(block.id, block.id), **_state(block, provider))
        case ThinkingBlock():
            return None if provider is None else _thinking(block, provider)
        case _:
            return None


def _thinking(block: ThinkingBlock, provider: str) -> ThinkingPart | None:
    if block.redacted:
        return ThinkingPart("", id=REDACTED, signature=block.signature, provider_name=provider)
    kept = part_fields(block, "id", "signature", "provider_details")
    return ThinkingPart(without_lone_surrogates(block.thinking), provider_name=provider, **kept) if kept else None


def _state(block: TextBlock | ToolCallBlock, provider: str | None) -> JsonObject:
    kept = part_fields(block, "id", "provider_details") if provider is not None else None
    return {"provider_name": provider, **kept} if kept else {}


APIS = {
    "AnthropicModel": "anthropic-messages",
    "BedrockConverseModel": "bedrock-converse-stream",
    "GoogleModel": "google-generative-ai",
    "MistralModel": "mistral-conversations",
    "OpenAIChatModel": "openai-completions",
    "OpenAIResponsesModel": "openai-responses",
}
"""Pi's names of the APIs that the library's classes use."""

SETTINGS = ModelSettings(
    max_retries=0,  # the host retries, and reports it
    cache=True,  # every request repeats the conversation; cached input costs a tenth
)


class ProviderModel:
    def __init__(self, inner: Inner, name: str, price: Price | None = None) -> None:
        kinds = [APIS[kind.__name__] for kind in type(inner).__mro__ if kind.__name__ in APIS]
        self.provider = inner.system
        self.api = kinds[0] if kinds else self.provider
        self.id = name
        self._inner = inner
        self._price = price
        self._settings = cast(
            "ModelSettings",
            {name: setting for name, setting in SETTINGS.items() if name not in inner.unsupported_settings},
        )
        self._connections = contextlib.AsyncExitStack()
        self._entered = False

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer. Closing the stream or setting the signal closes the connection."""
        signal = signal or AbortSignal()
        if not self._entered:
            self._entered = True
            await self._connections.enter_async_context(self._inner)
        arrived: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(request, arrived))
        reading.add_done_callback(lambda _: arrived.put_nowait(None))
        unsubscribe = signal.on_abort(reading.cancel)
        try:
            while (event := await arrived.get()) is not None:
                signal.raise_if_aborted()
                yield event
        finally:
            unsubscribe()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        signal.raise_if_aborted()
        reading.result()

    async def close(self) -> None:
        self._entered = False
        await self._connections.aclose()

    async def _read(self, request: ChatRequest, arrived: asyncio.Queue[StreamEvent | None]) -> None:
        assembler = StreamAssembler()
        try:
            messages, request_parameters = history(request.messages, self), parameters(request)
            async with model_request_stream(
                self._inner, messages, model_settings=self._settings, model_request_parameters=request_parameters
            ) as response:
                async for part_event in response:
                    for event in assembler.events(part_event):
                        arrived.put_nowait(_with_usage(event, response.usage))
                message = answer(response.get(), self, self._price)
        except Exception as error:  # the library may raise anything, which must end only this request
            raise await self._explained(error) from error
        arrived.put_nowait(AnswerDone(message))

    async def _explained(self, error: Exception) -> ModelFailure:
        """Return the failure for an error, without secrets, and with a hint for the person if there is one."""
        failure = to_model_failure(error, self._inner.base_url)
        hint = ""
        if isinstance(error, ModelHTTPError) and not failure.transient:
            hint = await refusal_hint(error.status_code, self._inner, self.id)
        elif isinstance(error, ModelConnectionError):
            hint = address_hint(self._inner)
        text = Redactor(os.environ).text(f"{failure}\n{hint}" if hint else str(failure))
        return ModelFailure(text, transient=failure.transient, retry_after=failure.retry_after)


def _with_usage(event: BlockEvent, used: RequestUsage) -> BlockEvent:
    return replace(event, usage=usage_of(used)) if used.has_values() else event
