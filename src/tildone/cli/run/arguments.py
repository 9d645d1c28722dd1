"""The options of `tildone run` that its conversation stores, and its arguments."""

import os
import shlex
import sys
from collections.abc import Callable

from tildone.app.importing import read_file
from tildone.app.settings import Settings
from tildone.base import NotFound, StoreError, UsageError, nearest, replace, value
from tildone.base.durable import make_folder
from tildone.base.files import STREAM
from tildone.cli.opening import settings_for
from tildone.cli.run import MODES
from tildone.cli.table import ParsedArgs
from tildone.plan.formats.detection import MARKDOWN, PlanFile
from tildone.run.events import CustomEntry
from tildone.run.extension import BeforeAgentStart
from tildone.run.extensions.skeleton import OWN_LIST, RUN_ENTRY, SESSION
from tildone.run.host import Host
from tildone.run.hosting import RunPlan, stored_options
from tildone.run.messages import JsonObject
from tildone.run.tools.permissions import EVERYTHING, describe_pattern, is_pattern
from tildone.run.transcript import Conversations, Transcript

SHELL = "shell"
PLAN_SUFFIXES = (".md", ".markdown")

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
    if not words:
        return None, None
    is_file = words[0].lower().endswith(PLAN_SUFFIXES) and (" " not in words[0] or os.path.isfile(words[0]))
    if len(words) == 1 and is_file:
        return None, _plan_file(words[0])
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if words == (STREAM,) else " ".join(words)
    if not text.strip():
        raise UsageError("what is to be done? The task is empty")
    return text.strip(), None


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
    transcript: Transcript
    reason: str = STARTUP
    forked_text: str | None = None


def choose_conversation(conversations: Conversations, given: ParsedArgs) -> ChosenConversation:
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
    for found in conversations.newest_first():
        stored = stored_options(found)
        if session in (stored.get(SESSION), found.id if stored.get(OWN_LIST) else None):
            return found
    return None


TEXTS = ("store", "model", "dialect", "max-nudges")
SWITCHES = ("outside", "no-builtin-tools", "no-extensions")
PATTERNS = ("allow", "allow-write", "pass-env")


def options_of_run(given: ParsedArgs, settings: Settings) -> JsonObject:
    """Return the options to store: the store, the model, and the permissions. `RunPlan` adds the plan."""
    store = str(settings.store)
    effective = {"model": settings.model, "dialect": settings.dialect}
    options: JsonObject = {name: text for name, text in effective.items() if text}
    if store == settings.store.redacted:
        # An address with a password is not written to a file; it comes from the settings again.
        options["store"] = store
    if given.has("max-nudges"):
        options["max-nudges"] = given.options["max-nudges"]
    options |= {name: True for name in SWITCHES if given.has(name)}
    return options | {name: list(dict.fromkeys(given.values(name))) for name in PATTERNS if given.has(name)}


def with_stored_options(given: ParsedArgs, stored: JsonObject) -> ParsedArgs:
    texts = [(name, text) for name in TEXTS if isinstance(text := stored.get(name), str) and not given.has(name)]
    switches = [(name, "") for name in SWITCHES if stored.get(name) is True and not given.has(name)]
    patterns = [(name, pattern) for name in PATTERNS for pattern in stored_patterns(stored, name)]
    added = (*patterns, *texts, *switches)
    return ParsedArgs(given.path, given.positional, {**dict(added), **given.options}, (*added, *given.occurrences))


def stored_patterns(stored: JsonObject, option: str) -> list[str]:
    patterns = stored.get(option)
    found = [pattern for pattern in patterns if isinstance(pattern, str)] if isinstance(patterns, list) else []
    return [pattern for pattern in found if option != "allow" or is_pattern(pattern)]


def describe_permissions(stored: JsonObject, given: ParsedArgs, *, terminal: bool) -> list[str]:
    """Return a line for each stored permission that the command line does not repeat, and for each pattern it gives.

    A pattern for commands is described by what it covers. That `*` covers everything is said only at a terminal: a
    script that gives it was written by someone who knows.
    """
    pairs = [(name, pattern) for name in PATTERNS for pattern in stored_patterns(stored, name)]
    added = [(name, pattern) for name, pattern in pairs if pattern not in given.values(name)]
    new = [pattern for pattern in dict.fromkeys(given.values("allow")) if terminal or pattern != EVERYTHING]
    return [
        *(f"tildone: allowed as before: {_described(name, pattern)}" for name, pattern in added),
        *(f"tildone: allowed: {_described('allow', pattern)}" for pattern in new),
    ]


def _described(name: str, pattern: str) -> str:
    option = f"--{name} {shlex.quote(pattern)}"
    return f"{option}: {describe_pattern(pattern)}" if name == "allow" else option


def recorder(host: Host, options: JsonObject, plan: RunPlan) -> Callable[[JsonObject], None]:
    """Return what stores the options in the conversation of the host, with the changed ones that it is given.

    They are stored before each prompt as well, unless they are there already.
    """

    def record(changed: JsonObject) -> None:
        options.update(changed)
        current = options | plan.options_of(host.transcript)
        if stored_options(host.transcript) != current:
            host.transcript.append(CustomEntry(RUN_ENTRY, current))

    host.load([(RUN_ENTRY, lambda api: api.on(BeforeAgentStart, lambda *_: record({})))])
    return record
