"""The agents at work in all projects of this machine."""

import os
from pathlib import Path

from tildone.stores.agents import Agent, AgentId, AgentRegistry, active_everywhere, start_time

NOW = 1_800_000_000_000


def agent(name: str, session: str, *, started: int) -> Agent:
    return Agent(AgentId("claude", name), session, name, os.getpid(), NOW, started)


def test_the_agents_of_all_projects_are_found_without_those_that_have_ended(tmp_path: Path) -> None:
    own = start_time(os.getpid())
    here = [agent("a", "/one", started=own), agent("b", "/two", started=own), agent("s", "/two#sub:x", started=own)]
    for each in (*here, agent("c", "/two", started=own + 1)):
        AgentRegistry(str(tmp_path), each.session[:4]).save(each)

    assert sorted(active_everywhere(str(tmp_path), NOW), key=str) == sorted(here, key=str)


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert list(active_everywhere(str(tmp_path / "missing"), NOW)) == []
