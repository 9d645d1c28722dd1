"""Sets up `tildone run`: its model, plan and conversation, and the commands that the person types as `/name`.

The commands are registered like those of extensions, so RPC clients list and run them, too. The commands for the plan
run the verbs of the command line in a process of their own, so both always do the same.

A plan file becomes the project's plan in one change, which `tildone undo` takes back. A file with the tasks that the
plan already consists of changes nothing, so that a run of the same file continues where the last one stopped. Of a file
with other tasks, those that are in the plan as well keep their statuses: what is done is not done again.
"""

import asyncio
import os
import shlex
import socket
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from tildone.app.edits import replace_plan
from tildone.app.importing import source_of
from tildone.app.opening import open_session, open_store, tasks_of_others
from tildone.app.person import TYPED_SOCKET
from tildone.app.settings import Settings, data_folder
from tildone.app.values import CHECK_ALLOW
from tildone.base import TildoneError, UsageError, replace
from tildone.base.distribution import program
from tildone.base.ids import now
from tildone.cli.output import columns, on_terminal, put, put_notice
from tildone.cli.output.prompts import tell_reach
from tildone.cli.output.titles import ProgressLine
from tildone.cli.run.arguments import (
    RESUME,
    SHELL,
    STARTUP,
    check_writable,
    choose_conversation,
    describe_permissions,
    options_of_run,
    parse_arguments,
    recorder,
    with_options,
    with_stored_options,
)
from tildone.cli.run.lines import OutcomeReport
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.dialects.prompts import CONTINUE, work_prompt
from tildone.plan.formats.detection import PlanFile
from tildone.plan.formats.markdown import bounded_checklist
from tildone.plan.gate import Patience
from tildone.plan.model import Phase, Plan, Rules, Task, open_tasks, progress, with_source
from tildone.plan.runs import LEASE_VARIABLE
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import MAX_START, printable, safe_text
from tildone.run import hosting
from tildone.run.asking import limited_model
from tildone.run.events import ExtensionError
from tildone.run.extension import UI, ConversationStart
from tildone.run.extensions.skeleton import SESSION
from tildone.run.host import ExtensionAPI, ExtensionContext, Host
from tildone.run.kit.definition import Aborted
from tildone.run.messages import AssistantMessage, JsonObject, UserMessage
from tildone.run.metering import HostTraces, open_host_traces
from tildone.run.model import Model, read_prices
from tildone.run.providers import open_model
from tildone.run.shell_model import ShellModel, describe_missing, tasks_without_command
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.transcript import Conversations, Transcript
from tildone.stores.agents import AgentId
from tildone.stores.memory import MemoryStore

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
        choice: hosting.RunPlan,
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
            "undo": ("undo the newest change of the plan", partial(self._move, "undo")),
            "redo": (
                "redo the change of the plan that was undone last",
                partial(self._move, "redo"),
            ),
            "log": ("show the history of the plan; /log --help lists the options", self.log),
            "pause": ("pause: the model is not told to go on when it stops", partial(self._steer, "pause")),
            "resume": ("resume after /pause or tildone stop", partial(self._steer, "resume")),
            "export": (
                "write the plan to a file: /export PLAN.md",
                lambda typed, ctx: self._show(ctx, "todo", "export", *split_words(typed)),
            ),
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
        words = split_words(typed)
        if words[:1] == ["edit"]:
            await self._edit(ctx)
        else:
            await self._show(ctx, "todo", *words)

    async def log(self, typed: str, ctx: ExtensionContext) -> None:
        code, output = await self._run("log", *split_words(typed))
        if code:
            ctx.ui.notify(output.rstrip("\n"), "error")
        else:
            await ctx.ui.page(output)

    async def _move(self, verb: str, typed: str, ctx: ExtensionContext) -> None:
        await self._show(ctx, verb, *typed.split())

    async def _steer(self, verb: str, _typed: str, ctx: ExtensionContext) -> None:
        await self._show(ctx, verb, "--session", self._settings.session)

    async def model(self, typed: str, ctx: ExtensionContext) -> None:
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
        return open_model(spec, read_prices(self._settings.prices))

    def _close_later(self, model: Model) -> None:
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


NO_LIMITS = Rules()
"""A plan from a file has no limits."""


def plan_from_file(current: Plan, file: PlanFile, *, restart: bool) -> Plan:
    """Return the plan after a file was taken over. With `restart` the statuses are those of the file."""
    if restart:
        return file.plan
    if _texts(current) == _texts(file.plan):
        return current
    statuses = {(phase.name, task.text): task.status for phase in current.phases for task in phase.tasks}

    def kept(phase: Phase, task: Task) -> Task:
        return replace(task, status=statuses.get((phase.name, task.text), task.status)) if task.status.is_open else task

    phases = (replace(phase, tasks=tuple(kept(phase, task) for task in phase.tasks)) for phase in file.plan.phases)
    return replace(file.plan, phases=tuple(phases))


