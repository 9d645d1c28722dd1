"""The prompt that starts a plan, and the server's instructions: both in the dialect's words."""

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent

from tests.mcp.project import DIALECTS, MODES, Project
from tildone.plan.dialects import dialect_named

every_mode = pytest.mark.parametrize("mode", MODES)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@every_mode
@every_dialect
async def test_the_prompt_contains_the_dialects_tools_and_guidelines(project: Project, dialect: str, mode: str) -> None:
    task = "Fly to the moon\nand back"
    async with project.client(mode, dialect=dialect) as client:
        [listed] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt(listed.name, {"task": f"  {task} "})).messages

    assert listed.arguments is not None
    assert [(argument.name, argument.required) for argument in listed.arguments] == [("task", True)]
    assert isinstance(message.content, TextContent)
    assert message.role == "user"
    assert message.content.text.endswith(f"\n\nTask: {task}")
    for tool in dialect_named(dialect).tools:
        assert tool.name in message.content.text
        assert all(line in message.content.text for line in tool.guidelines)


@every_dialect
async def test_the_instructions_are_the_guidelines_each_once(project: Project, dialect: str) -> None:
    guidelines = [line for tool in dialect_named(dialect).tools for line in tool.guidelines]
    async with project.client("legacy", dialect=dialect) as client:
        instructions = client.instructions

    assert (instructions or "").splitlines() == [f"- {line}" for line in dict.fromkeys(guidelines)]


@every_mode
@pytest.mark.parametrize("given", [None, {}, {"task": ""}, {"task": " \n"}], ids=str)
async def test_a_task_is_required(project: Project, mode: str, given: dict[str, str] | None) -> None:
    async with project.client(mode) as client:
        with pytest.raises(MCPError, match="Missing argument task: what is to be done") as refused:
            await client.get_prompt("plan", given)

    assert refused.value.code == INVALID_PARAMS


async def test_an_unknown_prompt_is_refused(project: Project) -> None:
    async with project.client() as client:
        with pytest.raises(MCPError, match="Unknown prompt 'poem'; there is plan"):
            await client.get_prompt("poem", {"task": "Fly"})
