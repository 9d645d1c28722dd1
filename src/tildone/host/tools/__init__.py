"""The tools that every agent of the host has: read, write, edit and bash."""

from __future__ import annotations

from tildone.host.tools.bash import bash_tool
from tildone.host.tools.edit import edit_tool
from tildone.host.tools.files import FileLocks
from tildone.host.tools.permissions import PermissionGuard, PermissionPolicy
from tildone.host.tools.read import read_tool
from tildone.host.tools.write import write_tool
from tildone.kit.definition import ToolDefinition


def builtin_tools(policy: PermissionPolicy) -> tuple[ToolDefinition, ...]:
    """The tools under a policy; what a person allows for a conversation is remembered here."""
    guard, locks = PermissionGuard(policy), FileLocks()
    return read_tool(guard), write_tool(guard, locks), edit_tool(guard, locks), bash_tool(guard)
