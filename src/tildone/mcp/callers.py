"""Whose plan a request means: the agent that asks, as far as its host lets that be known."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tildone.agents.identity import AgentId, agent_id
from tildone.config import Settings
from tildone.value import value

Request = ServerRequestContext[Any, Any]
CallerResolver = Callable[[Request], "Caller"]

CLAUDE, OPENCODE, CODEX = "claude", "opencode", "codex"
OTHER_HOSTS = ("gemini", CODEX, OPENCODE, CLAUDE)
"""How hosts that start other agents, or are started by them, begin their names as clients."""

HEADER, QUERY = "tildone-session", "session"
LONGEST_NAME = 500

HTTP_CALLER = AgentId(conversation="http")
"""All callers over HTTP that reveal no conversation id."""


class Memory(Enum):
    """How long it is remembered what the model behind a caller has seen."""

    KEPT = "kept with the agents of the project, where hooks find it"
    CONNECTED = "as long as it is connected"
    NONE = "not at all: the next call may be another model's"


@value
class Caller:
    """An agent: what it is known by, its process (0 if unknown), the plan it named itself, if it did."""

    id: AgentId
    pid: int = 0
    named_session: str | None = None
    memory: Memory = Memory.KEPT
    connection: str = ""


def stdio_callers(settings: Settings, environ: Mapping[str, str], process: int) -> CallerResolver:
    """Callers of a server that a host, a process, has started for itself. There may be several agents in it."""

    def whose(asked: Request) -> Caller:
        codex = _codex_session(asked)
        if codex:
            return Caller(agent_id(CODEX, codex, process), process, settings.named_session)
        claude, opencode = (_said(environ, asked, *where) for where in _TOLD)
        if claude:
            return Caller(agent_id(CLAUDE, claude, process), process, settings.named_session)
        if opencode.isdecimal():
            return Caller(AgentId(OPENCODE, pid=int(opencode)), int(opencode), settings.named_session)
        return Caller(AgentId(pid=process), process, settings.named_session)

    return whose


def http_callers(settings: Settings) -> CallerResolver:
    """Callers of a server that many may reach. Who names no plan gets the one that is meant for such."""

    def whose(asked: Request) -> Caller:
        named_session = named_session_of(asked.request) or settings.named_session
        codex = _codex_session(asked)
        if codex:
            return Caller(agent_id(CODEX, codex, 0), 0, named_session)
        connection = _connection(asked)
        memory = Memory.CONNECTED if connection else Memory.NONE
        return Caller(HTTP_CALLER, os.getpid(), named_session, memory, connection)

    return whose


def named_session_of(request: Any) -> str | None:
    """The plan that an HTTP request names: in its header, else in its address."""
    said: str = _utf8(request.headers.get(HEADER, "")) or request.query_params.get(QUERY, "")
    return said.strip()[:LONGEST_NAME] or None


def _utf8(header: str) -> str:
    """A header as it was meant: HTTP knows only bytes, and clients write UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def client_name(asked: Request) -> str:
    """What the client calls itself; empty if it does not say."""
    params = asked.session.client_params
    return params.client_info.name.lower() if params else ""


_TOLD = ((CLAUDE, "CLAUDE_CODE_SESSION_ID"), (OPENCODE, "OPENCODE_PID"))


def _said(environ: Mapping[str, str], asked: Request, host: str, variable: str) -> str:
    """What a host has told in the environment, unless the client is another that was started from within it."""
    name = client_name(asked)
    others = tuple(other for other in OTHER_HOSTS if other != host)
    return "" if name.startswith(others) else environ.get(variable, "")


def _codex_session(asked: Request) -> str:
    """The session that Codex tells with every call."""
    meta = (asked.params or {}).get("_meta")
    if not isinstance(meta, Mapping):
        return ""
    told = meta.get("sessionId") or meta.get("threadId")
    return told if isinstance(told, str) else ""


def _connection(asked: Request) -> str:
    """The connection that a request belongs to; the newest protocol has none."""
    if asked.request is None or asked.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    return str(asked.request.headers.get("mcp-session-id", ""))
