"""Every dialect can be used by a program: the calls that its phrasing builds have the intended effect."""

import pytest

from tests.plans import session_on
from tildone.plan.dialects import DIALECTS, dialect_named
from tildone.plan.events import Actor
from tildone.plan.model import Phase, Rules, Status, Task
from tildone.plan.ops import Write

PHASES = (Phase("Build", (Task("Parse"), Task("Wire up"))), Phase("Ship", (Task("Tag"),)))
STATUSES = (Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED)


@pytest.mark.parametrize("name", list(DIALECTS))
@pytest.mark.parametrize("status", STATUSES)
def test_a_task_of_an_existing_plan_is_marked(name: str, status: Status) -> None:
    dialect = dialect_named(name)
    session = session_on(dialect=dialect)
    session.change((Write(PHASES),), Actor.IMPORT, Rules())
    assert dialect.phrasing is not None

    marked = session.call(*dialect.phrasing.mark(session.plan, 1, status))

    assert not marked.failed
    assert [task.text for task in session.plan.tasks] == ["Parse", "Wire up", "Tag"]
    assert session.plan.tasks[1].status is status
    assert [phase.name for phase in session.plan.phases] == ["Build", "Ship"]
