"""Every request of a host is told: those of its subagents, and those that summarise the conversation."""

from pathlib import Path
from typing import Any, cast

from tests.host.subagent_bench import Scripts, task
from tests.telemetry.test_following import Kept
from tests.test_subagent_wiring import settings_in
from tildone.app.opening import open_store
from tildone.app.traces import SpanSink
from tildone.base.ids import now
from tildone.plan.history.spans import SpanPlace, TraceSpan
from tildone.run.events import MessageEnd, MessageStart
from tildone.run.host import Host
from tildone.run.hosting import open_conversations, open_host
from tildone.run.messages import AssistantMessage, Cost, StopReason, Usage
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.traces import HostTraces, ModelCalls, TraceContext

PLACE = SpanPlace(7, 70)


async def traced(folder: Path, model: Any) -> tuple[Host, list[TraceSpan], HostTraces]:
    """A host that has worked on a prompt."""
    settings = settings_in(folder)
    conversations, store, kept = open_conversations(settings, str(folder)), open_store(settings), Kept()
    traces = HostTraces(store, "s", cast("SpanSink", kept), TraceContext(), now=now, new_id=lambda: "id")
    host = open_host(
        settings,
        store,
        conversations.new(),
        cwd=str(folder),
        model=model,
        mode="print",
        policy=PermissionPolicy(),
        conversations=conversations,
        opened=traces.follow,
    )
    await host.start()
    await host.prompt("go")
    await host.over()
    return host, kept.spans, traces


async def test_the_requests_of_subagents_are_told_too(tmp_path: Path) -> None:
    model = Scripts(go=[[task("a")]], a=[[("yield", {"result": "done"})]])

    host, spans, traces = await traced(tmp_path, model)
    traces.close()

    calls = [span for span in spans if span.is_client]
    conversations = [span.attributes["gen_ai.conversation.id"] for span in calls]
    assert len(calls) == 3
    assert len(set(conversations)) == 2
    assert conversations.count(host.transcript.id) == 2
    assert len({span.id for span in calls}) == 3
    assert [span.name for span in spans[3:]] == ["tildone.plan"]
    assert {span.parent for span in calls} == {spans[-1].id}


async def test_a_summary_of_the_conversation_is_a_request(tmp_path: Path) -> None:
    host, spans, _ = await traced(tmp_path, Scripts(go=[]))
    before = len(spans)

    await host.compact("")

    [summary] = spans[before:]
    assert summary.is_client
    assert summary.attributes["tildone.purpose"] == "summary"


def calls_of(host: Host) -> tuple[ModelCalls, list[TraceSpan]]:
    kept, times = Kept(), iter(range(100, 1000, 50))
    return ModelCalls(host, lambda: PLACE, lambda: next(times), cast("SpanSink", kept), None), kept.spans


async def test_tokens_from_the_cache_are_part_of_the_input(tmp_path: Path) -> None:
    host, _, _ = await traced(tmp_path, Scripts(go=[]))
    calls, spans = calls_of(host)
    usage = Usage(10, 5, 100, 20, cost=Cost(total=0.5))
    answer = AssistantMessage((), usage=usage, stop_reason=StopReason.LENGTH, response_model="big", response_id="r1")

    calls.feed(MessageEnd(answer))
    assert spans == []
    calls.feed(MessageStart(answer))
    calls.feed(MessageEnd(answer))

    [span] = spans
    assert (span.trace, span.parent, span.start, span.end, span.error) == (7, 70, 100, 150, "")
    attributes = {name: text for name, text in span.attributes.items() if "usage" in name or "response" in name}
    assert attributes == {
        "gen_ai.usage.input_tokens": 130,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_creation.input_tokens": 20,
        "tildone.usage.cost": 0.5,
        "gen_ai.response.finish_reasons": ("length",),
        "gen_ai.response.model": "big",
        "gen_ai.response.id": "r1",
    }
