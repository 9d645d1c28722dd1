"""What a run costs and does, from the events of its host: figures for people, and traces for OpenTelemetry.

Requests to models are traced by the semantic conventions for generative AI.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import islice
from time import monotonic

from tildone.app.settings import Settings
from tildone.app.settings_file import telemetry_config
from tildone.app.traces import MAX_EVENTS, TRACEPARENT, NewEvents, RunTraces, SpanSink, open_sink, trace_settings
from tildone.base import TildoneError, value
from tildone.base.ids import id_maker, now
from tildone.base.secrets import Redactor
from tildone.log.store import Store
from tildone.plan.events import UNKNOWN, AgentUsage, Event, PlanChanged, added, latest_state
from tildone.plan.history.spans import (
    Attribute,
    ShownText,
    SpanPlace,
    TaskSpans,
    TraceSpan,
    attempt_key,
    place_in,
    span_id,
    trace_id,
)
from tildone.plan.runs import LEASE_VARIABLE, RunFence, RunTaken, fence_in
from tildone.plan.text.amounts import dollars, duration, token_count
from tildone.run import events
from tildone.run.codec import reported_usage
from tildone.run.events import PublicEvent
from tildone.run.host import Host
from tildone.run.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultMessage,
    Usage,
    UserMessage,
    add_usage,
    blocks,
)
from tildone.run.subagents import SUBAGENT_USAGE
from tildone.run.turn_loop import COMPACTION_END, COMPACTION_START

CHARACTERS_PER_TOKEN = 4
"""For the estimate of an answer's tokens until the provider reports them."""


class Activity(Enum):
    """What happens right now."""

    IDLE = ""
    THINKING = "thinking"
    WRITING = "writing"
    RUNNING = "running"
    PAUSING = "retrying"
    COMPACTING = "summarising"


class RunMeter:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.activity = Activity.IDLE
        self._clock = clock
        self._since = clock()
        self._work_began: float | None = None
        self._worked = 0.0
        self._is_paused = False
        self._finished = Usage()
        self._current = Usage()
        self._characters = 0
        self._running: set[str] = set()
        self._unpriced = False

    def feed(self, event: PublicEvent) -> None:
        match event:
            case events.AgentStart():
                self._begin_work()
            case events.MessageStart(AssistantMessage()):
                self._change_to(Activity.THINKING)
            case events.MessageUpdate(usage, progress):
                self._current = usage
                if isinstance(progress, events.BlockDelta):
                    self._characters += len(progress.delta)
                    self.activity = (
                        Activity.THINKING if progress.kind is events.BlockKind.THINKING else Activity.WRITING
                    )
            case events.MessageEnd(AssistantMessage() as message):
                self._add(message.usage)
                self._change_to(Activity.IDLE)
            case events.ToolExecutionStart(call_id):
                self._running.add(call_id)
                self._change_to(Activity.RUNNING)
            case events.ToolExecutionEnd(call_id):
                self._running.discard(call_id)
                self._change_to(Activity.RUNNING if self._running else Activity.IDLE)
            case events.RetryStart():
                self._change_to(Activity.PAUSING)
            case events.CustomEvent(type=kind) if kind == COMPACTION_START:
                self._begin_work()
                self._change_to(Activity.COMPACTING)
            case events.CustomEvent(type=kind, fields=fields) if kind == COMPACTION_END:
                self._add(reported_usage(fields))
                self._end_work()
            case events.CustomEvent(type=kind, fields=fields) if kind == SUBAGENT_USAGE:
                self._add(reported_usage(fields))
            case events.AgentEnd():
                self._end_work()
            case _:
                pass

    def pause(self) -> None:
        """Stop the clock, because the person is asked."""
        self._is_paused = self._work_began is not None
        self._worked, self._work_began = self.worked_seconds, None

    def resume(self) -> None:
        """Start the clock again if it ran before, and measure the activity from now on."""
        if self._is_paused:
            self._begin_work()
        self._since = self._clock()

    @property
    def seconds(self) -> int:
        return int(self._clock() - self._since)

    @property
    def worked_seconds(self) -> float:
        """How long the model and its tools have worked."""
        return self._worked + (self._clock() - self._work_began if self._work_began is not None else 0)

    @property
    def usage(self) -> Usage:
        return self._finished

    def figures(self) -> list[str]:
        """Return the tokens and the cost so far, as far as they are known; an estimate is marked with `~`."""
        usage = add_usage(self._finished, self._current)
        read = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
        written, estimated = usage.output or 0, self._characters // CHARACTERS_PER_TOKEN
        reported = (self._current.output or 0) >= estimated
        shown = token_count(written if reported else (self._finished.output or 0) + estimated)
        tokens = [f"{token_count(read)} in"] if read else []
        tokens += [f"{'' if reported else '~'}{shown} out"] if written or estimated else []
        cost = usage.cost.total if usage.cost else 0
        return [*tokens, f"{'≥ ' if self._unpriced else ''}{dollars(cost)}"] if cost else tokens

    def summary(self) -> str:
        return " · ".join([f"Took {duration(self.worked_seconds)}", *self.figures()])

    def _add(self, usage: Usage | None) -> None:
        self._finished = add_usage(self._finished, usage)
        cost = usage.cost.total if usage and usage.cost else 0
        self._unpriced |= bool(usage and usage.total_tokens and not cost)
        self._current, self._characters = Usage(), 0

    def _begin_work(self) -> None:
        self._is_paused = False
        if self._work_began is None:
            self._work_began = self._clock()

    def _end_work(self) -> None:
        self._worked, self._work_began = self.worked_seconds, None
        self._is_paused = False
        self._change_to(Activity.IDLE)

    def _change_to(self, activity: Activity) -> None:
        self.activity = activity
        self._since = self._clock()


