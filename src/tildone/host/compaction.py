"""Compaction: the model summarises the conversation, and the summary replaces it in later requests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from tildone.host.content import TextBlock, Usage
from tildone.host.content_codec import encode_usage
from tildone.host.entries import CompactionEntry
from tildone.host.events import CustomEvent, EntryAppended, PublicEvent
from tildone.host.messages import AssistantMessage, UserMessage, text_of
from tildone.host.model import ChatRequest, Model, ModelFailure
from tildone.host.model_context import model_messages
from tildone.host.stream_events import AnswerDone
from tildone.host.transcript import Transcript
from tildone.host.wire import JsonObject
from tildone.kit.signal import AbortSignal

COMPACTION_START, COMPACTION_END = "compaction_start", "compaction_end"
"""The types of the events around a compaction, as pi names them. The second has the `usage` of the request."""

SYSTEM = "You summarise conversations between a person and a coding agent, for the agent that continues the work."
INSTRUCTION = """\
Summarise the conversation so far. The summary replaces it: keep everything that is needed to continue the work, and \
nothing else. State what the person wants and has decided, what was done and found out, which files and commands \
matter (with exact names), which errors occurred and what solved them, and what is to be done next. Leave out the list \
of tasks: it is kept elsewhere. Answer with the summary alone."""


async def compact(
    model: Model,
    transcript: Transcript,
    now: Callable[[], int],
    publish: Callable[[PublicEvent], None],
    signal: AbortSignal,
    plan_text: str,
) -> None:
    """Let the model summarise the conversation, and continue from the summary and the text of the plan.

    Raises:
        ModelFailure: there is no summary; the conversation is unchanged.
        Aborted: the signal was set; the conversation is unchanged.
    """
    publish(CustomEvent(COMPACTION_START, {}))
    fields: JsonObject = {}
    try:
        answer = await _summary(model, transcript, now(), signal)
        usage = answer.usage or Usage()
        fields = {"usage": encode_usage(usage)}
        text = text_of(answer).strip()
        if answer.failed or not text:
            raise ModelFailure("the model wrote no summary", transient=False)
        summary = f"{text}\n\n{plan_text}" if plan_text else text
        before = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
        entry = transcript.append(CompactionEntry(summary, None, before))
        publish(EntryAppended(entry))
    finally:
        publish(CustomEvent(COMPACTION_END, fields))


async def _summary(model: Model, transcript: Transcript, at: int, signal: AbortSignal) -> AssistantMessage:
    request = ChatRequest(
        SYSTEM,
        [
            *model_messages(transcript.messages()),
            UserMessage((TextBlock(INSTRUCTION),), at),
        ],
    )
    answer: AssistantMessage | None = None
    async with contextlib.aclosing(model.stream(request, signal)) as stream:
        async for event in stream:
            if isinstance(event, AnswerDone):
                answer = event.message
    if answer is None:
        raise ModelFailure("the model's answer ended before it was complete", transient=True)
    return answer