def take_over(session: Session, file: PlanFile, options: str, *, restart: bool) -> list[str]:
    """Make the file the plan of the session, which `options` name. Return what the person should know of it."""
    before = session.state.head
    given = replace(file, plan=with_source(file.plan, source_of(file.path)))
    outcome = replace_plan(session, lambda plan: plan_from_file(plan, given, restart=restart), NO_LIMITS)
    notices = [f"{printable(file.path)}: {warning.text()}" for warning in file.warnings]
    here = {task.text for task in outcome.after.tasks}
    replaced = [task for _, task in open_tasks(outcome.before) if task.text not in here]
    if replaced:
        count = format_count(len(replaced), "open task")
        undo = f"{program()} undo{options}, or later {program()} checkout{options} {before}"
        notices.append(f"{count} of the plan so far replaced by {printable(file.path)}; to bring them back: {undo}")
    return notices


def memory_store(settings: Settings, *, copied: bool) -> Store:
    """Return a store in memory; `copied` means that it holds a copy of the project's plan."""
    store = MemoryStore()
    path = settings.store.path
    if copied and (path is None or os.path.exists(path)):
        plan = open_session(settings, BY_HAND, open_store(settings, read_only=True)).plan
        replace_plan(open_session(settings, BY_HAND, store), plan, NO_LIMITS)
    return store


def _texts(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(phase.name, tuple(task.text for task in phase.tasks)) for phase in plan.phases]


NOTHING_TO_DO = """\
there is nothing to do: this project's plan is empty. Three ways to begin:
  tildone todo add 'Say hello: `echo hello`', then tildone run    a plan of your own
  tildone run PLAN.md                                             a checklist in a file
  tildone run "TASK" --model PROVIDER:NAME                        a task that a model plans and does"""


