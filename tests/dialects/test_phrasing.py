"""Every dialect can be used by a program: the calls that its phrasing builds have the intended effect."""

import pytest

from tests.plans import plan_of, session_on
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.dialects import DIALECTS, dialect_named

WANTED = Plan((Phase("Build", (Task("Parse"), Task("Wire up"))),))
STATUSES = (Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED)

every_dialect = pytest.mark.parametrize("name", list(DIALECTS))


@every_dialect
@pytest.mark.parametrize("status", STATUSES)
def test_a_plan_is_written_and_a_task_is_marked(name: str, status: Status) -> None:
    dialect = dialect_named(name)
    session = session_on(dialect=dialect)
    assert dialect.phrasing is not None

    written = session.call(*dialect.phrasing.write(session.plan, WANTED, "Release"))
    marked = session.call(*dialect.phrasing.mark(session.plan, "Wire up", status, "Release"))

    assert not written.failed
    assert not marked.failed
    assert [task.text for task in session.plan.tasks] == ["Parse", "Wire up"]
    assert session.plan.tasks[1].status is status


def test_the_brief_dialect_adds_only_the_missing_tasks() -> None:
    phrasing = dialect_named("brief").phrasing
    assert phrasing is not None

    assert phrasing.write(plan_of("Parse"), WANTED, "Release") == ("todo", {"add": ["Wire up"]})
