"""The `declared` dialect in a host: `TodoWrite`, a recap at the end of every request, and a log of finished lists."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tildone.app.completion_log import CompletionLog
from tildone.app.settings import Settings
from tildone.base.ids import local_time
from tildone.log.session import Session
from tildone.plan.dialects import Dialect, Reply, Tool
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.declared import internal_error
from tildone.plan.formats.markdown import bounded_checklist
from tildone.plan.text.safe import MAX_FRAME, MAX_START, reminder
from tildone.plan.text.styles import Role
from tildone.run.extension import BeforeAgentStart, BeforeSettle, ContextReply, ContextRequest
from tildone.run.extensions.skeleton import DialectExtension, OpenSession, is_shared
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.components import Component, RenderOptions, Text
from tildone.run.kit.definition import ToolDefinition, ToolResult
from tildone.run.messages import CustomMessage

RECAP = "todo-recap"


def declared(open_session: OpenSession, root: str, dialect: Dialect = DECLARED) -> Callable[[ExtensionAPI], None]:
    """Return the extension; `open_session` opens the plan's session, given the id of a conversation.

    Finished lists are logged in the project at `root`, unless the session already has a completion log.
    """
    return lambda api: DeclaredExtension(api, open_session, root, dialect).register()


class DeclaredExtension(DialectExtension):
    def __init__(self, api: ExtensionAPI, open_session: OpenSession, root: str, dialect: Dialect = DECLARED) -> None:
        super().__init__(api, dialect, open_session)
        self._root = root

    def register_hooks(self) -> None:
        self.api.on(BeforeAgentStart, self.prompted)
        self.api.on(ContextRequest, self.recap)
        self.api.on(BeforeSettle, self.nudge)

    def definition(self, tool: Tool) -> ToolDefinition:
        return self.define(tool, render_result=render_result, any_case_name=True)

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call. An internal error is reported in the envelope and leaves the list unchanged."""
        head: str | None = None
        try:
            head = self.session.state.head
            reply = session.execute(tool, params)
        except Exception as error:  # noqa: BLE001  the envelope is the contract, whatever happened
            with suppress(Exception):  # a store that cannot be read has not accepted a write either
                newest = next(self.session.store.history(self.session.name), None)
                if newest is not None and newest.id != head and newest.parent == head:
                    self.session.undo()
            return internal_error(f"{type(error).__name__}: {error}", params)
        self.show_status(ctx)
        return reply

    def open(self, ctx: ExtensionContext) -> Session:
        self._session = session = super().open(ctx)
        if session.completions is None:
            log = CompletionLog(self._root, lambda: local_time(ctx.now(), "%Y%m%d-%H%M%S"))
            self._session = session = session.using(completions=log)
        return session

    def current_list(self) -> str:
        return bounded_checklist(self.session.plan, MAX_START - MAX_FRAME)

    def prompted(self, _event: BeforeAgentStart, ctx: ExtensionContext) -> None:
        """Remember the shared list at the time of the prompt: what others add from now on, the model does not know."""
        if is_shared(self.session, ctx.conversation):
            self._shown = self.session.plan
            self.changes_reported()

    def recap(self, event: ContextRequest, _ctx: ExtensionContext) -> ContextReply | None:
        """Append a recap to the request while tasks are open. The recap is not stored in the conversation."""
        text = self.session.context()
        if text is None:
            return None
        return ContextReply([*event.messages, CustomMessage(RECAP, reminder(f"Todos: {text}"))])


def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
    """Render the text of a result that is meant for people; None selects the default renderer."""
    text = result.details.get("text") if isinstance(result.details, dict) else None
    if options.is_partial or not isinstance(text, str):
        return None
    return Text(text, Role.ERROR if options.is_error else Role.TOOL_OUTPUT)


def from_settings(dialect: Dialect, open_session: OpenSession, settings: Settings) -> Callable[[ExtensionAPI], None]:
    return declared(open_session, settings.project, dialect)


EXTENSION = from_settings
