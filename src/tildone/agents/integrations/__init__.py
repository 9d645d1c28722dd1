"""Integrations: everything tildone knows about the coding agents it works inside, one module for each.

A module's global `INTEGRATION` is a record of the agent's facts: its hook events and the replies it expects, its
settings files, its environment variables, its own todo tools. Settings files are described by a function
(`Integration.configure`), which receives the object that builds the edits. Hooks, install, doctor, help texts and
`docs/reference/integrations.md` read these records, so adding a coding agent takes one module here and one entry in
`KNOWN` of `tildone.stores.agents`, which has what is asked of all agents at once.

A hook imports this module at every event of every agent, and the one integration that it serves, so they import nothing
slow; an MCP server imports no integration.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry, value
from tildone.stores.agents import KNOWN, Known, McpClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import Enum
    from typing import Any, Literal

    from tildone.agents.install import Inspection, Installation, Site

    Template = Mapping[str, Any]
    Field = Literal[
        "background_tasks",
        "call",
        "conversation",
        "cost",
        "cwd",
        "event",
        "forked_before",
        "forked_from",
        "last_message",
        "model",
        "permission_mode",
        "prompt",
        "reason",
        "scheduled_tasks",
        "source",
        "stop_hook_active",
        "stop_status",
        "subagent",
        "subagent_kind",
        "task_id",
        "task_subject",
        "tool",
        "tool_input",
        "tool_response",
        "transcript",
        "trigger",
        "usage",
    ]
else:

    class Enum:
        """A substitute for `enum.Enum` at run time, because importing `enum` takes longer than a silent hook."""

        def __init_subclass__(cls) -> None:
            for name, spelling in [*vars(cls).items()]:
                if name.isupper():
                    member = object.__new__(cls)
                    member.name, member.value = name, spelling
                    setattr(cls, name, member)

        def __repr__(self) -> str:
            return f"{type(self).__name__}.{self.name}"


INTEGRATIONS: Registry[Integration, Known] = Registry(__name__, "INTEGRATION", KNOWN)


def all_integrations() -> list[Integration]:
    return [INTEGRATIONS[name] for name in INTEGRATIONS]


def names_with_hooks() -> tuple[str, ...]:
    """Return the names of the coding agents that call hooks."""
    return tuple(name for name, known in KNOWN.items() if known.calls_hooks)


TEXT, EVENT = "<text>", "<event>"
"""Placeholders in a reply template: our text, and the agent's own name for the event."""


class HookPoint(Enum):
    """A point in an agent's work at which it calls a hook, whatever it calls the event.

    `TOOL_FAILED` is for agents that report a failed tool call apart from `AFTER_TOOL`. `STATUS_LINE`, `OFFER_TOOLS` and
    `CALL_TOOL` ask for output of ours. `UNDELIVERED` is how a shim reports that it could not deliver the reply to the
    last stop.
    """

    STOP = "stop"
    SESSION_START = "session_start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    TOOL_FAILED = "tool_failed"
    COMPACTION = "compaction"
    SESSION_END = "session_end"
    MESSAGE = "message"
    TASK_CREATED = "task_created"
    TASK_COMPLETED = "task_completed"
    STATUS_LINE = "status_line"
    OFFER_TOOLS = "offer_tools"
    CALL_TOOL = "call_tool"
    UNDELIVERED = "undelivered"


class ReplyKind(Enum):
    """What a hook's reply asks of the agent."""

    CONTINUE = "continue"
    ADD_CONTEXT = "add_context"
    HALT = "halt"
    NOTIFY = "notify"


@value
class TranscriptFormat:
    """Where an agent's transcript, a file with one JSON object in each line, has the messages of its model.

    A line with all of `message` (values by path, as in `Hooks.fields`) is a message; its text, or the list of its
    parts, is at `text`. A line with all of `prompt` begins a turn: messages before it are old. Lines of a subagent have
    its id at `subagent`. An agent that may write a message after it has called the hook writes a line after it that has
    at the first path of `mark` what the event has at the second.
    """

    message: Mapping[str, str]
    text: str
    prompt: Mapping[str, str] = {}
    subagent: str = ""
    mark: tuple[str, str] = ("", "")


class TaskAction(Enum):
    """What a native tool for single tasks does."""

    CREATE = "create"
    UPDATE = "update"
    LIST = "list"


@value
class LaterReply:
    """The template of a reply for later versions; `applies` is given what the agent says of itself in `variable`."""

    template: Template
    variable: str
    applies: Callable[[str], bool]


