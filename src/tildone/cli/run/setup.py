"""The setup that all modes of `tildone run` share: the plan, the conversation, the host and the first prompt."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Sequence

from tildone.agents.identity import AgentId
from tildone.app.opening import open_session, open_store, tasks_of_others
from tildone.cli.output.patterns import tell_reach
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import columns, on_terminal, put, put_notice
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.run.arguments import SHELL, parse_arguments, with_options
from tildone.cli.run.choosing import RESUME, STARTUP, check_writable, choose_conversation
from tildone.cli.run.outcome import OutcomeReport
from tildone.cli.run.person_commands import PersonCommands
from tildone.cli.run.project_plan import memory_store, plan_from_file, take_over
from tildone.cli.run.remembered import (
    describe_permissions,
    options_of_run,
    recorder,
    with_stored_options,
)
from tildone.config import Settings, data_folder
from tildone.config.values import CHECK_ALLOW
from tildone.core.plan import Plan
from tildone.core.query import open_tasks, progress
from tildone.dialects.by_hand import BY_HAND
from tildone.dialects.run_prompts import CONTINUE, work_prompt
from tildone.errors import UsageError
from tildone.extensions.restoring import SESSION
from tildone.host.events import ExtensionError
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import ConversationStart
from tildone.host.host import Host
from tildone.host.messages import AssistantMessage, UserMessage
from tildone.host.model import Model
from tildone.host.prices import read_prices
from tildone.host.shell_model import ShellModel
from tildone.host.shell_model.script import describe_missing, tasks_without_command
from tildone.host.tools.permissions import PermissionPolicy
from tildone.host.ui import UI
from tildone.ids import now
from tildone.kit.formatting import format_count
from tildone.log.fleet.lease import LEASE_VARIABLE
from tildone.loop.decision import Patience
from tildone.session import Session
from tildone.telemetry.opening import open_host_traces
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable
from tildone.wiring.extension_files import extension_sources, registration
from tildone.wiring.hosting import AGENT, open_conversations, open_host
from tildone.wiring.run_plan import RunPlan, stored_options
from tildone.wiring.unattended import limited_model

if TYPE_CHECKING:
    from tildone.telemetry.host_traces import HostTraces

NOTHING_TO_DO = """\
there is nothing to do: this project's plan is empty. Three ways to begin:
  tildone todo add 'Say hello: `echo hello`', then tildone run    a plan of your own
  tildone run PLAN.md                                             a checklist in a file
  tildone run "TASK" --model PROVIDER:NAME                        a task that a model plans and does"""


class RunSetup:
    """The plan, model, conversation and prompt of one run."""

    def __init__(self, given: ParsedArgs) -> None:
        """Choose the conversation and the plan. `prepare` does the rest, which may take seconds.

        Raises:
            UsageError: an argument is invalid.
            NotFound: there is no such conversation or plan file.
            StoreError: the plan or the conversation cannot be stored.
        """
        self.notify: Callable[[str], None] = put_notice
        self.prompt: str | None = None
        arguments = parse_arguments(given)
        if arguments.stored:
            check_writable(arguments.settings.session_dir)
        self.conversations = open_conversations(arguments.settings, arguments.cwd, kept=arguments.stored)
        chosen = choose_conversation(self.conversations, given)
        self.transcript, self.start_reason = chosen.transcript, chosen.reason
        stored = stored_options(self.transcript)
        arguments = self._arguments = with_options(arguments, with_stored_options(given, stored))
        settings = arguments.settings
        self._host: Host | None = None
        self._plan = RunPlan(settings, is_given=given.has(SESSION))
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
        """Open the model. A plan file is taken over last, once the run can start.

        Raises:
            UsageError: there is no such model, or the plan cannot be run.
            StoreError: the plan cannot be stored.
        """
        self._model = self._checked_model()
        for permission in describe_permissions(self._stored_options, self._given, terminal=on_terminal(sys.stderr)):
            width = columns(sys.stderr)
            self.notify(textwrap.fill(permission, width) if width else permission)
        if not os.environ.get(LEASE_VARIABLE):
            # A worker has said it of its own patterns.
            tell_reach(CHECK_ALLOW, self.settings.check_allow, self.notify)
        self._take_over()
        self.prompt = self._first_prompt(self._forked_text)

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with this UI. The run is prepared."""
        arguments, model = self._arguments, self._model
        if model is None:
            raise AssertionError("the run is not prepared")
        self.traces = self.traces or open_host_traces(self.settings, self.store, os.environ, self._say)
        host = open_host(
            arguments.settings,
            self.store,
            self.transcript,
            cwd=arguments.cwd,
            model=limited_model(model, self.store, os.environ, ui),
            mode=arguments.mode,
            ui=ui,
            policy=_policy(arguments.given),
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
            remember=recorder(host, options_of_run(arguments.given, arguments.settings), self._plan),
            stored=self.store.durable,
        )
        host.load([("commands", commands.register)])
        self._load_extensions(host)
        return host

    def _load_extensions(self, host: Host) -> None:
        """Load the person's extensions. The run goes on without those that fail; programs are told by an event."""
        arguments = self._arguments
        sources = extension_sources(
            arguments.settings,
            arguments.given.values("extension"),
            folder=arguments.cwd,
            data=data_folder(os.environ),
            all_origins=not arguments.given.has("no-extensions"),
        )
        failures = host.load([(source.name, registration(source)) for source in sources])
        for failure in failures:
            self._say(printable(f"the extension {failure.extension} is not loaded: {failure.error}"))
        if failures and arguments.mode in ("json", "rpc"):
            publish_at_start(host, failures)

    @property
    def settings(self) -> Settings:
        """The settings, with the session of the plan that the open conversation works on."""
        return self._plan.settings_of(self._host.transcript if self._host else self.transcript)

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
        """What the plan is called."""
        name = self.settings.session
        if name == (self._host.transcript if self._host else self.transcript).id:
            return "own list"
        return os.path.basename(name) or name

    @property
    def patience(self) -> Patience:
        """The bounds of the plan's session."""
        return self._session.patience

    @property
    def plan(self) -> Plan:
        return self._session.plan

    def nothing_to_do(self) -> int:
        """Report that there is no prompt and nobody to ask for one. A plan that is done is a success.

        Raises:
            UsageError: the plan is empty.
        """
        done = progress(self._session.plan)
        if not done.total:
            raise UsageError(NOTHING_TO_DO)
        if self._arguments.mode != "json":
            put("The task is done." if done.total == 1 else f"All {format_count(done.total, 'task')} are done.")
        if self._arguments.file is not None:
            self._say(f"to run it again: tildone run {shlex.quote(self._arguments.file.path)} --restart")
        return 0

    def _planned(self) -> Plan:
        file = self._arguments.file
        plan = self._session.plan
        return plan_from_file(plan, file, restart=self._arguments.given.has("restart")) if file else plan

    def _checked_model(self) -> Model:
        """Open the model. The shell driver is refused if it could not finish the plan."""
        name = self._arguments.model
        if name != SHELL:
            line = ProgressLine()
            if self.notify is put_notice:
                line.say(f"Loading the library for {name} …")
            with line:
                # Late, because it takes seconds to load, and a plan with commands needs none of it.
                from tildone.host.providers import open_model  # noqa: PLC0415  see above

                return open_model(name, read_prices(self._arguments.settings.prices))
        missing = tasks_without_command(self._planned())
        if missing and self._arguments.mode != "rpc":
            raise UsageError(describe_missing(missing))

        def taken() -> frozenset[int]:
            return tasks_of_others(self.settings, self.store, str(AgentId(AGENT, self._conversation_id())))

        return ShellModel(lambda: self._session.plan, now, taken if self.store.durable else frozenset)

    def _conversation_id(self) -> str:
        """Return the id of the open conversation; a client may have opened another one."""
        return self._host.transcript.id if self._host else self.transcript.id

    def _take_over(self) -> None:
        file = self._arguments.file
        if file is not None:
            restart, options = self._arguments.given.has("restart"), self.report.plan_options()
            for notice in take_over(self._session, file, options, restart=restart):
                self._say(notice)

    def _first_prompt(self, forked: str | None) -> str | None:
        if self._arguments.task or forked:
            return self._arguments.task or forked
        plan = self._session.plan
        if open_tasks(plan):
            return work_prompt(plan)
        return CONTINUE if self.start_reason == RESUME and self._is_unfinished() else None

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


def _policy(given: ParsedArgs) -> PermissionPolicy | None:
    if given.has("no-builtin-tools"):
        return None
    return PermissionPolicy(
        given.values("allow"),
        outside=given.has("outside"),
        allow_write=given.values("allow-write"),
        pass_env=given.values("pass-env"),
    )
