"""Opens the subagents of a host: each has a conversation, a list, and a record by which others find the list."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tildone.agents.identity import AgentId
from tildone.agents.registry import AgentRegistry
from tildone.agents.subagents import end, register, subagent_id, subagent_of, subagent_session
from tildone.app.opening import open_agents, open_session
from tildone.config import Settings
from tildone.core.plan import Task
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import StoreError, TildoneError
from tildone.extensions.request_bounds import request_bounds
from tildone.host.conversations import Conversations
from tildone.host.events import ToolExecutionEnd
from tildone.host.extension_api import ExtensionAPI
from tildone.host.host import Extension, Host
from tildone.host.subagents import OpenedSubagent, SubagentTask, subagent_host
from tildone.ids import now
from tildone.log.store import Store
from tildone.session import Session
from tildone.value import replace
from tildone.views.limits import MAX_FRAME, MAX_START, bounded_list, clipped
from tildone.views.sanitize import shown_text

PlanExtension = Callable[[Settings, Host, AgentId], Extension]
"""Returns the extension of the parent's dialect, for the session that the settings name, a host and its agent."""


class SubagentOpener:
    """Opens the subagents of one host, whose agent is `parent_id()` and whose plan `settings()` names.

    `opened` is called with the host of each.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: Store,
        conversations: Conversations,
        parent: Host,
        parent_id: Callable[[], AgentId],
        plan_extension: PlanExtension,
    ) -> None:
        self._settings = settings
        self._store = store
        self._conversations = conversations
        self._parent = parent
        self._parent_id = parent_id
        self._plan_extension = plan_extension
        self.opened: Callable[[Host], None] | None = None

    def open(self, task: SubagentTask) -> OpenedSubagent:
        """Return the host of a subagent, which continues without a countdown while its own list has open tasks.

        Raises:
            TildoneError: an extension cannot be loaded.
        """
        transcript = self._conversations.new_of_subagent(self._parent.transcript)
        host = subagent_host(self._parent, transcript, task.description)
        above = self._settings()
        settings = replace(above, session=subagent_session(above.session, transcript.id), countdown=0)
        session = open_session(settings, BY_HAND, self._store)
        agents = open_agents(above) if self._store.durable else None
        record = _Record(agents, session, self._parent_id(), transcript.id, task.description)
        plan = self._plan_extension(settings, host, record.id)
        bounds = request_bounds(lambda _conversation: session)
        failures = host.load([("plan", plan), ("request bounds", bounds), ("record", record.follow)])
        if failures:
            raise TildoneError(f"the {failures[0].extension} extension cannot be loaded: {failures[0].error}")
        if self.opened:
            self.opened(host)
        return OpenedSubagent(host, lambda: record.end(yielded=host.yielded is not None))


class _Record:
    """The record of a subagent, which appears with its list."""

    def __init__(
        self, agents: AgentRegistry | None, session: Session, parent: AgentId, own: str, description: str
    ) -> None:
        self.id = subagent_id(parent, own)
        self._agents = agents
        self._session = session
        self._parent = parent
        self._own = own
        self._description = description
        self._is_registered = False

    def follow(self, api: ExtensionAPI) -> None:
        """Register the handler that looks for a list."""
        api.on(ToolExecutionEnd, lambda *_: self._register())

    def end(self, *, yielded: bool) -> str:
        """Record the end, and return the list as text."""
        if self._agents is not None and self._is_registered:
            # Failure is harmless: the list is shown as that of a subagent at work until the run ends.
            with suppress(StoreError):
                end(self._agents, self.id, now())
        if yielded:
            # It has ended: a nudge did not reach it.
            self._session.retract_nudge()
        tasks = self._session.plan.tasks
        return "\n".join(bounded_list([(task, _line(task)) for task in tasks], MAX_START - MAX_FRAME))

    def _register(self) -> None:
        """Add the record once there is a list. Without its parent's record nobody could find it."""
        agents = self._agents
        parent = agents.get(self._parent) if agents is not None and not self._is_registered else None
        if agents is None or parent is None or not self._session.plan.tasks:
            return
        # Failure is harmless: the subagent works, but nobody sees its list.
        with suppress(StoreError):
            register(agents, subagent_of(agents, parent, self._own, now()), self._description)
            self._is_registered = True


def _line(task: Task) -> Callable[[int], str]:
    return lambda size: f"- [{task.status.checkbox}] {clipped(shown_text(task.text), size)}"
