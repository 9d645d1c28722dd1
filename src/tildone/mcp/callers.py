"""Finding the agent that sent a request, from the request, the environment and the connection.

Theory of operation. A server on stdio belongs to one process of a coding agent; a server on HTTP serves everybody who
has its address and token. In order of trust, a request is attributed

1. to the conversation that it names itself, in `_meta`;
2. on stdio, to the conversation or the process that the environment names. Environments are inherited: if one coding
   agent starts another, the inner agent's server inherits the outer agent's variables. They are ignored if
   `clientInfo.name` says that the client is a different coding agent;
3. on stdio, to the process that started the server;
4. on HTTP, to one identity that all remaining callers share.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import lru_cache

from tildone.agents.identity import AgentId, agent_id
from tildone.app.opening import open_agents
from tildone.mcp.clients import CLIENTS, integration_of, is_another
from tildone.mcp.subagent_calls import subagent_in_call
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.config import Settings
    from tildone.mcp.request import Request

    CallerResolver = Callable[[Request], "Caller"]

SESSION_HEADER, SESSION_PARAMETER = "tildone-session", "session"
MAX_SESSION_NAME_CHARS = 500
MAX_CLIENT_NAME_CHARS = 40
MAX_CLIENT_NAMES = 16
"""How many clients' names are remembered with what follows from them; most servers have one client."""

HTTP_CALLER = AgentId(conversation="http")
"""The identity shared by all HTTP callers that name no conversation."""


class Retention(Enum):
    """For how long the server remembers which head of the session a caller's model has seen."""

    STORE = "in the store, where hooks read and change it"
    CONNECTION = "as long as the connection lasts"
    NONE = "not at all: the next request may come from another model"


@value
class Caller:
    """The agent behind a request: its identity, its process (0 if unknown), and the session it names, if any.

    `certain` means that another record with the same process belongs to another agent: the request itself named the
    conversation, or the process is the server's own. `mcp_session` distinguishes connections with the same identity.
    `client` is the name that the client gave itself. `subagent` is the id of the subagent of that agent that calls, if
    the agent does not call itself.
    """

    id: AgentId
    pid: int = 0
    named_session: str | None = None
    retention: Retention = Retention.STORE
    certain: bool = False
    mcp_session: str = ""
    client: str = ""
    subagent: str = ""

    def author_of(self, agent_id: AgentId) -> str:
        """Return the agent id as the author of events: with the client's name, and the connection if that is known."""
        conversation = self.mcp_session if agent_id == HTTP_CALLER else ""
        integration = agent_id.integration or integration_of(self.client.replace(":", "-")[:MAX_CLIENT_NAME_CHARS])
        return str(replace(agent_id, integration=integration, conversation=conversation or agent_id.conversation))


def stdio_callers(settings: Settings, environ: Mapping[str, str], process: int) -> CallerResolver:
    """Return the resolver for a server that a coding agent, running as `process`, started for itself."""
    agents = open_agents(settings)
    in_environment = lru_cache(MAX_CLIENT_NAMES)(lambda client: _agent_in_environment(client, environ, process))

    def resolve(request: Request) -> Caller:
        named = _conversation_in_request(request, process)
        agent = named or in_environment(request.client) or AgentId(pid=process)
        pid, session = agent.pid or process, settings.named_session
        subagent = subagent_in_call(agents, agent, request.params)
        if subagent is not None:
            return Caller(subagent.parent, pid, session, certain=True, client=request.client, subagent=subagent.own)
        return Caller(agent, pid, session, certain=named is not None, client=request.client)

    return resolve


def http_callers(settings: Settings) -> CallerResolver:
    """Return the resolver for a server on HTTP. Callers that name no session share the default one."""

    def resolve(request: Request) -> Caller:
        session = named_session(request.http) or settings.named_session
        named = _conversation_in_request(request, 0)
        client = request.client
        if named:
            return Caller(named, 0, session, certain=True, client=client)
        mcp_session = _mcp_session(request)
        retention = Retention.CONNECTION if mcp_session else Retention.NONE
        pid = os.getpid()
        return Caller(HTTP_CALLER, pid, session, retention, certain=True, mcp_session=mcp_session, client=client)

    return resolve


def named_session(http_request: Any) -> str | None:
    """Return the session that an HTTP request names: in its header, else in its query."""
    header = _utf8(http_request.headers.get(SESSION_HEADER, ""))
    name: str = header or http_request.query_params.get(SESSION_PARAMETER, "")
    return name.strip()[:MAX_SESSION_NAME_CHARS] or None


def _conversation_in_request(request: Request, pid: int) -> AgentId | None:
    """Return the agent whose conversation `_meta` names."""
    meta = request.meta
    if not meta:
        return None
    for integration, client in CLIENTS.items():
        conversation = next((meta[key] for key in client.conversation_meta if meta.get(key)), None)
        if isinstance(conversation, str):
            return agent_id(integration, conversation, pid)
    return None


def _agent_in_environment(name: str, environ: Mapping[str, str], process: int) -> AgentId | None:
    """Return the agent whose conversation or process the environment names, unless the client is another agent."""
    for integration, client in CLIENTS.items():
        conversation = environ.get(client.conversation_variable, "")
        pid = environ.get(client.process_variable, "")
        if not (conversation or pid.isdecimal()) or is_another(name, integration):
            continue
        return agent_id(integration, conversation, process) if conversation else AgentId(integration, pid=int(pid))
    return None


def _mcp_session(request: Request) -> str:
    """Return the id of the transport's session that a request belongs to; empty in the newest protocol."""
    if request.http is None or request.is_modern:
        return ""
    return str(request.http.headers.get("mcp-session-id", ""))


def _utf8(header: str) -> str:
    """Return a header as the client wrote it: clients send UTF-8, and HTTP libraries decode Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
