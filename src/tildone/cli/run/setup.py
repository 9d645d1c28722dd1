"""The setup that all modes of `tildone run` share: the host, the first prompt, and the outcome of the run."""

from __future__ import annotations

import os
import shlex
from functools import partial

from tildone.cli.run.arguments import CONVERSATION_ID, SHELL, RunArguments
from tildone.core.plan import Plan
from tildone.core.query import open_tasks, progress
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import NotFound, TildoneError, UsageError
from tildone.host.host import Host
from tildone.host.messages import StopReason, last_answer
from tildone.host.model import Model
from tildone.host.prices import read_prices
from tildone.host.shell_model import ShellModel
from tildone.host.shell_model.script import read_script
from tildone.host.tools.permissions import PermissionPolicy
from tildone.host.transcript import Transcript
from tildone.host.ui import UI
from tildone.ids import now
from tildone.kit.formatting import format_count
from tildone.log.address import parse_address
from tildone.log.events import Directive
from tildone.log.store import Store
from tildone.stores.memory import MemoryStore
from tildone.value import replace, value
from tildone.wiring import open_session, open_store
from tildone.wiring.hosting import open_conversations, open_host

INTERRUPTED = 130


@value
class RunOutcome:
    """How a run ended: its exit code, the reason if it is not 0, and whether the reason has been shown."""

    code: int
    reason: str = ""
    reported: bool = True

    def exit(self) -> int:
        """Return the exit code, in a mode that does not print the outcome.

        Raises:
            TildoneError: the run failed; the message is the reason.
        """
        if self.code == TildoneError.exit_code:
            raise TildoneError(self.reason)
        return self.code


class RunSetup:
    """The model, conversation and prompt of one run."""

    def __init__(self, arguments: RunArguments) -> None:
        """Choose the conversation and the model; nothing is written yet.

        Raises:
            UsageError: there is no such model, or the plan cannot be run.
            NotFound: there is no such conversation.
        """
        self._arguments = arguments
        self._store: Store = open_store(arguments.settings) if arguments.stored else MemoryStore()
        self._model = _model(arguments)
        self.conversations = open_conversations(arguments.settings, arguments.cwd, kept=arguments.stored)
        self.transcript, forked = self._transcript()
        self.prompt = arguments.work.prompt if arguments.work else forked

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with this UI."""
        arguments = self._arguments
        return open_host(
            arguments.settings,
            self._store,
            self.transcript,
            cwd=arguments.cwd,
            model=self._model,
            mode=arguments.mode,
            ui=ui,
            policy=_policy(arguments) if arguments.tools else None,
        )

    def outcome(self, host: Host) -> RunOutcome:
        """Return how the host's last run ended."""
        last = last_answer(host.transcript.messages())
        stop_reason = last.stop_reason if last else StopReason.STOP
        state = open_session(replace(self._arguments.settings, session=host.transcript.id), BY_HAND, self._store).state
        resume_command = f"tildone resume --session {host.transcript.id}"
        if stop_reason == StopReason.ABORTED and state.directive is Directive.STOP:
            return RunOutcome(1, f"stopped by tildone stop; to go on: {resume_command}", reported=False)
        if stop_reason == StopReason.ABORTED:
            return RunOutcome(INTERRUPTED, "interrupted")
        if last is not None and stop_reason == StopReason.ERROR:
            return RunOutcome(1, last.error_message or "the model failed")
        left = len(open_tasks(state.plan))
        if left:
            paused = f"; paused, to go on: {resume_command}" if state.directive is Directive.PAUSE else ""
            remaining = f"{left} of {format_count(progress(state.plan).total, 'task')} left open"
            return RunOutcome(1, f"{remaining}{paused}", reported=False)
        return RunOutcome(0)

    def plan(self, host: Host) -> Plan:
        """Return the plan that the host works on."""
        return open_session(replace(self._arguments.settings, session=host.transcript.id), BY_HAND, self._store).plan

    def hint(self, host: Host) -> str | None:
        """Return the command that shows the history of the run; None if it is not stored."""
        if not self._arguments.stored:
            return None
        where = (
            f" --store {shlex.quote(parse_address(self._arguments.store).redacted)}" if self._arguments.store else ""
        )
        return f"How it went: tildone log --session {host.transcript.id}{where}"

    def _transcript(self) -> tuple[Transcript, str | None]:
        """Return the conversation and, if it is a fork, the text of the message it was forked at."""
        existing = self._existing()
        if self._arguments.fork is None:
            return existing or self.conversations.new(), None
        source = existing or self.conversations.latest()
        if source is None:
            raise NotFound("there is no conversation here to fork")
        return self.conversations.fork(source, self._arguments.fork)

    def _existing(self) -> Transcript | None:
        arguments = self._arguments
        if arguments.latest:
            latest = self.conversations.latest()
            if latest is None:
                raise NotFound(f"there is no conversation in {arguments.settings.session_dir} to go on with")
            return latest
        if arguments.resume is not None:
            return self.conversations.find(arguments.resume)
        return self._named(arguments.session) if arguments.session is not None else None

    def _named(self, name: str) -> Transcript:
        """Return the conversation with this id or in this file; a new one if the id is not in use."""
        if name.endswith(".jsonl") or os.sep in name:
            return self.conversations.load(name)
        if not CONVERSATION_ID.fullmatch(name):
            raise UsageError(f"{name!r} is not a valid session id: use letters, digits, dots, dashes and underscores")
        folder = self._arguments.settings.session_dir
        files = os.listdir(folder) if os.path.isdir(folder) else []
        same = [file for file in files if file.partition("_")[2] == f"{name}.jsonl"]
        if same:
            return self.conversations.load(os.path.join(folder, max(same)))
        return open_conversations(self._arguments.settings, self._arguments.cwd, new_id=partial(str, name)).new()


def _policy(arguments: RunArguments) -> PermissionPolicy:
    return PermissionPolicy(arguments.allow, outside=arguments.outside, allow_write=arguments.allow_write)


def _model(arguments: RunArguments) -> Model:
    if arguments.model == SHELL and arguments.work is not None and arguments.work.plan is not None:
        return ShellModel(read_script(arguments.work.plan, arguments.work.name), now)
    # Late, because the library behind it takes seconds to load, and a plan with commands needs none of it.
    from tildone.host.providers import open_model  # noqa: PLC0415  see above

    return open_model(arguments.model, read_prices(arguments.settings.prices))
