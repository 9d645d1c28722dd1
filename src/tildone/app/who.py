"""What only a person may do, and the table of where each such act can be done; steering agents, which is such an act.

A command that is typed in the shell of an agent is the agent's doing, on whatever surface: it can read, and work on its
plan, but it cannot approve its own commands, answer its own questions, or change how it is held to its plan. The same
holds for the processes that a worker of a fleet has started.

The documentation shows the table, and a test tries every way in it as an agent. What is neither in `WAYS` nor in
`OTHERS` is not known here, which a test reports: whoever adds a command, a key or a route decides who may use it.
"""

from __future__ import annotations

import os
from enum import Enum

from tildone.app.opening import agent_here, agent_of_client
from tildone.app.settings import Settings
from tildone.base import TYPE_CHECKING, Refused
from tildone.plan.events import Directive
from tildone.plan.runs import LEASE_VARIABLE
from tildone.plan.text.safe import printable, short_agent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.app.settings import Settings
    from tildone.log.session import Session


class PersonAct(Enum):
    """Something that only a person may do, in the words of the refusal: "only a person can …"."""

    APPROVE = "approve a check"
    REMOVE_CHECK = "remove a check"
    ANSWER = "answer an agent"
    TRUST = "trust a file"
    UNINSTALL = "uninstall tildone from an agent"
    PAUSE = "pause an agent"
    STOP = "stop an agent"
    RESUME = "resume an agent"
    DELETE = "delete sessions"
    RESTORE = "restore a backup"
    BOARD_LINK = "get a link to a board"
    BOARD_TOKEN = "give out tokens of a board"  # noqa: S105  no secret
    BOARD_KEY = "renew the keys of boards"
    APPROVE_RUN = "approve what an agent asks for"
    RESUME_RUN = "resume a run"
    RETRY_RUN = "retry a run"
    PAUSE_RUN = "pause a run"
    CANCEL_RUN = "cancel a run"
    DRAIN = "drain a worker"


class NotThePerson(Refused):
    """An agent tried something that only a person may do."""


def check_person(settings: Settings, act: PersonAct) -> None:
    """Check that a person acts. Raises NotThePerson in the shell of an agent, and for a process of a fleet's run."""
    reason = not_the_person(settings)
    if reason:
        raise NotThePerson(f"only a person can {act.value}: {reason}")


def not_the_person(settings: Settings) -> str:
    """Return why no person acts here; empty if one does."""
    if agent := agent_here(settings):
        return f"this is the shell of {short_agent(agent)}"
    return _run_here()


def not_the_persons_client(settings: Settings) -> str:
    """Return why the client of this server shows its questions to no person; empty if it does."""
    if agent := agent_of_client(settings):
        return f"its client runs in the shell of {short_agent(agent)}"
    return _run_here()


def check_outside_runs(act: PersonAct) -> None:
    """Check that no run of a fleet does something to runs. An agent that a person talks to may.

    Raises NotThePerson if this process works for a run.
    """
    if reason := _run_here():
        raise NotThePerson(f"only a person can {act.value}: {reason}")


def _run_here() -> str:
    lease = os.environ.get(LEASE_VARIABLE)
    return f"this process works for the run {printable(lease.partition('/')[0])}" if lease else ""


class Surface(Enum):
    """Where plans are seen and changed. The value is its name in the documentation."""

    COMMAND_LINE = "command line"
    WATCH = "`watch`"
    BOARD = "board"
    MCP = "MCP"
    FLEET = "`fleet`"
    RUN = "`run`"


FORM = "elicitation/create"
"""The form in which an MCP client asks the person whether a check may be run."""

QUESTION = "question"
"""The question of `tildone run` whether a check may be run, on its screen or over RPC."""

DIRECTIVE_PATHS = ("/api/s/{key}/directive", "/api/s/{key}/course")
"""The second is that of older boards."""

Ways = tuple[str, ...]

