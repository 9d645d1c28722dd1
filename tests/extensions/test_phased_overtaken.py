"""A conversation is opened after its plan was changed in the store."""

from tests.extensions.stage import Stage
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.run.extensions.phased import phases

INIT = {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["one"]}]}]})}


async def test_changes_in_the_store_while_closed_remain_and_are_reported() -> None:
    """The model reads the change with the next prompt."""
    stage = Stage(PHASED, INIT, {"text": "ok", "stopReason": "aborted"}, {"text": "ok", "stopReason": "aborted"})
    await stage.start(phases(stage.open_session))
    await stage.says("go")
    stage.open_session("conversation").change([Append((Task("two"),), "A")])

    await stage.host.start("resume")
    await stage.says("go on")

    assert [task.text for task in stage.open_session("conversation").plan.tasks] == ["one", "two"]
    assert any("- [ ] two" in text for text in stage.told())
