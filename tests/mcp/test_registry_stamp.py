"""The stamp of the registry: it changes with every record and note, and does not exist while a change is recent."""

import os
import time
from pathlib import Path

import pytest

from tildone.agents.mcp.connections import COARSE_NS, FINE_NS, registry_stamp
from tildone.stores.agents import Agent, AgentId, AgentRegistry

pytestmark = pytest.mark.skipif(os.name == "nt", reason="on Windows, the files are read for every call")
ID = AgentId("claude", "1")


def aged(folder: str, age: int, offset: int = 1) -> None:
    """Set the time of the folder's last change: `age` nanoseconds ago, in whole milliseconds if `offset` is 0."""
    changed = (time.time_ns() - age) // 1_000_000 * 1_000_000 + offset
    os.utime(folder, ns=(changed, changed))


@pytest.fixture
def agents(tmp_path: Path) -> AgentRegistry:
    registry = AgentRegistry(str(tmp_path), "/project")
    registry.save(Agent(ID, "/project"))
    return registry


def test_a_recent_change_has_no_stamp(agents: AgentRegistry) -> None:
    """Another one could follow within the resolution of the file system's times."""
    aged(agents.folder, 0)

    assert registry_stamp(agents.folder) is None


def test_an_old_change_has_the_same_stamp_until_something_changes(agents: AgentRegistry) -> None:
    aged(agents.folder, 2 * FINE_NS)
    first, second = registry_stamp(agents.folder), registry_stamp(agents.folder)
    agents.set_note(ID, "model", "opus")
    noted = registry_stamp(agents.folder)
    aged(agents.folder, 2 * FINE_NS, offset=2)

    assert first is not None
    assert (second, noted) == (first, None)
    assert registry_stamp(agents.folder) not in (None, first)


def test_times_in_whole_units_must_be_older(agents: AgentRegistry) -> None:
    """A file system that counts in seconds gives two changes within one the same time."""
    aged(agents.folder, 2 * FINE_NS, offset=0)
    recent = registry_stamp(agents.folder)
    aged(agents.folder, 2 * COARSE_NS, offset=0)

    assert recent is None
    assert registry_stamp(agents.folder) is not None


def test_a_missing_folder_has_no_stamp(tmp_path: Path) -> None:
    assert registry_stamp(str(tmp_path / "none")) is None
