"""The lists and records of the host's subagents, with a real store and a real registry of agents."""

import shutil
from pathlib import Path
from typing import Any

from tests.host.subagent_bench import Scripts, task
from tests.host.test_host import tool
from tildone.app.opening import open_agents, open_store
from tildone.app.plan_agents import plan_agents
from tildone.app.settings import Settings
from tildone.run.host import Host
from tildone.run.hosting import open_conversations, open_host
from tildone.run.kit.definition import ToolResult, text_result
from tildone.run.messages import text_of
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores import parse_address

WRITE = [("write_todos", {"mode": "replace", "todos": [{"text": "Look"}]})]


def settings_in(folder: Path) -> Settings:
    return Settings(
        parse_address(str(folder / "plans.db")), "s", str(folder), session_dir=str(folder / "c"), agents_dir=str(folder)
    )


def replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way", encoding="utf-8")


async def run(folder: Path, model: Any, *tools: Any) -> Host:
    """Run a host with a prompt until it has settled, and return it; it stays open."""
    settings = settings_in(folder)
    conversations = open_conversations(settings, str(folder))
    host = open_host(
        settings,
        open_store(settings),
        conversations.new(),
        cwd=str(folder),
        model=model,
        mode="print",
        policy=PermissionPolicy(),
        conversations=conversations,
    )
    for each in tools:
        host.add_tool(each)
    await host.start()
    await host.prompt("go")
    await host.over()
    return host


async def test_several_subagents_have_lists_of_their_own(tmp_path: Path) -> None:
    """They are shown while they work, below the plan, and as ended afterwards."""
    seen: list[Any] = []
    settings = settings_in(tmp_path)

    async def look(_params: Any, _signal: Any, _update: Any) -> ToolResult:
        seen.append(plan_agents(settings, open_store(settings)).subagents)
        return text_result("ok")

    end = [("yield", {"result": "done"})]
    model = Scripts(go=[[task("a"), task("b")]], a=[WRITE, [("look", {})], end], b=[WRITE, [("look", {})], end])

    host = await run(tmp_path, model, tool("look", look))

    assert [each.subagent.ended for each in seen[-1]] == [None, None]
    shown = plan_agents(settings, open_store(settings))
    assert sorted(each.subagent.kind for each in shown.subagents) == ["look at a", "look at b"]
    assert all(each.subagent.ended for each in shown.subagents)
    assert [text_of(result) for result in host.transcript.tool_results()] == [
        "done\n\nThe subagent's list:\n- [ ] Look"
    ] * 2
    await host.close()


async def test_a_registry_that_breaks_does_not_break_a_subagent(tmp_path: Path) -> None:
    """Its list is lost from sight, but its result is not."""

    async def destroy(_params: Any, _signal: Any, _update: Any) -> ToolResult:
        replace_by_file(Path(open_agents(settings_in(tmp_path)).folder))
        return text_result("ok")

    model = Scripts(go=[[task("a")]], a=[WRITE, [("destroy", {})], [("yield", {"result": "done"})]])

    host = await run(tmp_path, model, tool("destroy", destroy))

    [result] = host.transcript.tool_results()
    assert (text_of(result).partition("\n")[0], result.is_error) == ("done", False)
    await host.close()
