"""The skeleton alone, with a dialect that has no extension of its own."""

from typing import Any

import pytest

from tests.extensions.stage import Answer, Stage
from tildone.app.settings import Settings
from tildone.plan.dialects import DIALECTS, changed_in_details, dialect_named
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Directive
from tildone.plan.model import Plan, Status, Task
from tildone.plan.ops import Append
from tildone.run.extensions import EXTENSIONS, extension_of
from tildone.run.extensions.skeleton import LIMIT_NOTICE, PLAN_CONTEXT, STATUS, skeleton
from tildone.stores import parse_address

ADDED: Answer = {"call": ("todo", {"add": ["one", "two"]})}
STOPS: Answer = {"text": "I stop."}


async def on_stage(*script: Answer, **options: Any) -> Stage:
    stage = Stage(BRIEF, *script, **options)
    await stage.start(skeleton(BRIEF, stage.open_session))
    return stage


def plan_on(stage: Stage) -> Plan:
    return stage.open_session("conversation").plan


def texts(plan: Plan) -> list[tuple[str, Status]]:
    return [(task.text, task.status) for task in plan.tasks]


async def test_an_agent_that_stops_is_continued_until_the_plan_is_done() -> None:
    done: Answer = {"call": ("todo", {"done": [1, 2]})}
    stage = await on_stage(ADDED, STOPS, STOPS, done, {"text": "All done."})

    await stage.says("go")

    assert [task.status for task in plan_on(stage).tasks] == [Status.COMPLETED] * 2
    nudge = "Your plan is not done:\n1 one\n2 two\nGo on;"
    assert [nudge in text for text in stage.told()].count(True) == 2
    assert stage.told()[-1] == "ok, all done"
    assert stage.screen.statuses[STATUS] == "✓ Done (2 items)"


async def test_a_chain_of_nudges_ends_and_the_person_is_told() -> None:
    stage = await on_stage(ADDED)
    await stage.says("go")

    limits = [entry for entry in stage.entries if entry.get("customType") == LIMIT_NOTICE]

    assert len(limits) == 1
    assert limits[0]["content"].startswith("Auto-continue limit reached (20 iterations).")
    assert len(stage.model.requests) == 22


@pytest.mark.parametrize("reason", ["aborted", "error"])
async def test_an_agent_that_was_stopped_is_not_continued(reason: str) -> None:
    stage = await on_stage(ADDED, {"text": "", "stopReason": reason})

    await stage.says("go")

    assert len(stage.model.requests) == 2


async def test_a_paused_agent_is_not_continued() -> None:
    async def pause() -> dict[str, str]:
        stage.open_session("conversation").set_directive(Directive.PAUSE)
        return {"text": "I stop."}

    stage = await on_stage(ADDED, pause)

    await stage.says("go")

    assert len(stage.model.requests) == 2


async def test_arguments_in_another_form_are_interpreted() -> None:
    """The host interprets arguments as every other caller does."""
    stage = await on_stage({"call": ("todo", {"items": "- one\n- two"})}, {"call": ("todo", {"sing": 1})}, STOPS)
    stage.open_session("conversation").set_directive(Directive.PAUSE)

    await stage.says("go")

    assert texts(plan_on(stage)) == [("one", Status.PENDING), ("two", Status.PENDING)]
    understood, refused = stage.messages("toolResult")
    assert (understood["isError"], refused["isError"]) == (False, True)


async def test_the_plan_is_added_to_the_context_at_the_start_of_a_turn() -> None:
    """The next reply does not repeat the plan."""
    stage = await on_stage({"call": ("todo", {"start": 1})}, STOPS)
    session = stage.open_session("conversation")
    session.execute(BRIEF.tools[0], {"ops": [["add", "one"]], "hints": []})
    session.set_directive(Directive.PAUSE)

    await stage.says("go")

    [context] = [entry for entry in stage.entries if entry.get("customType") == PLAN_CONTEXT]
    assert (context["content"], context["display"]) == ("Your plan:\n1 one", False)
    assert stage.told()[-1] == "ok"


async def test_every_branch_has_its_own_plan() -> None:
    """The plan, its task numbers and the status are those of the branch."""
    stage = await on_stage(ADDED, STOPS, {"call": ("todo", {"done": 1, "add": ["three"]})}, STOPS)
    stage.open_session("conversation").set_directive(Directive.PAUSE)
    await stage.says("first")
    leaf, first = stage.host.transcript.leaf, plan_on(stage)
    await stage.says("second")
    assert stage.screen.statuses[STATUS] == "📋 1/3"

    await stage.host.turn_to(leaf)

    assert plan_on(stage).phases == first.phases
    assert stage.screen.statuses[STATUS] == "📋 0/2"
    await stage.host.turn_to(None)
    assert plan_on(stage).tasks == ()


async def test_at_another_point_of_the_conversation_every_task_is_shown_again() -> None:
    """What was shown on another branch is not on the screen."""
    stage = await on_stage(
        ADDED, STOPS, {"call": ("todo", {"done": 1})}, STOPS, {"call": ("todo", {"start": 2})}, STOPS
    )
    stage.open_session("conversation").set_directive(Directive.PAUSE)
    await stage.says("first")
    leaf = stage.host.transcript.leaf
    await stage.says("second")
    await stage.host.turn_to(leaf)
    await stage.says("third")

    results = [entry["message"]["details"] for entry in stage.entries if "details" in entry.get("message", {})]
    assert [changed_in_details(details) for details in results] == [[1, 2], [1, 2]]


async def test_a_change_made_while_the_conversation_was_closed_remains() -> None:
    stage = await on_stage(ADDED, STOPS)
    stage.open_session("conversation").set_directive(Directive.PAUSE)
    await stage.says("go")
    stage.open_session("conversation").change([Append((Task("three"),))])

    await stage.host.start("resume")

    assert [task.text for task in plan_on(stage).tasks] == ["one", "two", "three"]
    assert stage.screen.statuses[STATUS] == "📋 0/3"


async def test_a_plan_that_the_store_never_had_is_restored() -> None:
    before = await on_stage(ADDED, STOPS)
    before.open_session("conversation").set_directive(Directive.PAUSE)
    await before.says("go")

    stage = await on_stage(entries=before.entries)

    assert plan_on(stage) == plan_on(before)


@pytest.mark.parametrize("name", list(DIALECTS))
async def test_every_dialect_has_an_extension_that_offers_its_tools(name: str) -> None:
    dialect = dialect_named(name)
    stage = Stage(dialect)
    settings = Settings(store=parse_address("unused.db"), session="s", project="/nowhere")

    await stage.start(extension_of(dialect, stage.open_session, settings))

    assert list(stage.host.tools) == [tool.name for tool in dialect.tools]
    assert set(EXTENSIONS) - {"skeleton"} <= set(DIALECTS)
