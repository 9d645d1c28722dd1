"""The built-in tools of the host: read, write, edit and bash."""

from __future__ import annotations

from tildone.host.tools.bash import bash_tool
from tildone.host.tools.edit import edit_tool
from tildone.host.tools.files import FileLocks
from tildone.host.tools.permissions import PermissionGuard, PermissionPolicy
from tildone.host.tools.read import read_tool
from tildone.host.tools.write import write_tool
from tildone.kit.definition import ToolDefinition


def builtin_tools(policy: PermissionPolicy) -> tuple[ToolDefinition, ...]:
    """Return the tools under a policy. They share one guard, which remembers what the person has allowed."""
    guard, locks = PermissionGuard(policy), FileLocks()
    return read_tool(guard), write_tool(guard, locks), edit_tool(guard, locks), bash_tool(guard)
