"""Which secrets of a worker its agents and their commands see: a real worker, and an agent that writes down its own."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.suite.forking import PROGRAM

SECRETS = {
    "ANTHROPIC_API_KEY": "of-anthropic",
    "OPENAI_API_KEY": "of-openai",
    "GITHUB_TOKEN": "of-github",
    "DATABASE_URL": "postgresql://app:of-database@db/app",
    "SSH_AUTH_SOCK": "of-ssh",
}
CLAUDE = '#!/bin/sh\nenv > "$SEEN/claude"\nexec tildone todo done 1\n'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers run on Linux")


def test_an_agent_sees_the_secrets_of_its_own_provider_only(person: Person, tmp_path: Path) -> None:
    """And the commands of agents without a model see none."""
    seen, programs = tmp_path / "seen", tmp_path / "programs"
    (person.folder / ".git").rmdir()
    seen.mkdir()
    programs.mkdir()
    (programs / "claude").write_text(CLAUDE)
    (programs / "claude").chmod(0o755)
    path = os.pathsep.join((str(programs), str(PROGRAM.parent), os.environ["PATH"]))
    (person.folder / "model.md").write_text("- [ ] Look around\n")
    for agent in ("shell", "run"):
        (person.folder / f"{agent}.md").write_text(f"- [ ] Look around: `sh -c 'env > {seen / agent}'`\n")
    person.says("fleet", "up")
    person.says("fleet", "add", "model.md", "--agent", "claude")
    for agent in ("shell", "run"):
        person.says("fleet", "add", f"{agent}.md", "--agent", agent)

    worked = person.run("fleet", "work", "--allow", "*", "--until-idle", PATH=path, SEEN=str(seen), **SECRETS)

    assert worked.code == 0, worked
    found = {file.name: file.read_text() for file in seen.iterdir()}
    assert {name: [each for each in SECRETS.values() if each in text] for name, text in found.items()} == {
        "claude": ["of-anthropic"],
        "shell": [],
        "run": [],
    }
