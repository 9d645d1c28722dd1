"""Integrations: everything tildone knows about the coding agents it works inside, one module for each.

A module's global `INTEGRATION` is a record (`record.py`) of the agent's facts: its hook events and the replies it
expects, its settings files, its environment variables, its own todo tools, its behaviour as an MCP client. Hooks, MCP,
install, doctor, help texts and `docs/reference/integrations.md` read these records, so adding a coding agent takes one
module here and one line below. A hook imports the one integration that it serves.
"""

from __future__ import annotations

from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.integrations.record import Integration


@value
class Known:
    """What is known of a coding agent without importing its integration.

    `conversation` is the variable with the id of the conversation in the shells that its model uses, and `marks` are
    others that are set there and nowhere else. `unmarked` says why there is none.
    """

    conversation: str = ""
    marks: tuple[str, ...] = ()
    unmarked: str = ""
    calls_hooks: bool = True


INTEGRATIONS: Registry[Integration, Known] = Registry(
    __name__,
    "INTEGRATION",
    {
        "claude": Known("CLAUDE_CODE_SESSION_ID", ("CLAUDECODE",)),
        "codex": Known("CODEX_SESSION_ID", ("CODEX_THREAD_ID", "CODEX_SANDBOX")),
        "gemini": Known("", ("GEMINI_CLI",)),
        "cursor": Known("", ("CURSOR_AGENT",)),
        "copilot": Known("COPILOT_AGENT_SESSION_ID", ("COPILOT_CLI",)),
        "qwen": Known("QWEN_CODE_SESSION_ID", ("QWEN_CODE",)),
        "opencode": Known("OPENCODE_SESSION_ID", ("OPENCODE",)),
        "pi": Known("PI_SESSION_ID", ("PI_CODING_AGENT",)),
        "zed": Known(calls_hooks=False, unmarked="its model's terminals are like those of the person"),
        "vscode": Known(calls_hooks=False, unmarked="its model's terminals are like those of the person"),
        "claude-desktop": Known(calls_hooks=False, unmarked="its model has no shell"),
    },
)


def all_integrations() -> list[Integration]:
    """Return every integration, imported, in the order of the registry."""
    return [INTEGRATIONS[name] for name in INTEGRATIONS]


def names_with_hooks() -> tuple[str, ...]:
    """Return the names of the coding agents that call hooks."""
    return tuple(name for name, known in INTEGRATIONS.entries.items() if known.calls_hooks)
