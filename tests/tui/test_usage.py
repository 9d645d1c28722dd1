"""What tasks took, in the list of a plan."""

from tests.plans import COMPLETED, IN_PROGRESS
from tildone.plan.events import Actor, AgentUsage, Author, Event, PlanChanged
from tildone.plan.gate import Patience
from tildone.plan.model import Status, Task, flat, numbered
from tildone.plan.text.styles import plain
from tildone.screens.widgets.plan import PlanOptions, plan_rows
from tildone.screens.widgets.prompt import DetailReader, SessionDetail
from tildone.stores.memory import MemoryStore

MINUTE = 60_000


def detail() -> SessionDetail:
    """A plan with a task that took 12 minutes, 84,000 tokens and 41 cents, and another one."""
    store = MemoryStore()
    steps: tuple[tuple[Status, AgentUsage], ...] = (
        (IN_PROGRESS, AgentUsage(1_000, 0, 0.1)),
        (COMPLETED, AgentUsage(80_000, 5_000, 0.51)),
    )
    parent = None
    for number, (status, usage) in enumerate(steps):
        plan = numbered(flat(Task("Parse", status), Task("Ship")))
        event = Event(
            f"e{number}", parent, number * 12 * MINUTE, Actor.AGENT, PlanChanged(plan), Author("", "claude:1"), usage
        )
        store.append("s", event)
        parent = event.id
    return DetailReader(store, when=str, patience=Patience()).read("s")


def shown(columns: int) -> str:
    read = detail()
    rows = plan_rows(read.plan, dict(read.times), PlanOptions(), 12 * MINUTE, columns)
    return "\n".join(plain(row.line() if callable(row.line) else row.line) for row in rows)


def test_a_task_has_its_tokens_and_its_cost_beside_its_time() -> None:
    assert "84k · $0.41 · 12m" in shown(80)
    assert [time.used for _, time in detail().times] == ["84k · $0.41", ""]


def test_a_narrow_list_has_only_the_time() -> None:
    assert "$" not in shown(50)
    assert "12m" in shown(50)
