"""Every event of every coding agent, and the reply to it, in real processes."""

from pathlib import Path

from tests.hooks.agent import WITH_HOOKS, hooks_of, new_workspace
from tests.hooks.golden import FILES, golden
from tildone.agents.integrations import HookPoint


def test_the_reply_has_the_format_of_the_coding_agent(tmp_path: Path) -> None:
    """To the byte: these are other programs' interfaces."""
    wrong = {}
    for each in map(golden, FILES):
        name = f"{each.path.parent.name} {each.path.stem}"
        out, err, after = each.run(new_workspace(tmp_path / name))
        if (out, err, after) != (each.case["stdout"], "", [tuple(task) for task in each.case.get("after", [])]):
            wrong[name] = (out, err, after)

    assert wrong == {}


def test_every_event_of_a_coding_agent_has_a_file() -> None:
    events = {(each.integration.name, each.event) for each in map(golden, FILES)}

    assert {(name, event) for name in WITH_HOOKS for event in hooks_of(WITH_HOOKS[name]).points} - events == set()


def test_every_coding_agent_is_told_to_continue_when_it_stops_with_work_left() -> None:
    told = {
        each.integration.name
        for each in map(golden, FILES)
        if hooks_of(each.integration).points.get(each.event) == HookPoint.STOP and each.case["stdout"]
    }

    assert told == set(WITH_HOOKS)