class RunSetup:
    """The plan, model, conversation and prompt of one run."""

    def __init__(self, given: ParsedArgs) -> None:
        """Choose the conversation and the plan. `prepare` does the rest, which may take seconds."""
        self.notify: Callable[[str], None] = put_notice
        self.prompt: str | None = None
        arguments = parse_arguments(given)
        if arguments.stored:
            check_writable(arguments.settings.session_dir)
        self.conversations = hosting.open_conversations(arguments.settings, arguments.cwd, kept=arguments.stored)
        chosen = choose_conversation(self.conversations, given)
        self.transcript, self.start_reason = chosen.transcript, chosen.reason
        stored = hosting.stored_options(self.transcript)
        arguments = self._arguments = with_options(arguments, with_stored_options(given, stored))
        settings = arguments.settings
        self._host: Host | None = None
        self._plan = hosting.RunPlan(settings, is_given=given.has(SESSION))
        if arguments.file or (arguments.task is None and self.start_reason == STARTUP):
            self._plan.use_plan(self.transcript)
        copied = arguments.task is None and arguments.file is None
        self.store = open_store(settings) if arguments.stored else memory_store(settings, copied=copied)
        self._opened = open_session(self.settings, BY_HAND, self.store)
        self.traces: HostTraces | None = None
        self._model: Model | None = None
        self._stored_options, self._given, self._forked_text = stored, given, chosen.forked_text
        self.mode = arguments.mode
        self.report = OutcomeReport(arguments, lambda: self._session, self.conversations)

    def prepare(self) -> None:
        """Open the model. A plan file is taken over last, once the run can start."""
        self._model = self._checked_model()
        for permission in describe_permissions(self._stored_options, self._given, terminal=on_terminal(sys.stderr)):
            width = columns(sys.stderr)
            self.notify(textwrap.fill(permission, width) if width else permission)
        if not os.environ.get(LEASE_VARIABLE):
            # A worker has said it of its own patterns.
            tell_reach(CHECK_ALLOW, self.settings.check_allow, self.notify)
        file, task = self._arguments.file, self._arguments.task or self._forked_text
        if file is not None:
            restart, options = self._arguments.given.has("restart"), self.report.plan_options()
            for notice in take_over(self._session, file, options, restart=restart):
                self._say(notice)
        plan = self._session.plan
        if task or open_tasks(plan):
            self.prompt = task or work_prompt(plan)
        elif self.start_reason == RESUME and self._is_unfinished():
            self.prompt = CONTINUE

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with this UI. The run is prepared."""
        arguments, model = self._arguments, self._model
        if model is None:
            raise AssertionError("the run is not prepared")
        self.traces = self.traces or open_host_traces(self.settings, self.store, os.environ, self._say)
        given = arguments.given
        policy = PermissionPolicy(
            given.values("allow"),
            outside=given.has("outside"),
            allow_write=given.values("allow-write"),
            pass_env=given.values("pass-env"),
        )
        host = hosting.open_host(
            arguments.settings,
            self.store,
            self.transcript,
            cwd=arguments.cwd,
            model=limited_model(model, self.store, os.environ, ui),
            mode=arguments.mode,
            ui=ui,
            policy=None if given.has("no-builtin-tools") else policy,
            conversations=self.conversations,
            opened=self.traces.follow if self.traces else None,
            plan=self._plan,
        )
        self._host = host
        commands = PersonCommands(
            host,
            self.conversations,
            self._plan,
            lambda: self.plan,
            remember=recorder(host, options_of_run(given, arguments.settings), self._plan),
            stored=self.store.durable,
        )
        host.load([("commands", commands.register)])
        self._load_extensions(host)
        return host

    def _load_extensions(self, host: Host) -> None:
        """Load the person's extensions. The run goes on without those that fail; programs are told by an event."""
        arguments = self._arguments
        sources = hosting.extension_sources(
            arguments.settings,
            arguments.given.values("extension"),
            folder=arguments.cwd,
            data=data_folder(os.environ),
            all_origins=not arguments.given.has("no-extensions"),
        )
        failures = host.load([(source.name, hosting.registration(source)) for source in sources])
        for failure in failures:
            self._say(printable(f"the extension {failure.extension} is not loaded: {failure.error}"))
        if failures and arguments.mode in ("json", "rpc"):
            publish_at_start(host, failures)

    @property
    def settings(self) -> Settings:
        return self._plan.settings_of(self._open)

    @property
    def _open(self) -> Transcript:
        """The open conversation; a client may have opened another one than the first."""
        return self._host.transcript if self._host else self.transcript

    @property
    def _session(self) -> Session:
        settings = self.settings
        if self._opened.name != settings.session:
            self._opened = open_session(settings, BY_HAND, self.store)
        return self._opened

    @property
    def can_ask(self) -> bool:
        """Whether a person at a terminal may say what is to be done: the shell driver knows only the plan."""
        return self._arguments.model != SHELL

    @property
    def is_prepared(self) -> bool:
        return self._model is not None

    @property
    def title(self) -> str:
        name = self.settings.session
        if name == self._open.id:
            return "own list"
        return os.path.basename(name) or name

    @property
    def patience(self) -> Patience:
        return self._session.patience

    @property
    def plan(self) -> Plan:
        return self._session.plan

    def nothing_to_do(self) -> int:
        """Report that there is no prompt and nobody to ask for one. A plan that is done is a success."""
        done = progress(self._session.plan)
        if not done.total:
            raise UsageError(NOTHING_TO_DO)
        if self._arguments.mode != "json":
            put("The task is done." if done.total == 1 else f"All {format_count(done.total, 'task')} are done.")
        if self._arguments.file is not None:
            self._say(f"to run it again: tildone run {shlex.quote(self._arguments.file.path)} --restart")
        return 0

    def _checked_model(self) -> Model:
        """Open the model. The shell driver is refused if it could not finish the plan."""
        name = self._arguments.model
        if name != SHELL:
            line = ProgressLine()
            if self.notify is put_notice:
                line.say(f"Loading the library for {name} …")
            with line:
                return open_model(name, read_prices(self._arguments.settings.prices))
        plan, file = self._session.plan, self._arguments.file
        if file is not None:
            plan = plan_from_file(plan, file, restart=self._arguments.given.has("restart"))
        missing = tasks_without_command(plan)
        if missing and self._arguments.mode != "rpc":
            raise UsageError(describe_missing(missing))

        def taken() -> frozenset[int]:
            return tasks_of_others(self.settings, self.store, str(AgentId(hosting.AGENT, self._open.id)))

        return ShellModel(lambda: self._session.plan, now, taken if self.store.durable else frozenset)

    def _is_unfinished(self) -> bool:
        """Return whether the conversation ended with a message that has no answer, or a failed one."""
        for message in reversed(self.transcript.messages()):
            if isinstance(message, AssistantMessage):
                return message.failed
            if isinstance(message, UserMessage):
                return True
        return False

    def _say(self, notice: str) -> None:
        """Tell the person; standard output belongs to the mode."""
        if notice:
            self.notify(f"tildone: {notice}")


def publish_at_start(host: Host, failures: Sequence[ExtensionError]) -> None:
    """Publish failures once the conversation is opened: only then do programs listen."""
    pending = list(failures)

    def publish(_event: ConversationStart, _ctx: ExtensionContext) -> None:
        while pending:
            host.publish(pending.pop(0))

    host.load([("extensions", lambda api: api.on(ConversationStart, publish))])
