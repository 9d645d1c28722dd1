"""Constants for the tests of agents: a project, a time, two running processes and a few agents."""

import os

from tildone.base.ids import now
from tildone.stores.agents import AgentId

PROJECT = "/projects/parser"
NOW = now()
HERE, PARENT = os.getpid(), os.getppid()
CLAUDE_A, CLAUDE_B = AgentId("claude", "a"), AgentId("claude", "b")
CODEX_A, CODEX_B = AgentId("codex", "a"), AgentId("codex", "b")
