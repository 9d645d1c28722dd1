"""What every mode of `tildone run` starts from: the host, the first prompt, and the outcome of the run."""

from __future__ import annotations

import os
import shlex
from functools import partial

from tildone.cli.run.arguments import ID, SHELL, RunArguments
from tildone.core.query import open_tasks, progress
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import NotFound, TildoneError, UsageError
from tildone.host.host import Host
from tildone.host.messages import StopReason, last_answer
from tildone.host.model import Model
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
    why: str = ""
    heard: bool = True

    def exit(self) -> int:
        """The exit code, for a mode that has not shown the outcome.

        Raises:
            TildoneError: the run failed; the message is the reason.
        """
        if self.code == TildoneError.exit_code:
            raise TildoneError(self.why)
        return self.code


class RunSetup:
    """One run: its model and conversation are chosen, its host is not open yet."""

    def __init__(self, arguments: RunArguments) -> None:
        """Choose the conversation and the model; nothing is written yet.

        Raises:
            UsageError: there is no such model, or the plan cannot be run.
            NotFound: there is no such conversation.
        """
        self._arguments = arguments
        self._store: Store = open_store(arguments.settings) if arguments.kept else MemoryStore()
        self._model = _model(arguments)
        self.conversations = open_conversations(arguments.settings, arguments.cwd, kept=arguments.kept)
        self.transcript, forked = self._transcript()
        self.prompt = arguments.work.prompt if arguments.work else forked

    def open(self, ui: UI | None = None) -> Host:
        """The host, with that UI."""
        arguments = self._arguments
        return open_host(
            arguments.settings,
            self._store,
            self.transcript,
            cwd=arguments.cwd,
            model=self._model,
            mode=arguments.mode,
            ui=ui,
            policy=PermissionPolicy(arguments.allow, outside=arguments.outside) if arguments.tools else None,
        )

    def verdict(self, host: Host) -> RunOutcome:
        """How the last run of the host ended."""
        last = last_answer(host.transcript.messages())
        reason = last.stop_reason if last else StopReason.STOP
        state = open_session(replace(self._arguments.settings, session=host.transcript.id), BY_HAND, self._store).state
        again = f"tildone resume --session {host.transcript.id}"
        if reason == StopReason.ABORTED and state.directive is Directive.STOP:
            return RunOutcome(1, f"stopped by tildone stop; to go on: {again}", heard=False)
        if reason == StopReason.ABORTED:
            return RunOutcome(INTERRUPTED, "interrupted")
        if last is not None and reason == StopReason.ERROR:
            return RunOutcome(1, last.error_message or "the model failed")
        left = len(open_tasks(state.plan))
        if left:
            paused = f"; paused, to go on: {again}" if state.directive is Directive.PAUSE else ""
            far = f"{left} of {format_count(progress(state.plan).total, 'task')} left open"
            return RunOutcome(1, f"{far}{paused}", heard=False)
        return RunOutcome(0)

    def hint(self, host: Host) -> str | None:
        """The command that shows what happened; None if nothing is stored."""
        if not self._arguments.kept:
            return None
        where = (
            f" --store {shlex.quote(parse_address(self._arguments.store).redacted)}" if self._arguments.store else ""
        )
        return f"How it went: tildone log --session {host.transcript.id}{where}"

    def _transcript(self) -> tuple[Transcript, str | None]:
        """The conversation, and the text of the message it was forked at."""
        found = self._found()
        if self._arguments.fork is None:
            return found or self.conversations.new(), None
        source = found or self.conversations.latest()
        if source is None:
            raise NotFound("there is no conversation here to fork")
        return self.conversations.fork(source, self._arguments.fork)

    def _found(self) -> Transcript | None:
        arguments = self._arguments
        if arguments.newest:
            newest = self.conversations.latest()
            if newest is None:
                raise NotFound(f"there is no conversation in {arguments.settings.session_dir} to go on with")
            return newest
        if arguments.resume is not None:
            return self.conversations.find(arguments.resume)
        return self._named(arguments.session) if arguments.session is not None else None

    def _named(self, name: str) -> Transcript:
        """The conversation with that id or in that file; a new one if there is none with that id."""
        if name.endswith(".jsonl") or os.sep in name:
            return self.conversations.load(name)
        if not ID.fullmatch(name):
            raise UsageError(f"{name!r} is no id: it has letters, digits, dots, dashes and _ only")
        folder = self._arguments.settings.session_dir
        files = os.listdir(folder) if os.path.isdir(folder) else []
        same = [file for file in files if file.partition("_")[2] == f"{name}.jsonl"]
        if same:
            return self.conversations.load(os.path.join(folder, max(same)))
        return open_conversations(self._arguments.settings, self._arguments.cwd, new_id=partial(str, name)).new()


def _model(arguments: RunArguments) -> Model:
    if arguments.model == SHELL and arguments.work is not None and arguments.work.plan is not None:
        return ShellModel(read_script(arguments.work.plan, arguments.work.name), now)
    # Late, because the library behind it takes seconds to load, and a plan with commands needs none of it.
    from tildone.host.providers import open_model  # noqa: PLC0415  see above

    return open_model(arguments.model)