MAX_EVENTS_SEARCHED = 1000
"""How many of the newest events are searched for the usage of a conversation that is continued."""

DECIMALS = 6
"""Of an amount in dollars."""


class HostUsage:
    """The usage of the agent that `agent` returns, which changes with the host's conversation.

    `history` returns the plan's events, the newest first.
    """

    def __init__(self, host: Host, agent: Callable[[], str], history: Callable[[], Iterator[Event]]) -> None:
        self._agent = agent
        self._history = history
        self._known = ""
        self._before = UNKNOWN
        self._meter = RunMeter()
        host.listen(self._feed)

    def of(self, agent: str) -> AgentUsage | None:
        """Return what an agent has used; None if it is not the host's, or if nothing is known."""
        if agent != self._agent():
            return None
        self._follow_conversation()
        usage = added(self._before, log_usage(self._meter.usage))
        return usage if usage.is_known else None

    def _feed(self, event: PublicEvent) -> None:
        self._follow_conversation()
        self._meter.feed(event)

    def _follow_conversation(self) -> None:
        agent = self._agent()
        if agent == self._known:
            return
        self._known, self._meter = agent, RunMeter()
        found = (event.usage for event in islice(self._history(), MAX_EVENTS_SEARCHED) if event.author.agent == agent)
        self._before = next((usage for usage in found if usage is not None), UNKNOWN)


def log_usage(usage: Usage) -> AgentUsage:
    """Return the usage of requests as events have it. What is 0 is not known: every request has tokens."""
    tokens_in = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
    tokens_out = usage.output or 0
    cost = round((usage.cost.total if usage.cost else None) or 0, DECIMALS)
    # Some providers report the sum alone.
    tokens_in = max(tokens_in, (usage.total_tokens or 0) - tokens_out)
    return AgentUsage(tokens_in or None, tokens_out or None, cost or None)


Opened = tuple[SpanSink, ShownText] | None