@value
class ContinuationLimit:
    """How often in a row a coding agent goes on because a hook asks for it; what is asked after that, it drops.

    The row begins with a prompt, and again with every tool call unless the limit is `per_prompt`. `variable` is the
    environment variable that sets the limit, if there is one, and `raised` its value after an installation. `read`
    returns the limit by the text of the variable, which is empty if it is not set; None means that there is no limit.
    """

    read: Callable[[str], int | None]
    variable: str = ""
    raised: str = ""
    per_prompt: bool = False


@value
class Hooks:
    """How a coding agent calls hooks and what it expects on their standard output.

    `points` maps the agent's event names to hook points; other events get no reply. `fields` maps our field names to
    paths in the JSON on standard input: `a.b` is `b` inside `a`, and of several paths separated by spaces the first
    one present is used.

    Replies are templates of the JSON to print: `continue_reply` makes an agent that has stopped continue, `later_reply`
    is that of versions which do better with another one, `context_replies` add text to the model's context,
    `halt_replies` end its turn, `notice_reply` is for the person, at the points `notices_at` if it shows none
    elsewhere.

    Quirks: `compaction_trigger` is the only trigger at which the agent certainly compacts, if it announces others;
    `cumulative_messages` means that its last message repeats all messages since the person's prompt;
    `continues_subagents` means that a subagent that has stopped can be made to continue;
    `shares_process` means that one process runs several conversations. `time_limits` are the seconds after which the
    agent kills a hook, for the events at which that is less than elsewhere. `starts_servers` means that the process
    that runs its hooks also starts its MCP servers (or has our tools itself), and that its models may run commands: a
    hook can tell whether the tools are there, and name a command if they are not. `attended_if` is an environment
    variable and its value in the interface for people. With another value, the agent shows no notices, but prints what
    a hook that fails at the end of the session writes to standard error. `shows_stderr` means that it shows what a hook
    that succeeds without a reply writes there. `own_prompts` are the beginnings of prompts that no person typed.
    `transcript` is for an agent whose events do not have the last message. `warnings_at` are the points at which it
    shows the person what a hook writes to standard error if the exit code is 2; notices are given there in this way.
    `subagent_stop` is the event of a subagent that stops, for an agent that also sends its own one then, in vain.
    `echoes_nudges` means that what makes it continue is reported as a prompt that a person could have typed.
    `continuation_limit` is the agent's own limit: the gate lets an agent go before a nudge would be dropped.
    `fork_entry` is the path, in the entries of a transcript, to the conversation that this one was forked from;
    `fork_options` are the option of the command line that forks a conversation, and those that precede its id.
    """

    points: Mapping[str, HookPoint]
    fields: Mapping[Field, str]
    continue_reply: Template
    context_replies: Mapping[HookPoint, Template]
    halt_replies: Mapping[HookPoint, Template]
    later_reply: LaterReply | None = None
    notice_reply: Template | None = None
    notices_at: tuple[HookPoint, ...] = ()
    conversation_variable: str = ""
    project_variable: str = ""
    compaction_trigger: str = ""
    cumulative_messages: bool = False
    shares_process: bool = False
    continues_subagents: bool = False
    time_limits: Mapping[str, float] = {}
    starts_servers: bool = False
    attended_if: tuple[str, str] = ("", "")
    shows_stderr: bool = False
    own_prompts: tuple[str, ...] = ()
    transcript: TranscriptFormat | None = None
    warnings_at: tuple[HookPoint, ...] = ()
    subagent_stop: str = ""
    echoes_nudges: bool = False
    continuation_limit: ContinuationLimit | None = None
    fork_entry: str = ""
    fork_options: tuple[str, ...] = ()


