"""The person's commands in a run, typed as `/name`: for the model, the plan and the conversation.

They are registered like the commands of extensions, so RPC clients list and run them, too. The commands for the plan
run the verbs of the command line in a process of their own, so both always do the same.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

from tildone.agents.shell import TYPED_SOCKET
from tildone.config import Settings
from tildone.core.plan import Plan
from tildone.errors import TildoneError
from tildone.formats.markdown.writer import bounded_checklist
from tildone.host.conversations import Conversations
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import ConversationStart
from tildone.host.host import Host
from tildone.host.messages import AssistantMessage
from tildone.host.model import Model
from tildone.host.prices import read_prices
from tildone.host.wire import JsonObject
from tildone.kit.signal import Aborted
from tildone.views.limits import MAX_START
from tildone.views.sanitize import printable, safe_text
from tildone.wiring.run_plan import RunPlan

ONE_TEXT = ("add", "append")
"""Verbs whose unquoted words are one text."""

SHELL_API = "shell"
UNSTORED = "The plan of this run is not stored (--no-session), so it cannot be changed from here"
NOTHING_TO_COMPACT = "There is nothing to compact"
SHELL_READS_PLAN = f"{NOTHING_TO_COMPACT}: the shell driver reads the plan, not the conversation"
PLAN_NOW = "The plan at this point:"
NO_EDITOR = "Nothing was edited: the editor was closed without saving, or there is none; set $VISUAL or $EDITOR"
EDIT_CONFLICT = "Nothing was saved: the plan has changed while you edited it"

NEW, BEGINS = "new", "A new conversation begins. "
PROJECT, OWN = "project", "own"
"""What `/use` takes."""

Run = Callable[[str, ExtensionContext], Awaitable[None]]


class PersonCommands:
    """The commands of one host. `plan` returns its plan, which is `stored` unless the run keeps nothing.

    `choice` says which plan a conversation works on. `remember` stores the choice with the conversation, and other
    options of the run that the person has changed.
    """

    def __init__(
        self,
        host: Host,
        conversations: Conversations,
        choice: RunPlan,
        plan: Callable[[], Plan],
        *,
        remember: Callable[[JsonObject], None],
        stored: bool,
    ) -> None:
        self._host = host
        self._conversations = conversations
        self._choice = choice
        self._plan = plan
        self._spec = self._settings.model or host.model.id
        self._remember = remember
        self._stored = stored
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def _settings(self) -> Settings:
        return self._choice.settings_of(self._host.transcript)

    def register(self, api: ExtensionAPI) -> None:
        """Register the commands; one that the dialect's extension has registered stays as it is."""
        commands: dict[str, tuple[str, Run]] = {
            "todo": ("show or change the plan; /todo --help lists the verbs", self.todo),
            "undo": ("undo the newest change of the plan", self.undo),
            "redo": ("redo the change of the plan that was undone last", self.redo),
            "pause": ("pause: the model is not told to continue when it stops", self.pause),
            "resume": ("resume after /pause or tildone stop", self.resume),
            "export": ("write the plan to a file: /export PLAN.md", self.export),
            "model": ("show the model; /model PROVIDER:NAME switches to another", self.model),
            "compact": ("replace the conversation by a summary of it; the plan is kept", self.compact),
            "use": (
                "work on the project's plan (/use project), or on the conversation's own list (/use own)",
                self.use,
            ),
            "new": ("begin a new conversation, with a list of its own", self.new),
            "clear": ("begin a new conversation on the same plan", self.clear),
            "help": ("list the commands", self.help),
        }
        api.on(ConversationStart, self.say_which_plan)
        for name, (description, run) in commands.items():
            if name not in self._host.commands:
                api.register_command(name, description, run)

    async def todo(self, typed: str, ctx: ExtensionContext) -> None:
        """Run `tildone todo` on the plan of this run."""
        words = split_words(typed)
        if words[:1] == ["edit"]:
            await self._edit(ctx)
        else:
            await self._show(ctx, "todo", *words)

    async def redo(self, typed: str, ctx: ExtensionContext) -> None:
        """Redo the change that was undone last."""
        await self._show(ctx, "redo", *typed.split())

    async def pause(self, _typed: str, ctx: ExtensionContext) -> None:
        """Let the model rest at the end of its turn."""
        await self._show(ctx, "pause", "--session", self._settings.session)

    async def resume(self, _typed: str, ctx: ExtensionContext) -> None:
        """Keep the model on its plan again."""
        await self._show(ctx, "resume", "--session", self._settings.session)

    async def export(self, typed: str, ctx: ExtensionContext) -> None:
        """Write the plan to a file."""
        await self._show(ctx, "todo", "export", *split_words(typed))

    async def undo(self, typed: str, ctx: ExtensionContext) -> None:
        """Undo the newest change of the plan, or as many as are named."""
        await self._show(ctx, "undo", *typed.split())

    async def model(self, typed: str, ctx: ExtensionContext) -> None:
        """Show the model or switch to another; after an error, the old one stays."""
        spec, old = typed.strip(), self._host.model
        if not spec:
            ctx.ui.notify(f"{self._spec}; /model PROVIDER:NAME switches to another")
            return
        try:
            new = await asyncio.to_thread(self._open_model, spec)
        except TildoneError as error:
            ctx.ui.notify(f"{error}\n{self._spec} goes on answering", "error")
            return
        self._host.set_model(new)
        self._spec = spec
        self._remember({"model": spec})
        ctx.ui.notify(f"{spec} answers from now on")
        self._close_later(old)

    async def use(self, typed: str, ctx: ExtensionContext) -> None:
        """Take up the project's plan, or the conversation's own list."""
        transcript, wanted = self._host.transcript, typed.strip()
        if wanted in (PROJECT, OWN) and (wanted == OWN) != self._choice.has_own_list(transcript):
            await self._host.abort("another plan is taken up")
            if wanted == OWN:
                self._choice.use_own_list(transcript)
            else:
                self._choice.use_plan(transcript)
            self._remember({})
            await self._host.start("resume")
        else:
            ctx.ui.notify(self._which_plan())

    async def new(self, _typed: str, _ctx: ExtensionContext) -> None:
        """Begin a new conversation, with a list of its own unless a plan is named for all of them."""
        await self._host.open(self._conversations.new(), NEW)

    async def clear(self, _typed: str, _ctx: ExtensionContext) -> None:
        """Begin a new conversation on the same plan."""
        made = self._conversations.new()
        self._choice.use_plan(made, self._settings.session)
        await self._host.open(made, NEW)

    def say_which_plan(self, event: ConversationStart, ctx: ExtensionContext) -> None:
        """Tell the person at a terminal which plan a model works on in the opened conversation."""
        if ctx.mode == "terminal" and ctx.has_ui and self._host.model.api != SHELL_API:
            ctx.ui.notify(f"{BEGINS if event.reason == NEW else ''}{self._which_plan()}")

    def _which_plan(self) -> str:
        """Return which plan the conversation works on, and how the other one is taken up."""
        if self._choice.has_own_list(self._host.transcript):
            return "This conversation has its own list; /use project takes up the project's plan."
        session = self._settings.session
        name = "the project's plan" if os.path.isabs(session) else f"the plan {printable(session)}"
        return f"This conversation works on {name}; /use own begins its own list."

    async def compact(self, _typed: str, ctx: ExtensionContext) -> None:
        """Let the model summarise the conversation, and continue from the summary."""
        if self._host.model.api == SHELL_API:
            ctx.ui.notify(SHELL_READS_PLAN)
            return
        if not any(isinstance(message, AssistantMessage) for message in self._host.transcript.messages()):
            ctx.ui.notify(NOTHING_TO_COMPACT)
            return
        plan = self._plan()
        try:
            await self._host.compact(
                f"{PLAN_NOW}\n{safe_text(bounded_checklist(plan, MAX_START)).rstrip()}" if plan.tasks else ""
            )
        except Aborted:
            ctx.ui.notify("Nothing was compacted: it was interrupted", "warning")
        except TildoneError as error:
            ctx.ui.notify(f"Nothing was compacted: {error}", "error")
        else:
            ctx.ui.notify("The conversation is replaced by a summary of it; the plan is kept")

    async def help(self, _typed: str, ctx: ExtensionContext) -> None:
        ctx.ui.notify(command_list(self._host))

    def _open_model(self, spec: str) -> Model:
        # Late, because the library behind it takes seconds to load.
        from tildone.host.providers import open_model  # noqa: PLC0415  see above

        return open_model(spec, read_prices(self._settings.prices))

    def _close_later(self, model: Model) -> None:
        """Close a model once the turn that uses it is over."""

        async def close() -> None:
            await self._host.settled()
            await model.close()

        task = asyncio.ensure_future(close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _edit(self, ctx: ExtensionContext) -> None:
        """Let the person edit the plan as Markdown; a plan that changes meanwhile is not overwritten."""
        code, before = await self._run("todo", "export", "-")
        if code:
            ctx.ui.notify(before, "error")
            return
        edited = await ctx.ui.editor("The plan, as Markdown", before)
        if edited is None or edited == before:
            ctx.ui.notify("Nothing changed" if edited == before else NO_EDITOR, "info")
        elif (await self._run("todo", "export", "-"))[1] != before:
            ctx.ui.notify(EDIT_CONFLICT, "warning")
        else:
            await self._show(ctx, "todo", "import", "-", given=edited)

    async def _show(self, ctx: ExtensionContext, *argv: str, given: str = "") -> None:
        code, output = await self._run(*argv, given=given)
        ctx.ui.notify(output.rstrip("\n"), "error" if code else "info")

    async def _run(self, *argv: str, given: str = "") -> tuple[int, str]:
        """Run a verb of the command line on the plan of this run; return its exit code and its output."""
        if not self._stored:
            return 1, UNSTORED
        settings = self._settings
        environ = {"TILDONE_STORE": str(settings.store), "TILDONE_SESSION": settings.session, "NO_COLOR": "1"}
        ours, theirs = socket.socketpair()
        with ours, theirs:
            # Without it, the command would be one of the model. Windows passes no sockets on.
            passed = () if os.name == "nt" else (theirs.fileno(),)
            environ |= {TYPED_SOCKET: str(passed[0])} if passed else {}
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "tildone", *argv),
                cwd=self._host.ctx.cwd,
                env=os.environ | environ,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                # Ctrl-C is for this program.
                start_new_session=True,
                pass_fds=passed,
            )
            output, _ = await process.communicate(given.encode())
        return process.returncode or 0, output.decode("utf-8", "replace")


def command_list(host: Host, more: Sequence[tuple[str, str]] = ()) -> str:
    """Return the commands of a host, and more rows, one per line."""
    rows = [*((f"/{command.name}", command.description) for command in host.commands.values()), *more]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name.ljust(width)}  {description}" for name, description in rows)


def split_words(typed: str) -> list[str]:
    """Split what was typed into the arguments of a verb. Quotes group words; the text of a new task needs none."""
    verb, _, rest = typed.strip().partition(" ")
    rest = rest.strip()
    if verb in ONE_TEXT and rest and '"' not in rest and not rest.startswith("-"):
        return [verb, rest]
    try:
        return shlex.split(typed)
    except ValueError:  # an apostrophe is no quote
        return typed.split()