CHAT, SUMMARY = "chat", "summary"
PROVIDERS = {
    "amazon-bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""The names of providers in the conventions, where they differ from ours."""


@value
class _Request:
    """A request that is being answered: where its span belongs, and since when."""

    place: SpanPlace
    at: int
    number: int


class ModelCalls:
    """Tells of the requests of a host. `place` returns where a request belongs that begins now."""

    def __init__(
        self, host: Host, place: Callable[[], SpanPlace], now: Callable[[], int], sink: SpanSink, shown: ShownText
    ) -> None:
        self._host, self._place, self._now, self._sink, self._shown = host, place, now, sink, shown
        self._request: _Request | None = None
        self._number = 0
        self._said: list[Message] = []

    def feed(self, event: PublicEvent) -> None:
        match event:
            case events.MessageStart(AssistantMessage()):
                self._begin()
            case events.CustomEvent(type=kind) if kind == COMPACTION_START:
                self._begin()
            case events.MessageEnd(AssistantMessage() as answer):
                self._end(CHAT, answer.usage, self._answered(answer), answer.stop_reason if answer.failed else "")
                self._said.clear()
            case events.CustomEvent(type=kind, fields=fields) if kind == COMPACTION_END:
                usage = reported_usage(fields)
                self._end(SUMMARY, usage, {}, "" if usage else "error")
            case events.MessageEnd(message) if self._shown:
                self._said.append(message)
            case _:
                pass

    def _begin(self) -> None:
        self._number += 1
        self._request = _Request(self._place(), self._now(), self._number)

    def _end(self, purpose: str, usage: Usage | None, more: dict[str, Attribute], failed: str | None) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        model, place, conversation = self._host.model, request.place, self._host.transcript.id
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": CHAT,
            "gen_ai.provider.name": PROVIDERS.get(model.provider, model.provider),
            "gen_ai.request.model": model.id,
            "gen_ai.conversation.id": conversation,
            **_tokens(usage or Usage()),
            **more,
        }
        if purpose != CHAT:
            attributes["tildone.purpose"] = purpose
        if failed:
            attributes["error.type"] = failed
        own = span_id(place.trace, conversation, request.at, request.number)
        end = max(request.at, self._now())
        name = f"{CHAT} {model.id}"
        span = TraceSpan(
            name, place.trace, own, place.parent, request.at, end, attributes, failed or "", is_client=True
        )
        self._sink.add([span])

    def _answered(self, answer: AssistantMessage) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        reason = answer.raw_stop_reason or answer.stop_reason
        if reason:
            found["gen_ai.response.finish_reasons"] = (str(reason),)
        if answer.response_model:
            found["gen_ai.response.model"] = answer.response_model
        if answer.response_id:
            found["gen_ai.response.id"] = answer.response_id
        if self._shown:
            found["gen_ai.input.messages"] = self._shown(json.dumps([_parts(each) for each in self._said]))
            found["gen_ai.output.messages"] = self._shown(json.dumps([_parts(answer)]))
        return found


def _tokens(usage: Usage) -> dict[str, Attribute]:
    """Return the tokens and the cost of a request, as far as they are known. Cached tokens are part of the input."""
    cached = {
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read or 0,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write or 0,
    }
    counts: dict[str, int | float] = {
        "gen_ai.usage.input_tokens": (usage.input or 0) + sum(cached.values()),
        "gen_ai.usage.output_tokens": usage.output or 0,
        **cached,
        "tildone.usage.cost": (usage.cost.total if usage.cost else 0) or 0,
    }
    return {name: count for name, count in counts.items() if count}


def _parts(message: Message) -> dict[str, object]:
    """Return a message in the form of the conventions."""
    match message:
        case AssistantMessage(content=content):
            return {"role": "assistant", "parts": [_part(block) for block in content]}
        case ToolResultMessage(tool_call_id=call, content=content):
            text = "".join(block.text for block in content if isinstance(block, TextBlock))
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}
        case UserMessage(content=content):
            return {"role": "user", "parts": [_part(block) for block in blocks(content)]}
        case _:
            return {"role": "system", "parts": []}


def _part(block: object) -> dict[str, object]:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "content": text}
        case ToolCallBlock(id=call, name=name, arguments=arguments):
            return {"type": "tool_call", "id": call, "name": name, "arguments": arguments}
        case _:
            return {"type": type(block).__name__}


PLAN = "tildone.plan"


@value
class TraceContext:
    """What made this process: a span of another one, and the lease of a worker; each may be missing."""

    outer: SpanPlace | None = None
    lease: RunFence | None = None

    @property
    def is_attempt(self) -> bool:
        """Whether a worker that traces has started this process, and tells of the plan and its tasks."""
        return self.outer is not None and self.lease is not None


def trace_context(environ: Mapping[str, str]) -> TraceContext:
    """Return what the environment says."""
    lease = environ.get(LEASE_VARIABLE)
    return TraceContext(place_in(environ.get(TRACEPARENT, "")), fence_in(lease) if lease else None)


