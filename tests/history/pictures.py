"""The fixed history of the pictures in this folder and in the documentation.

`python -m tests.history.pictures` draws them again.
"""

import time
from pathlib import Path

from tests.project.source import ROOT
from tildone.plan.events import Actor, Bound, Event, Fact, Nudged, PlanChanged, Tripped
from tildone.plan.history.stats import Stats, session_stats
from tildone.plan.history.stats_lines import stats_lines
from tildone.plan.history.stats_svg import stats_svg
from tildone.plan.history.usage import TokenUse
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.text.styles import plain

MINUTE = 60_000
START = 1_794_735_780_000
SVG = ROOT / "docs" / "images" / "stats.svg"
PAGE = ROOT / "docs" / "how-to" / "go-back-in-time.md"
TEXT = {columns: Path(__file__).with_name(f"stats-{columns}.txt") for columns in (80, 40)}

TEXTS = (
    "Read the grammar and the old parser",
    "List what the old parser gets wrong",
    "Write the tokenizer",
    "Write the parser",
    "Give errors a line and a column",
    "Wire up the command line",
    'Show <script>alert("x")</script> as it is',
    "Ship it",
)


def when(at: int) -> str:
    """The time in UTC, so that the pictures are the same everywhere."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at / 1000))


def time_of_day(at: int) -> str:
    return time.strftime("%H:%M", time.gmtime(at / 1000))


class Recorder:
    """Records events at a clock that the caller moves."""

    def __init__(self, start: int = START) -> None:
        self.events: list[Event] = []
        self.at = start
        self.statuses = [Status.PENDING] * len(TEXTS)

    def record(self, fact: Fact, minutes: float = 0, actor: Actor = Actor.AGENT) -> None:
        self.at += int(minutes * MINUTE)
        parent = self.events[-1].id if self.events else None
        self.events.append(Event(f"e{len(self.events)}", parent, self.at, actor, fact))

    def mark(self, task: int, status: Status, minutes: float = 0, tasks: int = len(TEXTS)) -> None:
        self.statuses[task] = status
        self.record(PlanChanged(self.plan(tasks)), minutes)

    def plan(self, tasks: int = len(TEXTS)) -> Plan:
        rows = enumerate(zip(TEXTS, self.statuses, strict=True), 1)
        return Plan((Phase("Build", tuple(Task(text, status, number=n) for n, (text, status) in rows)[:tasks]),))


def a_day() -> list[Event]:
    """Six tasks and two more, five closed, one blocked and then started, a pause, two nudges, and let go."""
    recorder = Recorder()
    recorder.record(PlanChanged(recorder.plan(6)), actor=Actor.USER)
    for task, minutes in enumerate((6, 4, 9)):
        recorder.mark(task, Status.IN_PROGRESS, 1 if task < 2 else 6 * 60, 6)
        if task == 2:
            recorder.record(Nudged(1, 1), 3, Actor.TIMER)
        recorder.mark(task, Status.COMPLETED, minutes, 6)
    recorder.mark(3, Status.IN_PROGRESS, 1, 6)
    recorder.statuses[5] = Status.BLOCKED
    recorder.record(PlanChanged(recorder.plan()), 2, Actor.USER)
    recorder.mark(3, Status.COMPLETED, 8)
    recorder.mark(4, Status.IN_PROGRESS, 1)
    recorder.mark(4, Status.COMPLETED, 5)
    recorder.record(Nudged(1, 1), 3, Actor.TIMER)
    recorder.mark(5, Status.IN_PROGRESS, 1)
    recorder.record(Tripped(Bound.NUDGES, 20), 5, Actor.TIMER)
    return recorder.events


def stats_of_a_day() -> Stats:
    events = a_day()
    requests = [TokenUse(event.at, 12_000, 0.08) for event in events[2:9]] + [
        TokenUse(events[-1].at + 1, 1_100_000, 3.1)
    ]
    found = session_stats(events, events[-1].at + 4 * MINUTE, {"e4": "before-lunch"}, requests)
    assert found is not None
    return found


def drawn_text(columns: int) -> str:
    lines = stats_lines("grammar-parser", stats_of_a_day(), when, columns)
    return "".join(f"{plain(line)}\n" for line in lines)


def drawn_svg() -> str:
    return stats_svg("grammar-parser", stats_of_a_day(), when, time_of_day)


if __name__ == "__main__":
    SVG.write_text(drawn_svg(), encoding="utf-8")
    for columns, path in TEXT.items():
        path.write_text(drawn_text(columns), encoding="utf-8")
