"""A registry of agents in a folder of its own."""

from pathlib import Path

import pytest

from tests.agents.facts import PROJECT
from tildone.stores.agents import AgentRegistry


@pytest.fixture
def agents(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(str(tmp_path), PROJECT)
