"""The connections of callers: the agent that sent a request, its session and presence, its checks, its progress.

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

import json
import os
import sys
import threading
from enum import Enum
from functools import lru_cache
from time import time_ns

from tildone.agents.mcp.json_rpc import Request, SerialExecutor, notification_line
from tildone.agents.mcp.protocol import CLIENTS, error_reply, integration_of, is_another
from tildone.app.opening import check_runner, open_agents, open_session, open_store
from tildone.app.trust import Consent
from tildone.app.who import not_the_person, not_the_persons_client
from tildone.base import TYPE_CHECKING, RunFenced, StoreError, TildoneError, replace, value
from tildone.base.ids import now
from tildone.log.presence import Presence
from tildone.plan.events import Author
from tildone.plan.guard import PLAN
from tildone.plan.text.proofs import check_caution, command_quote, doing
from tildone.stores.agents import MODEL_NOTE, Agent, AgentId, AgentRegistry, agent_id, machine_name
from tildone.stores.assignment import (
    CallingSubagent,
    announced_caller,
    assign_session,
    call_key,
    own_names,
    register,
    subagent_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.agents.mcp.json_rpc import Pending, RequestId
    from tildone.agents.mcp.resources import SessionSnapshot
    from tildone.app.check_runner import CheckRunner
    from tildone.app.settings import Settings
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.plan.dialects import Dialect, Reply
    from tildone.plan.model import Check

    CallerResolver = Callable[[Request], "Caller"]


APPROVE = "approve"


def owner(number: int) -> str:
    return "the plan" if number == PLAN else f"task {number}"


def approval_form(number: int, check: Check) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`; the command is listed in ASCII, in which nothing can hide."""
    folder = f" in the folder {json.dumps(check.folder)}" if check.folder else ""
    command = json.dumps(list(check.command))
    state = f"the check of {owner(number)} is only proposed"
    return {
        "message": f"tildone: {state}. May this command be run{folder}? {command} {check_caution(check)}".rstrip(),
        "requestedSchema": {
            "type": "object",
            "properties": {
                APPROVE: {"type": "boolean", "title": "Run this command, now and later", "default": False},
            },
            "required": [APPROVE],
        },
    }


def is_approved(result: Mapping[str, Any] | None) -> bool:
    """Return whether the person accepted the form and approved the check in it."""
    content = result.get("content") if result is not None and result.get("action") == "accept" else None
    return isinstance(content, dict) and content.get(APPROVE) is True


class CallChecks:
    """The checks of one caller. `hand_over` is called in the thread of a call before it begins to take long."""

    def __init__(self, hand_over: Callable[[], None]) -> None:
        self._hand_over = hand_over
        self._local = threading.local()
        self._runners: dict[int, list[CheckRunner]] = {}
        self._declined: set[Check] = set()

    def begin(self, request: Request) -> None:
        """Begin a call in this thread; its request says how the person is asked, and told what runs."""
        self._local.request = request

    def runner(self, settings: Settings, by: str) -> CheckRunner:
        """Return what runs the checks of the call of this thread."""
        runner = check_runner(settings, lambda: by)
        runner.started = self._started
        runner.ask = self._ask
        why_not = not_the_person if self._request.http else not_the_persons_client
        runner.nobody = lambda: why_not(settings)
        self._runners.setdefault(threading.get_ident(), []).append(runner)
        return runner

    def end(self) -> None:
        """Forget the checks of this thread, whose call has ended."""
        self._runners.pop(threading.get_ident(), None)

    def interrupt(self, thread: int | None = None) -> None:
        """End the checks that one thread runs now, or all."""
        for ident, runners in tuple(self._runners.items()):
            for runner in runners if thread in (None, ident) else ():
                runner.interrupt()

    @property
    def _request(self) -> Request:
        found: Request = self._local.request
        return found

    def _describe(self, message: str) -> None:
        if self._request.describe is not None:
            self._request.describe(message)

    def _started(self, number: int, check: Check) -> None:
        self._hand_over()
        self._describe(f"running the check of {owner(number)}: {command_quote(check)}")

    def _ask(self, number: int, check: Check) -> Consent:
        """Ask the person whether a check may be run. What they declined is not asked again."""
        elicit = self._request.elicit
        if elicit is None or check in self._declined:
            return Consent.NO
        self._hand_over()
        self._describe(f"waiting for a person to approve the check of {owner(number)}: {command_quote(check)}")
        result = elicit(approval_form(number, check))
        if is_approved(result):
            return Consent.ALWAYS
        if result is not None:
            self._declined.add(check)
        return Consent.NO