class HostTraces:
    """Tells of the work of hosts on one plan: a host, and those of its subagents.

    `new_id` returns an unused id. `shown` makes texts fit to be sent; without it, none is.
    """

    def __init__(  # noqa: PLR0913  each is another source
        self,
        store: Store,
        session: str,
        sink: SpanSink,
        context: TraceContext,
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        shown: ShownText = None,
    ) -> None:
        self._sink, self._now, self._shown, self._context = sink, now, shown, context
        self._began = now()
        outer = context.outer
        trace = outer.trace if outer else trace_id("plan", new_id())
        self._place = outer if outer and context.is_attempt else SpanPlace(trace, span_id(trace, PLAN, new_id()))
        self._plan = FollowedPlan(store, session, self._place, context.lease, self._began, shown)

    def follow(self, host: Host) -> None:
        host.listen(ModelCalls(host, self._current, self._now, self._sink, self._shown).feed)

    def close(self) -> None:
        """Tell what is left: the tasks in progress, and the plan. Then send it, for a limited time."""
        self._current()
        if not self._context.is_attempt:
            end, outer = self._now(), self._context.outer
            own = TraceSpan(
                PLAN, self._place.trace, self._place.parent, outer.parent if outer else 0, self._began, end, {}
            )
            self._sink.add([*self._plan.tasks.close(end), own])
        self._sink.close()

    def _current(self) -> SpanPlace:
        """Tell of the tasks that have ended, and return where a request belongs that begins now."""
        spans = self._plan.read()
        if not self._context.is_attempt:
            self._sink.add(spans)
        return self._plan.tasks.current


class FollowedPlan:
    """The tasks of a plan from now on or, under a lease, from when it was taken."""

    def __init__(
        self, store: Store, session: str, place: SpanPlace, lease: RunFence | None, now: int, shown: ShownText
    ) -> None:
        later, before = _since_take(store, session, lease)
        taken = before[0] if lease and before else None
        at = taken.at if taken else now
        key = attempt_key(lease.hand, lease.epoch) if lease and taken else str(now)
        self.tasks = TaskSpans(place, latest_state(before).plan, at, key, shown)
        for event in reversed(later):
            self.tasks.add(event)
        head = next((event.id for event in (*later, *before)), None)
        self._events = NewEvents(store, session, head)

    def read(self) -> list[TraceSpan]:
        """Return the spans of the tasks that have ended since the last time; none if the store cannot be read now."""
        try:
            return [span for event in self._events.read() for span in self.tasks.add(event)]
        except TildoneError:
            return []


def _since_take(store: Store, session: str, lease: RunFence | None) -> tuple[list[Event], list[Event]]:
    """Return the events after a lease was taken, and those from then back to a plan, each the newest first.

    Without a lease, or if it was taken too long ago, the first list is empty.
    """
    later: list[Event] = []
    before: list[Event] = []
    try:
        for event in islice(store.history(session), MAX_EVENTS):
            fact = event.fact
            is_take = lease is None or (
                isinstance(fact, RunTaken) and RunFence(fact.run, fact.hand, fact.epoch) == lease
            )
            (before if before or is_take else later).append(event)
            if before and isinstance(event.fact, PlanChanged):
                break
    except TildoneError:
        # Then nothing is known of the tasks before.
        return [], []
    return (later, before) if before else ([], later)


def open_run_traces(
    settings: Settings, store: Store, environ: Mapping[str, str], tell: Callable[[str], None]
) -> RunTraces | None:
    """Return what tells of the runs of a worker; None if traces are off."""
    opened = _open(settings, environ, tell)
    return None if opened is None else RunTraces(store, *opened)


def open_host_traces(
    settings: Settings, store: Store, environ: Mapping[str, str], tell: Callable[[str], None]
) -> HostTraces | None:
    """Return what tells of the work of `tildone run`; None if traces are off."""
    opened = _open(settings, environ, tell)
    if opened is None:
        return None
    sink, shown = opened
    new_id = id_maker(now, os.urandom)
    return HostTraces(store, settings.session, sink, trace_context(environ), now=now, new_id=new_id, shown=shown)


def _open(settings: Settings, environ: Mapping[str, str], tell: Callable[[str], None]) -> Opened:
    chosen = trace_settings(telemetry_config(dict(settings.telemetry)), environ)
    if chosen is None:
        return None
    sink = open_sink(chosen, environ, tell)
    return None if sink is None else (sink, Redactor(environ).text if chosen.content else None)
