"""The facts about a coding agent, as types that every integration fills in.

A hook imports this module at every event of every agent, so it imports nothing that takes time itself: settings files
are described by a function (`Integration.configure`) that is given everything it needs to build edits.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import Enum
    from typing import Any, Literal

    from tildone.integrations.settings.installation import Installation
    from tildone.integrations.settings.site import Site

    Template = Mapping[str, Any]
    Field = Literal[
        "background_tasks",
        "conversation",
        "cost",
        "cwd",
        "event",
        "last_message",
        "permission_mode",
        "prompt",
        "reason",
        "scheduled_tasks",
        "source",
        "stop_hook_active",
        "stop_status",
        "subagent",
        "task_id",
        "task_subject",
        "tool",
        "tool_input",
        "tool_response",
        "trigger",
    ]
else:

    class Enum:
        """Stands in for `enum.Enum` at run time, because importing `enum` takes longer than a silent hook."""

        def __init_subclass__(cls) -> None:
            for name, spelling in [*vars(cls).items()]:
                if name.isupper():
                    member = object.__new__(cls)
                    member.name, member.value = name, spelling
                    setattr(cls, name, member)

        def __repr__(self) -> str:
            return f"{type(self).__name__}.{self.name}"


TEXT, EVENT = "<text>", "<event>"
"""Placeholders in a reply template: our text, and the agent's own name of the event."""


class HookPoint(Enum):
    """A point in an agent's work at which it calls a hook, whatever it calls the event."""

    STOP = "stop"
    SESSION_START = "session_start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    COMPACTION = "compaction"
    SESSION_END = "session_end"
    MESSAGE = "message"
    TASK_CREATED = "task_created"
    TASK_COMPLETED = "task_completed"
    STATUS_LINE = "status_line"
    OFFER_TOOLS = "offer_tools"
    CALL_TOOL = "call_tool"


class ReplyKind(Enum):
    """What a hook's reply asks of the agent."""

    CONTINUE = "continue"
    ADD_CONTEXT = "add_context"
    HALT = "halt"
    NOTIFY = "notify"


class TaskAction(Enum):
    """What a native tool for single tasks does."""

    CREATE = "create"
    UPDATE = "update"
    LIST = "list"


@value
class Hooks:
    """How a coding agent calls hooks and what it expects on their standard output.

    `points` maps the agent's event names to ours; events it does not list are answered with silence. `fields` maps our
    field names to where they are in the JSON on standard input: `a.b` is `b` inside `a`, and of several paths
    separated by spaces the first one present counts.

    Replies are templates of the JSON to print: `continue_reply` keeps an agent going that has stopped,
    `context_replies` add text to what the model reads, `halt_replies` end its turn, `notice_reply` is for the person.

    The quirks: `compaction_trigger` is the only trigger at which the agent really compacts, if it announces others;
    `cumulative_messages` says that its last message repeats all messages since the person's prompt;
    `shares_process` says that one process runs several conversations.
    """

    points: Mapping[str, HookPoint]
    fields: Mapping[Field, str]
    continue_reply: Template
    context_replies: Mapping[HookPoint, Template]
    halt_replies: Mapping[HookPoint, Template]
    notice_reply: Template | None = None
    conversation_variable: str = ""
    project_variable: str = ""
    compaction_trigger: str = ""
    cumulative_messages: bool = False
    shares_process: bool = False


@value
class McpClient:
    """How a coding agent behaves as an MCP client.

    `names` are the prefixes, in lower case, of the name it gives in `initialize`. Its conversation's id is in the
    server's environment (`conversation_variable`) or in the `_meta` of every call (`conversation_meta`, first key
    present); where it tells neither, `process_variable` may hold its PID. `text_only` clients hide the text of a result
    from the model when the result has structured content, so they get none.
    """

    names: tuple[str, ...] = ()
    conversation_variable: str = ""
    conversation_meta: tuple[str, ...] = ()
    process_variable: str = ""
    text_only: bool = False


@value
class Integration:
    """One coding agent.

    It is taken to be installed when `folder` exists or `executable` is on the PATH. `configure` adds the edits of its
    settings files to an installation; `after_install` is what remains for the person to do. `plugin`, where the agent
    has plugins, adds the files of a plugin folder and returns the command that loads it.

    `list_tools` are its own tools that write a whole todo list: the argument that holds the items, and the field of an
    item that holds its text. `task_tools` are its own tools for single tasks. `notes` qualify what it supports, by
    column of the table in `docs/reference/integrations.md`.
    """

    name: str
    title: str
    folder: Callable[[Site], str]
    configure: Callable[[Installation], None]
    executable: str = ""
    hooks: Hooks | None = None
    mcp: McpClient | None = None
    list_tools: Mapping[str, tuple[str, str]] = {}
    task_tools: Mapping[TaskAction, str] = {}
    after_install: str = ""
    plugin: Callable[[Installation, str], str] | None = None
    notes: Mapping[str, str] = {}