INTERVAL_SECONDS = 1.0
WAITING = "waiting for a check, for the person, or for the store"


class ProgressNotices:
    """Tells the client, once per interval, which requests are still carried out. One thread serves all."""

    def __init__(self, send: Callable[[bytes, RequestId], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._reports: dict[Pending, _Report] = {}
        self._is_running = False

    def add(self, request: Pending, token: int | str) -> None:
        """Begin to report on a request, with the progress token that the client gave it."""
        with self._lock:
            self._reports[request] = _Report(token)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="mcp progress", daemon=True).start()

    def remove(self, request: Pending) -> None:
        with self._lock:
            self._reports.pop(request, None)

    def describe(self, request: Pending, message: str) -> None:
        """Say from now on what a request is waiting for."""
        with self._lock:
            if request in self._reports:
                self._reports[request].message = message

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(INTERVAL_SECONDS)
            with self._lock:
                if not self._reports:
                    self._is_running = False
                    return
                due = [(request.id, params) for request, report in self._reports.items() if (params := report.next())]
            for number, params in due:
                self._send(notification_line("notifications/progress", params), number)


class _Report:
    """What is reported on one request."""

    __slots__ = ("_intervals", "_token", "message")

    def __init__(self, token: int | str) -> None:
        self._token = token
        self._intervals = 0
        self.message = WAITING

    def next(self) -> dict[str, object]:
        """Return the parameters of the next notification; empty after the first interval, which may be a short one."""
        self._intervals += 1
        passed = self._intervals - 1
        return {"progressToken": self._token, "progress": passed, "message": self.message} if passed else {}


AT_MOST_EVERY_MS = 15_000


class CallerPresence:
    """What the store was told of one caller. `cost` returns what the conversation of an agent has cost so far."""

    def __init__(self, cost: Callable[[Agent], float]) -> None:
        self._cost = cost
        self._told = Presence("", "")

    def tell(self, store: Store, agent: Agent, author: Author, doing: str) -> None:
        """Tell that an agent is at work, unless that was told a moment ago. Failure changes nothing for the agent."""
        at, name = now(), author.agent or str(agent.id)
        if (name, agent.session) == (self._told.agent, self._told.session) and at - self._told.beat < AT_MOST_EVERY_MS:
            return
        host, cost = name.partition(":")[0], self._cost(agent)
        presence = Presence(name, agent.session, host, machine_name(), author.model, doing, at, cost=cost, beat=at)
        try:
            store.records.beat(presence)
        except TildoneError:
            return
        self._told = presence

    def leave(self, open_store: Callable[[], Store]) -> None:
        if not self._told.agent:
            return
        try:
            open_store().records.leave(self._told.agent)
        except TildoneError:
            return


FINE_NS, COARSE_NS = 50_000_000, 2_500_000_000
"""Longer than the resolution of modification times: a clock tick, or two seconds on old file systems."""

WHOLE_MS = 1_000_000


def registry_stamp(folder: str) -> int | None:
    """Return a number that differs after any change in a folder; None if there is none yet.

    One system call instead of reading the same files for every call: every record and note is replaced or removed as a
    file, which changes the modification time of the folder. Two changes within the resolution of that time share one,
    so a time counts as a stamp only after the resolution has passed: whoever reads the files after that has seen all
    changes up to it.
    """
    if sys.platform == "win32":
        return None
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return None
    resolution = FINE_NS if changed % WHOLE_MS else COARSE_NS
    return changed if time_ns() - changed > resolution else None


def subagent_in_call(
    agents: AgentRegistry, agent: AgentId, process: int, params: Mapping[str, object]
) -> CallingSubagent | None:
    """Return the subagent of `agent` that makes a call: the call names it, or a hook has announced it."""
    client, meta, arguments = CLIENTS.get(agent.integration), params.get("_meta"), params.get("arguments")
    if client is None or "name" not in params:
        return None
    if client.subagent_meta is not None:
        named, fact = (_text(meta, key) for key in client.subagent_meta)
        return CallingSubagent(agent, named) if named and fact else None
    if client.call_meta:
        call = _text(meta, client.call_meta)
        return announced_caller(agents, agent.integration, call) if call else None
    if client.announces_calls:
        key = call_key("", process, arguments if isinstance(arguments, dict) else {})
        return announced_caller(agents, agent.integration, key)
    return None


def _text(meta: object, key: str) -> str:
    for name in key.split():
        meta = meta.get(name) if isinstance(meta, dict) else None
    return meta if isinstance(meta, str) else ""


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
        subagent = subagent_in_call(agents, agent, pid, request.params)
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
        # In the newest revision, requests belong to no session of the transport.
        mcp_session = "" if request.is_modern else str(request.http.headers.get("mcp-session-id", ""))
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


def _utf8(header: str) -> str:
    """Return a header as the client wrote it: clients send UTF-8, and HTTP libraries decode Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


class CallingAgent:
    """The agent behind one caller. Not thread-safe: one thread does all the work of a connection.

    Theory of operation. An agent's hooks and its MCP server are different processes that share the agent's record. The
    hooks may learn the conversation id after the server has registered the agent by its process, or learn a new one
    when the person clears the conversation. So the record is read again whenever the registry has changed, and the
    server adopts the identity that the hooks have recorded. Which head the model has seen is in the store, under the
    name of the agent's reader. A registry that cannot be written does not stop the agent: the error is logged, and the
    agent works on the session that it named, or else on the project's; without a reader, only the connection knows what
    its model has seen.
    """

    def __init__(self, caller: Caller, agents: AgentRegistry, report: Callable[[Exception], None]) -> None:
        self._caller = caller
        self.agents = agents
        self._report = report
        self._id = caller.id
        self._stamp: int | None = None
        self._last: Agent | None = None

    def current(self) -> Agent:
        """Return the agent's record: the same object as long as neither it nor a note has changed."""
        stamp = registry_stamp(self.agents.folder)
        if stamp is None or stamp != self._stamp or self._last is None or not self._is_current(self._last):
            self._last = self._read()
        self._stamp = stamp
        return self._last

    def _read(self) -> Agent:
        noted, session = self._noted_by_hooks(), self._caller.named_session
        agent_id = noted or self._id
        if self._caller.retention is not Retention.STORE and session:
            return Agent(agent_id, session)
        record = self.agents.get(agent_id)
        if record is None or not self._is_current(record):
            # An agent that has ended may have left its process to another: Claude Code forks a conversation so.
            known_id = agent_id if noted or (record and record.pid) else self._id_from_hooks()
            pid = self._caller.pid or (record.pid if record else 0)
            try:
                record = assign_session(self.agents, known_id, pid, now(), session)
            except StoreError as error:
                self._report(error)
                return Agent(agent_id, session or self.agents.project)
        self._id = record.id
        if self._caller.subagent:
            return self._subagent(record)
        return record if self._caller.retention is Retention.STORE else replace(record, reader="")

    def _subagent(self, parent: Agent) -> Agent:
        """Return the record of the subagent that calls. Its list is its own, and never the parent's."""
        subagent = subagent_of(self.agents, parent, self._caller.subagent, now())
        try:
            register(self.agents, subagent)
        except StoreError as error:
            self._report(error)
        return subagent

    def release(self) -> None:
        """Remove the record of an agent that only this server knows: its process may run for days."""
        if self._id != AgentId(pid=self._caller.pid):
            return
        try:
            self.agents.remove(self._id)
        except StoreError as error:
            self._report(error)

    def _is_current(self, record: Agent) -> bool:
        """Return whether `assign_session` would return the record unchanged, which saves reading the file again."""
        pid = self._caller.pid or record.pid
        same_session = self._caller.named_session in (None, record.session)
        return record.pid == pid and record.is_fresh(pid, now()) and same_session

    def _noted_by_hooks(self) -> AgentId | None:
        """Return the agent that hooks have noted as the next to call, if they alone know its conversation."""
        return self.agents.caller_in(self._caller.pid) if self._caller.id.is_anonymous else None

    def _id_from_hooks(self) -> AgentId:
        """Return the identity under which hooks have registered an agent of this process; else the caller's own."""
        own, pid = self._caller.id, self._caller.pid
        if not pid or self._caller.certain:
            return own
        same_process = (agent.id for agent in self.agents.active(now()) if agent.pid == pid)
        return next((other for other in same_process if own.integration in ("", other.integration)), own)


STORE_TIMEOUT_SECONDS = 5.0
"""How long a call waits for a locked store. Coding agents wait for ten seconds or more, and say nothing meanwhile."""


class SharedStore:
    """The store of all connections, opened by the first call that can: those that fail report it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: Store | None = None

    def get(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = open_store(self._settings, timeout=STORE_TIMEOUT_SECONDS)
            return self._store

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()


class Connection:
    """One caller's connection: jobs of its `executor`, which call its blocking methods, run one after the other."""

    def __init__(
        self,
        caller: Caller,
        settings: Settings,
        dialect: Dialect,
        store: SharedStore,
        agent: CallingAgent,
        report: Callable[[Exception], None],
    ) -> None:
        self.caller = caller
        self._settings = settings
        self._dialect = dialect
        self._store = store
        self._agent = agent
        self._report = report
        self._author = Author()
        self._known: Agent | None = None
        self._session: Session | None = None
        self._presence = CallerPresence(lambda known: agent.agents.cost(known.id))
        self._is_fenced = False
        self.executor = SerialExecutor(str(caller.id))
        self._checks = CallChecks(self._hand_over)

    def call(self, tool: str, arguments: dict[str, object], request: Request) -> Reply:
        """Carry out a tool call. Every error becomes a reply. A long one does not hold up those that follow."""
        self._checks.begin(request)
        try:
            agent = self._agent.current()
            session = self._open_session(agent)
            reply = session.call(tool, arguments)
            if not agent.is_subagent:
                session.renew_claims(self._author.agent)
                self._presence.tell(self._store.get(), agent, self._author, doing(tool, arguments))
            return reply
        except Exception as error:  # noqa: BLE001  the outermost function of a call: reported to model and person
            self._report(error)
            repeated, self._is_fenced = self._is_fenced, isinstance(error, RunFenced)
            return error_reply(self._dialect, tool, arguments, error, repeated=repeated)
        finally:
            self._checks.end()

    def interrupt(self, thread: int | None = None) -> None:
        """End the checks that the calls of one thread run, or all."""
        self._checks.interrupt(thread)

    def snapshot(self, session: str | None = None, *, events: int = 0) -> SessionSnapshot:
        """Return the state of the named session, or of the agent's own, with so many of its newest `events`."""
        # Late, because calls show no session.
        from tildone.agents.mcp.resources import snapshot

        return snapshot(self._store.get(), session or self._agent.current().session, events)

    def session_names(self) -> list[str]:
        """Return the names of all sessions, the most recently written first."""
        return [info.name for info in self._store.get().sessions()]

    def close(self) -> None:
        """Accept no more calls; calls already accepted are carried out."""
        self.executor.submit(lambda: self._presence.leave(self._store.get))
        self.executor.submit(self._agent.release)
        self.executor.close()

    def _own_names(self) -> frozenset[str] | None:
        agent, is_named = self._known, self.caller.named_session is not None
        if agent is None or agent.is_subagent or self.caller.retention is not Retention.STORE:
            return None
        return own_names(self._agent.agents, agent, is_named=is_named)

    def _hand_over(self) -> None:
        """Let other calls be carried out while the one that calls this takes long, on a session object of their own."""
        self._session = None
        self.executor.hand_over()

    def _open_session(self, agent: Agent) -> Session:
        """Return the agent's session, with the reader and the author of its events."""
        if agent is not self._known:
            self._known = agent
            self._author = Author(
                agent=self.caller.author_of(agent.id), model=self._agent.agents.note(agent.id, MODEL_NOTE)
            )
        if self._session is None or self._session.name != agent.session:
            own = replace(self._settings, session=agent.session)
            opened = open_session(own, self._dialect, self._store.get(), lambda: self._author)
            parts = replace(
                opened.parts, prover=lambda: self._checks.runner(own, self._author.agent), own=self._own_names
            )
            self._session = opened.using(parts=parts)
        self._session = self._session.using(reader=agent.reader)
        if self.caller.retention is Retention.NONE:
            self._session.set_seen_head(None)
        return self._session
