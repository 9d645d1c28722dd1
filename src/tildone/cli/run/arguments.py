"""The arguments of `tildone run`: what is to be done, by which model, in which conversation and mode."""

from __future__ import annotations

import os
import sys

from tildone.app.importing import read_file
from tildone.app.settings import Settings
from tildone.base import NotFound, StoreError, UsageError, nearest, replace, value
from tildone.base.durable import make_folder
from tildone.cli.opening import settings_for
from tildone.cli.table import ParsedArgs
from tildone.plan.formats.detection import MARKDOWN, PlanFile
from tildone.run.extensions.skeleton import OWN_LIST, SESSION
from tildone.run.hosting import stored_options
from tildone.run.transcript import Conversations, Transcript

MODES = ("terminal", "print", "json", "rpc")
SHELL = "shell"
PLAN_SUFFIXES = (".md", ".markdown")
STDIN = "-"

CONVERSATION_OPTIONS = ("continue", "resume")

NO_MODEL = """\
which model? Name one with --model, $TILDONE_MODEL or `model` in config.toml:
  anthropic:claude-sonnet-5-5    with $ANTHROPIC_API_KEY
  openai-chat:gpt-5              with $OPENAI_API_KEY
  openai-chat:NAME               with $OPENAI_BASE_URL, for a server of your own that speaks like OpenAI
  ollama:NAME                    with $OLLAMA_BASE_URL
Without a model, tildone runs plans whose tasks carry commands: tildone run, or tildone run PLAN.md"""


@value
class RunArguments:
    """The checked arguments.

    `task` is the prompt for a model, and `file` the plan file; without either, the project's plan is worked through.
    `defaults` are the settings without the command line's options: they tell which options a command has to repeat.
    """

    settings: Settings
    defaults: Settings
    given: ParsedArgs
    mode: str
    cwd: str
    task: str | None = None
    file: PlanFile | None = None

    @property
    def model(self) -> str:
        """The name of the model. Without one, the shell driver carries out the plan."""
        if self.task is not None and self.settings.model == SHELL:
            raise UsageError("the shell model works through a plan: tildone run, or tildone run PLAN.md")
        if self.task is not None and not self.settings.model:
            raise UsageError(NO_MODEL)
        return self.settings.model or SHELL

    @property
    def stored(self) -> bool:
        """Whether the conversation and the changes of the plan are stored."""
        return not self.given.has("no-session")


def parse_arguments(parsed: ParsedArgs) -> RunArguments:
    settings = settings_for(parsed)
    _check(parsed)
    mode = parsed.options.get("mode", "terminal")
    task, file = _work(parsed.positional)
    if task is not None and mode == "rpc":
        raise UsageError("in rpc mode the client says what is to be done; leave TASK out")
    if parsed.has("restart") and file is None:
        raise UsageError("--restart takes a plan file over again: tildone run PLAN.md --restart")
    defaults = settings_for(ParsedArgs(parsed.path, (), {}))
    return RunArguments(settings, defaults, parsed, mode, os.getcwd(), task, file)


def with_options(arguments: RunArguments, given: ParsedArgs) -> RunArguments:
    return replace(arguments, given=given, settings=settings_for(given))


def _check(parsed: ParsedArgs) -> None:
    mode = parsed.options.get("mode", "terminal")
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}; {nearest(mode, MODES)}")
    given = [f"--{name}" for name in CONVERSATION_OPTIONS if parsed.has(name)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} name different conversations: say one of them")
    given += ["--fork"] if parsed.has("fork") else []
    if given and parsed.has("no-session"):
        raise UsageError(f"{given[0]} continues a stored conversation; --no-session stores none")


def _work(words: tuple[str, ...]) -> tuple[str | None, PlanFile | None]:
    """Return the task or the plan file that the words name, if there are any."""
    if not words:
        return None, None
    if len(words) == 1 and _is_plan_file(words[0]):
        return None, _plan_file(words[0])
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if words == (STDIN,) else " ".join(words)
    if not text.strip():
        raise UsageError("what is to be done? The task is empty")
    return text.strip(), None


def _is_plan_file(word: str) -> bool:
    return word.lower().endswith(PLAN_SUFFIXES) and (" " not in word or os.path.isfile(word))


def _plan_file(path: str) -> PlanFile:
    if not os.path.exists(path):
        raise NotFound(f"there is no plan {path}")
    file = read_file(path, MARKDOWN)
    if not isinstance(file, PlanFile) or not file.plan.tasks:
        raise UsageError(f"there is no task in {path}; write one as - [ ] Say hello: `echo hello`")
    return file


STARTUP, RESUME, FORK = "startup", "resume", "fork"
"""Why a conversation is opened, in pi's words."""


@value
class ChosenConversation:
    """The conversation of a run, why it is opened, and the text of the message that it was forked at, if any."""

    transcript: Transcript
    reason: str = STARTUP
    forked_text: str | None = None


def choose_conversation(conversations: Conversations, given: ParsedArgs) -> ChosenConversation:
    """Return the conversation that the command line names. Without one that could be continued, it is a new one."""
    existing = _existing(conversations, given)
    if given.has("fork"):
        source = existing or conversations.latest()
        if source is None:
            raise NotFound("there is no conversation here to fork")
        transcript, text = conversations.fork(source, given.options["fork"])
        return ChosenConversation(transcript, FORK, text)
    if existing is not None:
        return ChosenConversation(existing, RESUME)
    return ChosenConversation(conversations.new())


def check_writable(folder: str) -> None:
    """Check that conversations can be stored in a folder; it is created if it is missing."""
    advice = "choose another folder with --session-dir, or store nothing with --no-session"
    try:
        make_folder(folder)
    except StoreError as error:
        raise StoreError(f"conversations cannot be stored: {error}; {advice}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(f"conversations cannot be stored: {folder} is not writable; {advice}")


def _existing(conversations: Conversations, given: ParsedArgs) -> Transcript | None:
    if given.has("resume"):
        return conversations.find(given.options["resume"])
    if not given.has("continue"):
        return None
    session = given.options.get("session")
    if session is None:
        return conversations.latest()
    return next((found for found in conversations.newest_first() if _works_on(found, session)), None)


def _works_on(conversation: Transcript, session: str) -> bool:
    stored = stored_options(conversation)
    return session in (stored.get(SESSION), conversation.id if stored.get(OWN_LIST) else None)
