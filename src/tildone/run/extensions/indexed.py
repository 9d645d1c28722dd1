"""The `indexed` dialect in a host: its tools, a status bar, hidden context, and a countdown before each nudge.

Custom types and status keys are those of the original extension, til-done, for compatibility with its conversations
and user interfaces.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from tildone.app.settings import Settings
from tildone.log.session import Session
from tildone.plan.dialects import Dialect, Reply, Tool
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.indexed import STATUSES
from tildone.plan.events import StopFingerprint
from tildone.plan.gate import GiveUp, GoOn, Rest, Tick, Turn, countdown
from tildone.plan.text import lists as indexed_tools
from tildone.plan.text import safe as widget
from tildone.plan.text.safe import NO_TODOS, numbered_list
from tildone.run import extension
from tildone.run.events import AgentEnd
from tildone.run.extensions.skeleton import DialectExtension, OpenSession, definition, limit_notice, with_refusals
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.components import Component, RenderOptions, Text
from tildone.run.kit.definition import ToolDefinition, ToolResult
from tildone.run.messages import CustomMessage, StopReason, last_answer, text_of
from tildone.run.turn_loop import Delivery

CONTEXT_TYPE, COMPLETE_TYPE, COUNTDOWN_KEY = "til-done-context", "til-done-complete", "til-done-countdown"
SUMMARY_STATUS, ACTIVE_STATUS = "til-done", "til-done-active"
CALL_RENDERERS: dict[str, Callable[[Any], Any]] = {
    "write_todos": indexed_tools.write_call,
    "list_todos": lambda _: indexed_tools.list_call(),
    "edit_todos": indexed_tools.edit_call,
}


def indexed(
    open_session: OpenSession, ticks: Sequence[Tick] = countdown(), dialect: Dialect = INDEXED
) -> Callable[[ExtensionAPI], None]:
    """Return the extension; `open_session` opens the plan's session, given the id of a conversation."""
    return lambda api: IndexedExtension(api, open_session, ticks, dialect).register()