WAYS: dict[PersonAct, dict[Surface, Ways]] = {
    PersonAct.APPROVE: {
        Surface.COMMAND_LINE: ("approve",),
        Surface.WATCH: ("task.approve",),
        Surface.BOARD: ("/api/s/{key}/approve",),
        Surface.MCP: (FORM,),
        Surface.RUN: (QUESTION, "task.approve"),
    },
    PersonAct.REMOVE_CHECK: {
        Surface.COMMAND_LINE: ("todo check --remove",),
        Surface.WATCH: ("task.check", "plan.check"),
        Surface.BOARD: ("/api/s/{key}/check",),
        Surface.RUN: ("/todo check --remove", "task.check", "plan.check"),
    },
    PersonAct.ANSWER: {
        Surface.COMMAND_LINE: ("answer",),
        Surface.WATCH: ("watch.answer",),
        Surface.BOARD: ("/api/needs/{item}", "/api/fleet/answer"),
        Surface.FLEET: ("answer",),
    },
    PersonAct.PAUSE: {
        Surface.COMMAND_LINE: ("pause",),
        Surface.WATCH: ("watch.pause", "watch.pauseAgent"),
        Surface.BOARD: DIRECTIVE_PATHS,
        Surface.RUN: ("/pause", "watch.pauseAgent"),
    },
    PersonAct.STOP: {
        Surface.COMMAND_LINE: ("stop",),
        Surface.WATCH: ("watch.stop", "watch.stopAgent"),
        Surface.BOARD: DIRECTIVE_PATHS,
        Surface.RUN: ("watch.stopAgent",),
    },
    PersonAct.RESUME: {
        Surface.COMMAND_LINE: ("resume",),
        Surface.WATCH: ("watch.resume", "watch.resumeAgent"),
        Surface.BOARD: DIRECTIVE_PATHS,
        Surface.RUN: ("/resume", "watch.resumeAgent"),
    },
    PersonAct.TRUST: {Surface.COMMAND_LINE: ("trust",)},
    PersonAct.UNINSTALL: {Surface.COMMAND_LINE: ("uninstall",)},
    PersonAct.DELETE: {Surface.COMMAND_LINE: ("prune",)},
    PersonAct.RESTORE: {Surface.COMMAND_LINE: ("restore",)},
    PersonAct.BOARD_LINK: {Surface.COMMAND_LINE: ("board",)},
    PersonAct.BOARD_TOKEN: {Surface.COMMAND_LINE: ("board token add", "board token remove")},
    PersonAct.BOARD_KEY: {Surface.COMMAND_LINE: ("board --new-key",)},
    PersonAct.APPROVE_RUN: {Surface.BOARD: ("/api/fleet/answer",), Surface.FLEET: ("approve",)},
    PersonAct.RESUME_RUN: {Surface.BOARD: ("/api/fleet/ask", "/api/fleet/ask-all"), Surface.FLEET: ("resume",)},
    PersonAct.RETRY_RUN: {Surface.BOARD: ("/api/fleet/ask",), Surface.FLEET: ("retry",)},
    PersonAct.PAUSE_RUN: {Surface.BOARD: ("/api/fleet/ask", "/api/fleet/ask-all"), Surface.FLEET: ("pause",)},
    PersonAct.CANCEL_RUN: {Surface.BOARD: ("/api/fleet/ask",), Surface.FLEET: ("cancel",)},
    PersonAct.DRAIN: {Surface.BOARD: ("/api/fleet/drain",), Surface.FLEET: ("drain",)},
}
"""By what each act is done where: verbs, names of keys, routes, commands. An act that a surface lacks is not there."""

IN_SHELLS_OF_AGENTS = frozenset({PersonAct.PAUSE_RUN, PersonAct.CANCEL_RUN, PersonAct.DRAIN})
"""What an agent that a person talks to may do to a fleet, on the command line. The processes of runs may not."""

_PLAN_KEYS = (
    *("task.toggle", "task.start", "task.block", "task.drop", "task.remove", "task.edit", "task.moveDown"),
    *("task.moveUp", "task.add", "phase.add", "task.note", "task.verify", "task.after", "task.touches", "task.copy"),
    *("task.glance", "plan.copy", "plan.notes", "phase.fold", "plan.undo", "plan.redo", "plan.filter"),
    *("row.down", "row.up", "row.pageDown", "row.pageUp", "row.first", "row.last"),
)
OTHERS: dict[Surface, Ways] = {
    Surface.COMMAND_LINE: (
        *("todo list", "todo next", "todo add", "todo append", "todo start", "todo done", "todo block", "todo unblock"),
        *("todo reopen", "todo rename", "todo move", "todo drop", "todo rm", "todo note", "todo check", "todo after"),
        *("todo touches", "todo edit", "todo undo", "todo copy", "todo export", "todo import", "verify", "call"),
        *("log", "stats", "diff", "blame", "undo", "redo", "checkout", "branch", "label", "run", "extensions"),
        *("install", "mcp", "hook", "share", "status", "watch", "import", "export", "sessions", "doctor", "backup"),
        *("migrate", "help", "completion", "complete-words", "overview"),
    ),
    Surface.WATCH: (
        *_PLAN_KEYS,
        *("watch.open", "watch.back", "watch.escape", "watch.other", "watch.palette", "watch.keys", "watch.quit"),
    ),
    Surface.BOARD: (
        *("/api/s/{key}/ops", "/api/s/{key}/undo", "/api/s/{key}/redo", "/api/s/{key}/restore"),
        "/api/s/{key}/verify",
    ),
    Surface.MCP: ("todo", "list_todos", "write_todos", "edit_todos", "todo_write", "TodoWrite"),
    Surface.FLEET: (
        *(
            "up",
            "add",
            "work",
            "ls",
            "results",
            "watch",
            "show",
            "schedule list",
            "schedule add",
            "schedule remove",
            "doctor",
        ),
        "gc",
        "transcript",
    ),
    Surface.RUN: (
        *("/todo", "/undo", "/redo", "/export", "/model", "/compact", "/use", "/new", "/clear", "/help", "/quit"),
        *("/keys", "/plan", "/tree", "/sessions", "/later", "/theme", "/mouse", "/copy", "/log"),
        *_PLAN_KEYS,
    ),
}
"""What is not for persons only: reading, and working on a plan. A board that an agent started refuses this, too."""


ACTS = {Directive.PAUSE: PersonAct.PAUSE, Directive.STOP: PersonAct.STOP, Directive.GO: PersonAct.RESUME}

STEERED = {Directive.PAUSE: "paused", Directive.STOP: "stopped", Directive.GO: "resumed"}
"""What a session is with each directive, in the words of all surfaces."""


def steer_sessions(settings: Settings, sessions: Iterable[Session], directive: Directive) -> list[Session]:
    """Set the directive of sessions, and return those that had another one.

    Raises NotThePerson if an agent wants to change how it is held to its plan.
    """
    check_person(settings, ACTS[directive])
    return [session for session in sessions if session.set_directive(directive)]
