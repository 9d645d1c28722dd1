"""The verbs that put the plan inside other agents."""

from __future__ import annotations

from tildone.cli.parsing.args import MANY, Option, Verb
from tildone.cli.parsing.options import JSON
from tildone.integrations import INTEGRATIONS, names_with_hooks

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
    "AGENT [EVENT]",
    "answer a hook of a coding agent: hold it to its plan",
    run="agents.hook.hook",
    least=1,
    most=2,
    about=(
        f"AGENT is {', '.join(names_with_hooks())}.\n"
        "EVENT is the coding agent's own name of the event, unless the JSON on standard input names it.\n"
        "An agent that stops with work left is told to continue, within bounds; the plan comes back after a restart;\n"
        "the model is told what others changed. Whatever goes wrong, the exit code is 0 and the agent is not held up.\n"
        "Options come after AGENT."
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
AGENTS = f"AGENT is {', '.join(INTEGRATIONS)};\nall means those that are found here."
INSTALL = Verb(
    "install",
    "[AGENT …]",
    "put the plan, the gate and the person's view into a coding agent",
    run="install.install",
    most=MANY,
    about=(
        "Adds the MCP server and the hooks to the coding agent's own settings and shows what changes. Everything\n"
        "else in the files stays as it is, and a copy is kept beside them. Without AGENT, lists the coding agents.\n"
        f"{AGENTS}"
    ),
    options=(
        SCOPE,
        DRY_RUN,
        Option("no-hooks", "", "only the tools"),
        Option("no-mcp", "", "only the hooks: the coding agent's own list is mirrored"),
        Option("as-plugin", "DIR", "claude only: write a plugin folder instead"),
    ),
    examples=("tildone install", "tildone install claude --dry-run", "tildone install codex gemini --scope project"),
)
UNINSTALL = Verb(
    "uninstall",
    "AGENT …",
    "remove the plan from a coding agent",
    run="install.uninstall",
    least=1,
    most=MANY,
    about=f"Files that nobody else has changed meanwhile get their old contents back. Plans stay.\n{AGENTS}",
    options=(SCOPE, DRY_RUN),
    examples=("tildone uninstall claude",),
)

VERBS: tuple[Verb, ...] = (INSTALL, UNINSTALL, MCP, HOOK, PAUSE, RESUME, STOP, STATUS)