@value
class Integration:
    """One coding agent.

    It counts as installed if `folder` exists or its executable is on the PATH. `tried` is the version that the
    tests install and run; `min_versions` are the first versions with a gate and with the tool in every request.
    `listing` are the arguments with which it lists its MCP servers and says whether it reaches them, without a model.

    `configure` adds the edits of its settings files to an installation; `after_install` tells the person what is left
    to do, and `prompts` what the agent will ask, by scope of the installation. `silencers` reports settings
    of the agent that keep it from running what is installed. `plugin`, for an agent that has plugins, adds the files of
    a plugin folder and returns the command that loads it.

    `list_tools` are its own tools that write a whole todo list, each with the argument that contains the items and the
    field of an item that contains its text. `task_tools` are its own tools for single tasks. `notes` are footnotes to
    the tables in `docs/reference/integrations.md`, by situation.
    """

    name: str
    title: str
    folder: Callable[[Site], str]
    configure: Callable[[Installation], None]
    hooks: Hooks | None = None
    list_tools: Mapping[str, tuple[str, str]] = {}
    task_tools: Mapping[TaskAction, str] = {}
    tried: str = ""
    min_versions: Mapping[str, str] = {}
    listing: tuple[str, ...] = ()
    after_install: str = ""
    prompts: Mapping[str, tuple[str, ...]] = {}
    silencers: Callable[[Inspection], None] | None = None
    plugin: Callable[[Installation, str], str] | None = None
    notes: Mapping[str, str] = {}

    @property
    def executable(self) -> str:
        return KNOWN[self.name].executable

    @property
    def package(self) -> str:
        """Its npm package, whose manifest tells its version; empty if it has none."""
        return KNOWN[self.name].package

    @property
    def mcp(self) -> McpClient | None:
        """How it behaves as an MCP client, if it is one."""
        return KNOWN[self.name].mcp


TIMEOUT_SECONDS = 10
"""How long a coding agent waits for a hook, and for the MCP server to start, if its settings have such a timeout."""

PROBE = "tildone_probe"
"""The member that makes an event a probe: the hook identifies itself, and changes nothing."""

PROBE_CLIENT = "tildone doctor"
"""The name that a probe gives itself as an MCP client."""

POINTS: Mapping[str, HookPoint] = {
    "Stop": HookPoint.STOP,
    "SessionStart": HookPoint.SESSION_START,
    "UserPromptSubmit": HookPoint.PROMPT,
    "PreCompact": HookPoint.COMPACTION,
    "PreToolUse": HookPoint.BEFORE_TOOL,
    "PostToolUse": HookPoint.AFTER_TOOL,
    "SessionEnd": HookPoint.SESSION_END,
}
"""In the order in which an installation writes them."""

SUBAGENT_POINTS: Mapping[str, HookPoint] = {**POINTS, "SubagentStop": HookPoint.STOP}
"""For agents that also report when a subagent stops. The event names the subagent."""

FIELDS: Mapping[Field, str] = {
    "background_tasks": "background_tasks",
    "call": "tool_use_id",
    "conversation": "session_id",
    "cost": "cost.total_cost_usd",
    "cwd": "cwd workspace.current_dir",
    "event": "hook_event_name",
    "forked_before": "forked_before",
    "forked_from": "forked_from",
    "last_message": "last_assistant_message",
    # The status line's event has an object, the others that name the model have its id.
    "model": "model.id model",
    "permission_mode": "permission_mode",
    "prompt": "prompt",
    "reason": "reason",
    "scheduled_tasks": "session_crons",
    "source": "source",
    "stop_hook_active": "stop_hook_active",
    "stop_status": "status",
    "subagent": "agent_id",
    "subagent_kind": "agent_type",
    "task_id": "task_id",
    "task_subject": "task_subject",
    "tool": "tool_name",
    "tool_input": "tool_input",
    "tool_response": "tool_response",
    "transcript": "transcript_path",
    "trigger": "trigger",
    "usage": "usage",
}

BLOCK: Template = {"decision": "block", "reason": TEXT}
CONTEXT: Template = {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}}
END_TURN: Template = {"continue": False, "stopReason": TEXT}
DENY: Template = {
    "hookSpecificOutput": {
        "hookEventName": EVENT,
        "permissionDecision": "deny",
        "permissionDecisionReason": TEXT,
    }
}
MESSAGE: Template = {"systemMessage": TEXT}

SHIM_FIELDS: Mapping[Field, str] = {
    **FIELDS,
    "conversation": "sessionID",
    "cwd": "directory",
    "event": "event",
    "forked_before": "forkedBefore",
    "forked_from": "forkedFrom",
    "last_message": "text",
    "prompt": "text",
    "tool": "tool",
    "tool_input": "args",
    "tool_response": "output",
    "call": "callID",
    "subagent": "agentID",
    "subagent_kind": "agentType",
}
"""The fields that our shims send: plugins in JavaScript and TypeScript that run inside opencode and pi."""

SHIM_CONTEXT: Template = {"context": TEXT}
SHIM_CONTEXT_REPLIES = dict.fromkeys((HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL), SHIM_CONTEXT)
SHIM_CONTINUE: Template = {"prompt": TEXT}
SHIM_HALT: Template = {"halt": TEXT}
SHIM_NOTICE: Template = {"notice": TEXT}
