"""Codex: `codex exec`, with our tools and hooks as `-c` options, which override its settings files."""

from tildone.agents.install.toml import value_text
from tildone.fleet.agent_reports import codex_report
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment, settings_of
from tildone.plan.runs import LEASE_VARIABLE

OF_SERVER = ("TILDONE_", "XDG_", "PG")
"""How the variables begin that say which store and which plan are meant."""


def launch(context: AgentContext) -> AgentLaunch:
    """Return how Codex is started.

    It cannot be limited to some commands. Unless the worker allows all of them, they run in the sandbox of Codex, which
    lets them write to the working folder only, and use no network.
    """
    ours, environ = settings_of(context, "codex"), agent_environment(context, ("openai",))
    server = ours["mcp_servers"]["tildone"]
    # The first request waits for the tools.
    server |= {"required": True, "default_tools_approval_mode": "approve"}
    # Codex gives a server no variables but some common ones and those that are named.
    server["env_vars"] = sorted({name for name in environ if name.startswith(OF_SERVER)} | {LEASE_VARIABLE})
    sandbox = "danger-full-access" if context.allows_anything else "workspace-write"
    arguments = ["codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", sandbox]
    # A project that nobody has trusted has no hooks of its own, so only ours and those of the person are meant.
    arguments.append("--dangerously-bypass-hook-trust")
    for table, members in ours.items():
        for name, entry in members.items():
            arguments += ["-c", f"{table}.{name}={value_text(entry)}"]
    arguments += ["-c", 'approval_policy="never"', *context.model_option]
    return AgentLaunch((*arguments, "--", context.prompt), environ, report=codex_report)
