"""The tools of every dialect, in the formats of model providers."""

import pytest

from tildone.plan.dialects import DIALECTS
from tildone.plan.dialects.arguments import anthropic_tools, openai_tools, tool_instructions
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.declared import DIALECT as DECLARED


@pytest.mark.parametrize("name", list(DIALECTS))
def test_every_tool_is_listed_with_its_schema(name: str) -> None:
    dialect = DIALECTS[name]

    assert [tool["name"] for tool in anthropic_tools(dialect)] == [tool.name for tool in dialect.tools]
    assert [tool["input_schema"] for tool in anthropic_tools(dialect)] == [tool.parameters for tool in dialect.tools]
    assert [tool["function"]["parameters"] for tool in openai_tools(dialect)] == [
        tool.parameters for tool in dialect.tools
    ]


def test_the_forms_are_those_that_the_providers_document() -> None:
    [tool] = BRIEF.tools

    assert anthropic_tools(BRIEF) == [
        {"name": "todo", "description": tool.description, "input_schema": tool.parameters},
    ]
    assert openai_tools(BRIEF) == [
        {
            "type": "function",
            "function": {"name": "todo", "description": tool.description, "parameters": tool.parameters},
        }
    ]


def test_instructions_are_the_guidelines_of_all_tools() -> None:
    [tool] = DECLARED.tools

    assert tool_instructions(DECLARED).splitlines() == list(tool.guidelines)
    assert tool_instructions(BRIEF) == ""