class IndexedExtension(DialectExtension):
    def __init__(
        self, api: ExtensionAPI, open_session: OpenSession, ticks: Sequence[Tick], dialect: Dialect = INDEXED
    ) -> None:
        super().__init__(api, dialect, open_session)
        self._ticks = ticks
        self._timers: list[Callable[[], None]] = []

    def register_hooks(self) -> None:
        self.api.on(extension.BeforeAgentStart, self.add_context)
        self.api.on(AgentEnd, self.turn_ended)
        self.api.on(extension.Interruption, self.interrupted)
        # The user interface ends, too: as in the original, its widget stays as it is.
        self.api.on(extension.ConversationEnd, self.conversation_ended)
        for custom_type in (CONTEXT_TYPE, COMPLETE_TYPE, COUNTDOWN_KEY):
            self.api.register_message_renderer(custom_type, partial(_shown_message, custom_type))

    def definition(self, tool: Tool) -> ToolDefinition:
        return definition(
            tool,
            self.call,
            lambda: self.session,
            render_call=lambda args: Text(CALL_RENDERERS[tool.name](args)),
            render_result=self.render,
        )

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        reply = session.execute(tool, params)
        if "error" not in reply.details and not tool.hints.read_only:
            self.show_status(ctx)
        return reply

    def render(self, result: ToolResult, _options: RenderOptions) -> Component:
        """Render the list after a call, or the error.

        The details of `list_todos` omit the list, so its result is rendered from its text.
        """
        details = result.details
        is_listing = isinstance(details, dict) and details.get("action") == "list" and not details.get("todos")
        if is_listing and result.text != NO_TODOS:
            return Text(indexed_tools.listing(result.text))
        return with_refusals(Text(indexed_tools.result(result.text, result.details, STATUSES)), result)

    def conversation_opened(self, event: extension.ConversationStart, ctx: ExtensionContext) -> None:
        """Cancel a running countdown, restore the plan of the conversation, and reset the count of nudges."""
        self.cancel(event, ctx)
        super().conversation_opened(event, ctx)
        self.session.reset_counts(by_person=False)

    def branch_chosen(self, event: extension.BranchChange, ctx: ExtensionContext) -> None:
        """Cancel a running countdown, restore the plan of the branch, and reset the count of nudges."""
        self.cancel(event, ctx)
        super().branch_chosen(event, ctx)
        self.session.reset_counts(by_person=False)

    def add_context(self, event: extension.BeforeAgentStart, ctx: ExtensionContext) -> extension.AgentStartReply | None:
        """Add the plan to the model's context, hidden from the person."""
        reply = super().add_context(event, ctx)
        return extension.AgentStartReply(CustomMessage(CONTEXT_TYPE, self.session.context() or "")) if reply else None

    def current_list(self) -> str:
        """Return the list with the positions by which the model names its items."""
        return numbered_list(self.session.plan)

    def turn_ended(self, event: AgentEnd, ctx: ExtensionContext) -> None:
        """Start a countdown to the next turn if the agent stopped with open tasks, and cancel any earlier one."""
        if event.will_retry:
            return
        last = last_answer(event.messages)
        stop = last.stop_reason if last else None
        files = StopFingerprint(self.session.parts.files())
        turn = Turn(aborted=stop == StopReason.ABORTED, errored=stop == StopReason.ERROR, fingerprint=files)
        was_counting = self._stop_countdown()
        if isinstance(self.session.decide(turn), GoOn):
            self._start_countdown(turn, ctx)
            return
        self._conclude(turn)
        if was_counting and ctx.has_ui:
            ctx.ui.set_widget(COUNTDOWN_KEY, None)

    def _conclude(self, turn: Turn) -> None:
        """Record and carry out what the end of a turn leads to now: a prompt, an announcement, or nothing."""
        verdict = self.session.turn_ended(turn)
        match verdict.decision:
            case GoOn():
                self._send(verdict.prompt or "")
            case GiveUp(bound, limit):
                self.api.send_message(CustomMessage(COMPLETE_TYPE, limit_notice(bound, limit), display=True))
            case Rest():  # exhaustive
                pass

    def interrupted(self, _event: extension.Interruption, ctx: ExtensionContext) -> None:
        """Cancel a running countdown, and remove its widget: the person has taken over."""
        if self._stop_countdown() and ctx.has_ui:
            ctx.ui.set_widget(COUNTDOWN_KEY, None)

    def cancel(self, _event: extension.ConversationStart | extension.BranchChange, ctx: ExtensionContext) -> None:
        """Cancel the countdown: the plan was replaced."""
        self._stop_countdown()
        if ctx.has_ui:
            ctx.ui.set_widget(COUNTDOWN_KEY, None)

    def conversation_ended(self, _event: extension.ConversationEnd, _ctx: ExtensionContext) -> None:
        self._stop_countdown()

    def _start_countdown(self, turn: Turn, ctx: ExtensionContext) -> None:
        """Schedule the ticks of the countdown; without a user interface, a single timer."""
        send_nudge = partial(self._send_nudge, turn)
        if not ctx.has_ui:
            self._timers.append(ctx.after(self._ticks[-1].at, send_nudge, holds=True))
            return
        for tick in self._ticks:
            run_tick = partial(self._run_tick, ctx, tick, send_nudge)
            if tick.at or tick.fires:
                self._timers.append(ctx.after(tick.at, run_tick, holds=tick.fires))
            else:
                run_tick()

    def _run_tick(self, ctx: ExtensionContext, tick: Tick, send_nudge: Callable[[], None]) -> None:
        try:
            if not tick.fires:
                ctx.ui.set_widget(COUNTDOWN_KEY, [widget.countdown_text(tick.left)], "aboveEditor")
            elif ctx.has_ui:
                ctx.ui.set_widget(COUNTDOWN_KEY, None)
        except Exception:  # noqa: BLE001  a user interface that fails counts as an interruption
            self._stop_countdown()
            ctx.ui.set_widget(COUNTDOWN_KEY, None)
            return
        if tick.fires:
            send_nudge()

    def _send_nudge(self, turn: Turn) -> None:
        """Send the prompt for the plan as it is now. It counts from now on: an interrupted countdown sends nothing."""
        self._stop_countdown()
        self._conclude(turn)

    def _send(self, prompt: str) -> None:
        """Send the prompt; if a turn has begun meanwhile, when that ends. One that cannot be sent does not count."""
        for behavior in (None, Delivery.FOLLOW_UP):
            with suppress(Exception):  # the host may raise anything
                self.api.send_user_message(prompt, deliver_as=behavior)
                return
        self.session.retract_nudge()

    def _stop_countdown(self) -> bool:
        was_counting = bool(self._timers)
        while self._timers:
            self._timers.pop()()
        return was_counting

    def show_status(self, ctx: ExtensionContext) -> None:
        if ctx.has_ui:
            ctx.ui.set_status(SUMMARY_STATUS, widget.status_text(self.session.plan))
            ctx.ui.set_status(ACTIVE_STATUS, widget.active_tasks(self.session.plan))


def _shown_message(kind: str, message: CustomMessage) -> Text:
    return Text(indexed_tools.message(kind, text_of(message)))


def from_settings(dialect: Dialect, open_session: OpenSession, settings: Settings) -> Callable[[ExtensionAPI], None]:
    return indexed(open_session, countdown(settings.countdown), dialect)


EXTENSION = from_settings
