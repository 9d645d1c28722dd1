"""The built-in tools of the host: read, write, edit and bash."""

from __future__ import annotations

from tildone.run.kit.definition import ToolDefinition
from tildone.run.tools.bash import bash_tool
from tildone.run.tools.edit import edit_tool
from tildone.run.tools.files import FileLocks
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy, PlanOf
from tildone.run.tools.read import read_tool
from tildone.run.tools.write import write_tool


def builtin_tools(policy: PermissionPolicy, plan_of: PlanOf | None = None) -> tuple[ToolDefinition, ...]:
    """Return the tools under a policy. They share one guard, which remembers what the person has allowed.

    With `plan_of`, the person may allow all commands of the plan at once.
    """
    guard, locks = PermissionGuard(policy, plan_of), FileLocks()
    return read_tool(guard), write_tool(guard, locks), edit_tool(guard, locks), bash_tool(guard)
