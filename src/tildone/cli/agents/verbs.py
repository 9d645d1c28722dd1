"""The verbs that put the plan inside other agents."""

from __future__ import annotations

from tildone.cli.parsing.args import MANY, Option, Verb
from tildone.cli.parsing.options import JSON

MCP = Verb(
    "mcp",
    "",
    "serve the plan over the Model Context Protocol",
    run="agents.mcp.mcp",
    about=(
        "Agents start it themselves and speak with it on standard input and output; with --http it waits for them.\n"
        "Each agent works on its own plan: the first in a project on the project's, any other on one of its own,\n"
        "unless --session names one for all. Over HTTP a client names it by the header Tildone-Session."
    ),
    options=(
        Option("dialect", "NAME", "the tools that models are given: brief, indexed, phased or declared (brief)"),
        Option("http", "", "serve over HTTP, many agents at once"),
        Option("host", "HOST", "where to listen (127.0.0.1)"),
        Option("port", "N", "on which port (8633); 0 is any that is free"),
        Option("token-file", "FILE", "the token that clients must show; else $TILDONE_TOKEN, else one is made"),
        Option("no-token", "", "ask for no token; on this machine only"),
    ),
    examples=("tildone mcp", "tildone mcp --http --port 8633"),
)

HOOK = Verb(
    "hook",
    "HOST [EVENT]",
    "answer a hook of an agent's host: hold the agent to its plan",
    run="agents.hook.hook",
    least=1,
    most=2,
    about=(
        "HOST is claude, codex, gemini, cursor, copilot, qwen, opencode or pi; EVENT is what the host calls it,\n"
        "unless the JSON on standard input says so. An agent that stops with work left is told to go on, within\n"
        "bounds; the plan comes back after a restart; what others changed is told. Whatever goes wrong, the exit code\n"
        "is 0 and the agent is not held up. Options stand after the host."
    ),
    examples=(
        "tildone hook claude < event.json",
        "tildone hook cursor stop < event.json",
        "tildone hook claude StatusLine < status.json",
    ),
)
PAUSE = Verb(
    "pause",
    "",
    "let the agents here rest at the end of their turn",
    run="agents.pause.pause",
    about="Those at work in this project, and any that comes; with --session, those at work on that plan.",
    examples=("tildone pause",),
)
RESUME = Verb(
    "resume",
    "",
    "hold the agents here to their plan again",
    run="agents.pause.resume",
    about="After pause or stop, or after a bound was reached. Every count begins anew.",
    examples=("tildone resume",),
)
STOP = Verb(
    "stop",
    "",
    "have the agents here end their turn before the next tool call",
    run="agents.pause.stop",
    about="They end none of their turns by force, and start none until tildone resume: a prompt does not undo it.",
    examples=("tildone stop",),
)
STATUS = Verb(
    "status",
    "",
    "show the plan in a line, and who is at work on it",
    run="agents.status.status",
    options=(Option("line", "", "nothing but the line, for a status bar"), JSON),
    examples=("tildone status", "tildone status --line"),
)

SCOPE = Option("scope", "SCOPE", "user (all your projects) or project (this one, in files to share)")
DRY_RUN = Option("dry-run", "", "show what would change, and write nothing")
HOSTS = (
    "Hosts: claude, codex, gemini, cursor, copilot, qwen, opencode, pi, zed, vscode, claude-desktop; all means\n"
    "those that are found here."
)
INSTALL = Verb(
    "install",
    "[HOST …]",
    "put the plan, the gate and the person's view into an agent",
    run="install.install",
    most=MANY,
    about=(
        "Adds the tool server and the hooks to the host's own settings and shows what changes. All else in the\n"
        "files stays as it is, and a copy is kept beside. Without HOST, says which hosts there are.\n"
        f"{HOSTS}"
    ),
    options=(
        SCOPE,
        DRY_RUN,
        Option("no-hooks", "", "only the tools"),
        Option("no-mcp", "", "only the hooks: the agent's own list is mirrored"),
        Option("as-plugin", "DIR", "claude only: write a plugin folder instead"),
    ),
    examples=("tildone install", "tildone install claude --dry-run", "tildone install codex gemini --scope project"),
)
UNINSTALL = Verb(
    "uninstall",
    "HOST …",
    "take the plan out of an agent again",
    run="install.uninstall",
    least=1,
    most=MANY,
    about=f"Where nobody else changed them meanwhile, the files are as they were before. Plans stay.\n{HOSTS}",
    options=(SCOPE, DRY_RUN),
    examples=("tildone uninstall claude",),
)

VERBS: tuple[Verb, ...] = (INSTALL, UNINSTALL, MCP, HOOK, PAUSE, RESUME, STOP, STATUS)
