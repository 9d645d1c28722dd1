"""The figures of a run: activity, time, tokens and cost; and the row that shows them."""

import pytest

from tildone.run.codec import encode_usage
from tildone.run.events import (
    AgentEnd,
    AgentStart,
    BlockDelta,
    BlockKind,
    CustomEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    PublicEvent,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.run.kit.definition import text_result
from tildone.run.messages import AssistantMessage, Cost, Usage, UserMessage
from tildone.run.metering import Activity, RunMeter
from tildone.run.subagents import SUBAGENT_USAGE
from tildone.run.turn_loop import COMPACTION_END, COMPACTION_START

EMPTY = AssistantMessage(())


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def fed(*events: PublicEvent) -> tuple[RunMeter, Clock]:
    clock = Clock()
    meter = RunMeter(clock)
    for event in events:
        meter.feed(event)
        clock.now += 2
    return meter, clock


def answer(usage: Usage) -> MessageEnd:
    return MessageEnd(AssistantMessage((), usage=usage))


def delta(text: str, kind: BlockKind = BlockKind.TEXT, usage: Usage = Usage()) -> MessageUpdate:  # noqa: B008  frozen
    return MessageUpdate(usage, BlockDelta(kind, 0, text))


def test_the_activity_follows_the_events() -> None:
    tool = ToolExecutionStart("1", "bash", {})
    steps: list[tuple[PublicEvent, Activity]] = [
        (AgentStart(), Activity.IDLE),
        (MessageStart(UserMessage("Go")), Activity.IDLE),
        (MessageStart(EMPTY), Activity.THINKING),
        (delta("hm", BlockKind.THINKING), Activity.THINKING),
        (delta("Well"), Activity.WRITING),
        (answer(Usage()), Activity.IDLE),
        (tool, Activity.RUNNING),
        (ToolExecutionStart("2", "bash", {}), Activity.RUNNING),
        (ToolExecutionEnd("1", "bash", text_result(""), is_error=False), Activity.RUNNING),
        (ToolExecutionEnd("2", "bash", text_result(""), is_error=False), Activity.IDLE),
        (RetryStart(1, 5, 100, "busy"), Activity.PAUSING),
        (AgentEnd(()), Activity.IDLE),
        (CustomEvent(COMPACTION_START, {}), Activity.COMPACTING),
        (CustomEvent(COMPACTION_END, {}), Activity.IDLE),
    ]
    meter = RunMeter()
    for event, activity in steps:
        meter.feed(event)
        assert meter.activity is activity, event


def test_the_usage_of_subagents_is_added() -> None:
    meter, _ = fed(answer(Usage(input=100, output=10)))

    for _ in range(2):
        meter.feed(CustomEvent(SUBAGENT_USAGE, {"usage": encode_usage(Usage(input=1000, output=20))}))
    meter.feed(CustomEvent(SUBAGENT_USAGE, {}))

    assert meter.figures() == ["2.1k in", "50 out"]


def test_time_is_counted_while_the_agent_works() -> None:
    meter, clock = fed(AgentStart(), MessageStart(EMPTY), AgentEnd(()))
    clock.now += 1000

    assert meter.worked_seconds == 4
    meter.feed(AgentStart())
    clock.now += 1
    assert meter.worked_seconds == 5


def test_time_is_not_counted_while_the_person_is_asked() -> None:
    meter, clock = fed(AgentStart(), MessageStart(EMPTY))
    assert (meter.seconds, meter.worked_seconds) == (2, 4)

    meter.pause()
    clock.now += 1000
    meter.resume()
    clock.now += 1

    assert (meter.seconds, meter.worked_seconds) == (1, 5)


@pytest.mark.parametrize("before", [(), (AgentStart(), AgentEnd(()))])
def test_a_question_between_runs_does_not_start_the_clock(before: tuple[PublicEvent, ...]) -> None:
    meter, clock = fed(*before)
    worked = meter.worked_seconds

    meter.pause()
    meter.resume()
    clock.now += 1000

    assert meter.worked_seconds == worked


def test_tokens_are_estimated_until_they_are_reported() -> None:
    meter, _ = fed(MessageStart(EMPTY), delta("x" * 400))
    assert meter.figures() == ["~100 out"]

    meter.feed(delta("x", usage=Usage(input=1500, output=120)))
    assert meter.figures() == ["1.5k in", "120 out"]

    meter.feed(answer(Usage(input=1000, output=130, cache_read=400, cache_write=100, total_tokens=1630)))
    assert meter.figures() == ["1.5k in", "130 out"]


def test_cost_is_shown_only_where_it_is_known() -> None:
    priced = Usage(input=10, output=5, total_tokens=15, cost=Cost(total=0.25))
    meter, _ = fed(answer(priced))
    assert meter.figures()[-1] == "$0.25"

    meter.feed(CustomEvent(COMPACTION_END, {"usage": encode_usage(priced)}))
    assert meter.figures()[-1] == "$0.50"

    meter.feed(answer(Usage(input=1, total_tokens=1)))
    assert meter.figures()[-1] == "≥ $0.50"


def test_the_summary_is_one_line() -> None:
    meter, _ = fed(AgentStart(), answer(Usage(input=1200, output=340)), AgentEnd(()))

    assert meter.summary() == "Took 4.0 s · 1.2k in · 340 out"
