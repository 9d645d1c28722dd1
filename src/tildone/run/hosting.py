"""Conversations and hosts, built from settings: with the plan that each works on, and a person's own extensions.

Nothing of an extension is imported before it is registered with a host. Whatever goes wrong then becomes an
`ExtensionFailure`, whose message names the file and the line of the extension's own code. A file that a project's
settings name belongs to the repository, so somebody else may change it. It is loaded only with the content that a
person has trusted, as the settings are (`tildone.app.settings_file`).
"""

from __future__ import annotations

import os
import sys
from binascii import crc32
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import iscoroutine
from operator import attrgetter
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any

from tildone.app.opening import dialect_of_session, open_agents, open_session, person_here
from tildone.app.person import fingerprint
from tildone.app.settings import PROJECT_FILE, Settings
from tildone.app.settings_file import absolute_form, is_file, is_trusted, split_form
from tildone.base import TildoneError, UsageError, nearest, replace, value
from tildone.base.ids import new_conversation_id, now
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND, Dialect, dialect_named, dialect_of_tool
from tildone.plan.events import Author
from tildone.run.asking import Asker, SharedQuestions, ask_limits, under_lease
from tildone.run.events import CustomEntry
from tildone.run.extension import UI
from tildone.run.extensions import extension_of
from tildone.run.extensions.presence import presence, steering
from tildone.run.extensions.skeleton import OWN_LIST, RUN_ENTRY, SESSION, request_bounds
from tildone.run.host import Extension, ExtensionAPI, Host
from tildone.run.messages import JsonObject
from tildone.run.metering import HostUsage
from tildone.run.model import Model
from tildone.run.shell_model import ShellModel
from tildone.run.subagents import SubagentOpener, Subagents, task_tool
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy
from tildone.run.tools.typed import TYPED, typed_tool
from tildone.run.transcript import Conversations, Transcript
from tildone.stores.agents import AgentId

GROUP = "tildone.extensions"
"""The group of entry points by which installed packages provide extensions."""

DEFAULT_FUNCTION = "extension"
OPTION, SETTING, PACKAGE = "option", "setting", "package"


class ExtensionFailure(TildoneError):
    """An extension cannot be loaded."""


@value
class ExtensionSource:
    """Where an extension is: a function in a file or in a module, the `target`.

    `origin` is OPTION, SETTING or PACKAGE, and `named_by` the option, the settings file, or the package with its
    version. `trust` is the data folder with the record of trust that the file needs; it is empty if it needs none.
    """

    name: str
    target: str
    function: str
    origin: str
    named_by: str
    trust: str = ""

    @property
    def module(self) -> str:
        return f"tildone_extension_{crc32(os.fsencode(self.target)):08x}" if is_file(self.target) else self.target


def extension_sources(
    settings: Settings, options: Iterable[str], *, folder: str, data: str, all_origins: bool = True
) -> list[ExtensionSource]:
    """Return the extensions in the order in which they are loaded, each once.

    Later ones can replace tools of earlier ones, so those of installed packages come first and those that `options`
    name come last. `folder` is the working folder and `data` the data folder. Without `all_origins`, only those that
    `options` name are returned.
    """
    of_project = os.path.join(settings.project, PROJECT_FILE)
    configured = [
        _named(form, SETTING, path, trust=data if path == of_project else "") for form, path in settings.extensions
    ]
    sources = [*installed_sources(), *configured] if all_origins else []
    sources += [_named(absolute_form(form, folder), OPTION, "--extension") for form in options]
    return list({(source.target, source.function): source for source in reversed(sources)}.values())[::-1]


def installed_sources() -> list[ExtensionSource]:
    found = []
    for point in entry_points(group=GROUP):
        module, _, function = point.value.partition("[")[0].partition(":")
        package = f"{point.dist.name} {point.dist.version}" if point.dist else ""
        function = function.strip() or DEFAULT_FUNCTION
        found.append(ExtensionSource(point.name, module.strip(), function, PACKAGE, package))
    return sorted(found, key=lambda source: (source.named_by, source.name))


def registration(source: ExtensionSource) -> Extension:
    """Return a function that imports the extension and registers it with a host.

    It raises an ExtensionFailure for whatever the extension raises. Standard output may belong to a program that
    controls the run, so what the extension prints meanwhile goes to standard error.
    """

    def register(api: ExtensionAPI) -> None:
        try:
            with redirect_stdout(sys.stderr):
                _register(source, api)
        except ExtensionFailure:
            raise
        except (Exception, SystemExit) as error:
            raise ExtensionFailure(_failure_text(error, source)) from error

    return register


def _named(form: str, origin: str, named_by: str, trust: str = "") -> ExtensionSource:
    target, function = split_form(form)
    name = os.path.basename(target) if is_file(target) else target
    suffix = f":{function}" if function else ""
    return ExtensionSource(f"{name}{suffix}", target, function or DEFAULT_FUNCTION, origin, named_by, trust)


def _register(source: ExtensionSource, api: ExtensionAPI) -> None:
    module = _file_module(source) if is_file(source.target) else import_module(source.target)
    function = _function(module, source)
    returned = function(api)
    if iscoroutine(returned):
        returned.close()
        line = function.__code__.co_firstlineno
        raise ExtensionFailure(f"{_file(module)}, line {line}: {source.function} must not be an async function")


def _file_module(source: ExtensionSource) -> ModuleType:
    try:
        with open(source.target, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ExtensionFailure(f"{source.target}: {error.strerror}") from error
    if source.trust and not is_trusted(source.trust, source.target, content):
        raise ExtensionFailure(f"{source.target} is not trusted with its present content; to trust it: tildone trust")
    code = compile(content, source.target, "exec", dont_inherit=True)
    spec = spec_from_file_location(source.module, source.target)
    module = module_from_spec(spec) if spec else ModuleType(source.module)
    # Dataclasses and pickle look the module up by its name.
    sys.modules[source.module] = module
    exec(code, module.__dict__)  # noqa: S102  running the file is what the person asks for
    return module


def _function(module: ModuleType, source: ExtensionSource) -> Any:
    try:
        function = attrgetter(source.function)(module)
    except AttributeError:
        function = None
    if callable(function):
        return function
    defined = [name for name, each in vars(module).items() if getattr(each, "__module__", None) == module.__name__]
    hint = nearest(source.function, tuple(defined), "define it, or name another one after a colon")
    raise ExtensionFailure(f"{_file(module)}, line 1: there is no function {source.function!r}; {hint}")


def _file(module: ModuleType) -> str:
    return module.__file__ or module.__name__


def _failure_text(error: BaseException, source: ExtensionSource) -> str:
    """Return what an extension raised, and where in its own code."""
    if isinstance(error, SyntaxError) and os.path.isfile(error.filename or ""):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    own = _own_lines(error, source)
    place = f"{own[-1][0]}, line {own[-1][1]}" if own else source.target
    text = str(error)
    return f"{place}: {type(error).__name__}{f': {text}' if text else ''}"


def _own_lines(error: BaseException, source: ExtensionSource) -> Sequence[tuple[str, int]]:
    """Return the files and lines of the extension that a traceback passes, innermost last."""
    package = source.module.partition(".")[0]

    def is_own(frame: FrameType) -> bool:
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] == package

    return [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__) if is_own(frame)]


def stored_options(transcript: Transcript) -> JsonObject:
    """Return the options of the newest run of a conversation; {} if it has none."""
    for entry in reversed(transcript.branch()):
        body = entry.body
        if isinstance(body, CustomEntry) and body.custom_type == RUN_ENTRY and isinstance(body.data, dict):
            return body.data
    return {}


class RunPlan:
    """Which plan each conversation of a run works on: the project's, a named one, or a list of its own.

    A list of its own is in the session with the conversation's id, and follows the conversation: it is restored from
    its results, for each branch. The conversation's file records the choice, as one of the options of the run.

    `is_given` means that the command line names the session of the settings, for all conversations of the run. Without
    that, a conversation works on the plan that it records, else on one that the environment or a file names. Any other
    conversation has a list of its own.
    """

    def __init__(self, settings: Settings, *, is_given: bool = False) -> None:
        self._settings = settings
        self._is_given = is_given
        self._chosen: dict[str, str] = {}

    def settings_of(self, transcript: Transcript) -> Settings:
        return replace(self._settings, session=self.session_of(transcript))

    def session_of(self, transcript: Transcript) -> str:
        """Return the session of the conversation's plan. It stays the same until another one is chosen."""
        if transcript.id not in self._chosen:
            self._chosen[transcript.id] = self._session_of(transcript)
        return self._chosen[transcript.id]

    def has_own_list(self, transcript: Transcript) -> bool:
        return self.session_of(transcript) == transcript.id

    def use_own_list(self, transcript: Transcript) -> None:
        self._chosen[transcript.id] = transcript.id

    def use_plan(self, transcript: Transcript, session: str = "") -> None:
        """Let the conversation work on the plan of a session; by default, of the settings."""
        self._chosen[transcript.id] = session or self._settings.session

    def options_of(self, transcript: Transcript) -> JsonObject:
        return {OWN_LIST: True} if self.has_own_list(transcript) else {SESSION: self.session_of(transcript)}

    def _session_of(self, transcript: Transcript) -> str:
        if self._is_given:
            return self._settings.session
        stored = stored_options(transcript)
        if stored.get(OWN_LIST) is True:
            return transcript.id
        recorded = stored.get(SESSION)
        if isinstance(recorded, str):
            return recorded
        return self._settings.named_session or transcript.id


AGENT = "tildone"
"""What the host is called where agents are named, in place of an integration."""

DEFAULT_DIALECT = "indexed"
"""The dialect of a new conversation in the host, unless another is configured or the plan was written in another."""

SHELL_DIALECT = "brief"
"""The dialect of the shell driver, unless another is configured: it names tasks by their numbers, as people do."""


def open_conversations(
    settings: Settings, cwd: str, *, kept: bool = True, new_id: Callable[[], str] = new_conversation_id
) -> Conversations:
    """Return the conversations of a working folder; those that are not `kept` leave no file.

    Raises UsageError if the store is in the folder of the conversations. In one file with a plan's events, the messages
    of a conversation would look like a branch that was abandoned, and the events likewise.
    """
    if kept and settings.store.path == settings.session_dir:
        raise UsageError(f"{settings.session_dir} can't be both the store and the session-dir: choose another for one")
    return Conversations(settings.session_dir if kept else None, cwd, now=now, new_conversation_id=new_id)


def open_host(  # noqa: PLR0913  everything a host stands on comes in by name
    settings: Settings,
    store: Store,
    transcript: Transcript,
    *,
    cwd: str,
    model: Model,
    mode: str,
    ui: UI | None = None,
    policy: PermissionPolicy | None = None,
    conversations: Conversations | None = None,
    opened: Callable[[Host], None] | None = None,
    plan: RunPlan | None = None,
) -> Host:
    """Return a host, with the extension of a dialect.

    With a policy it has the built-in tools; a language model also has subagents, whose conversations are among
    `conversations`. `opened` is called with each host of a language model: this one, and those of its subagents.
    `plan` says which plan each conversation works on; without it, all of them work on the one that the settings name.
    """

    def here() -> Settings:
        return plan.settings_of(host.transcript) if plan else settings

    def by_hand(_conversation: str) -> Session:
        return open_session(here(), BY_HAND, store)

    name = _dialect_name(plan.settings_of(transcript) if plan else settings, store, transcript, model)
    guard = PermissionGuard(policy or PermissionPolicy(), lambda _conversation: by_hand("").plan)
    tools = (*(builtin_tools(guard) if policy else ()), typed_tool(guard))
    if ui is not None and ui.has_ui and store.durable:
        asker = Asker(lambda: here().session, lambda: str(_agent_id(host)), lambda: person_here(settings, store))
        refused = under_lease(store, os.environ, lambda why: host.request_abort(why))  # noqa: PLW0108  the host follows
        ui = SharedQuestions(ui, store, asker, ask_limits(os.environ), refused)
    host = Host(model=model, transcript=transcript, cwd=cwd, now=now, ui=ui, mode=mode, tools=tools)
    host.inactive.add(TYPED)
    usage = HostUsage(host, lambda: str(_agent_id(host)), lambda: store.history(here().session))
    parts = [
        (name, plan_extension(name, store, here, host, usage=usage)),
        ("steering", steering(by_hand, open_agents(settings) if store.durable else None)),
        ("request bounds", request_bounds(lambda _conversation: _opened(here(), BY_HAND, store, host, usage))),
    ]
    failures = host.load([*parts, ("presence", presence(by_hand))] if store.durable else parts)
    if failures:
        raise TildoneError(f"the {failures[0].extension} extension cannot be loaded: {failures[0].error}")
    if opened and not isinstance(model, ShellModel):
        opened(host)
    if policy and conversations and not isinstance(model, ShellModel):
        opener = SubagentOpener(
            here,
            store,
            conversations,
            host,
            lambda: _agent_id(host),
            lambda settings, child, agent: plan_extension(name, store, lambda: settings, child, agent),
        )
        opener.opened = opened
        host.add_tool(task_tool(Subagents(host, opener.open)))
    return host


def _dialect_name(settings: Settings, store: Store, transcript: Transcript, model: Model) -> str:
    """Return the dialect of a host: the configured one, else that of the conversation, else that of the plan."""
    named = settings.dialect or dialect_of_conversation(transcript)
    if named:
        return named
    if isinstance(model, ShellModel):
        return SHELL_DIALECT
    of_plan = dialect_of_session(settings, store)
    return DEFAULT_DIALECT if of_plan is BY_HAND else of_plan.name


def dialect_of_conversation(transcript: Transcript) -> str | None:
    """Return the name of the dialect whose tools were called in a conversation."""
    return next(
        (
            name
            for tool in reversed([each.tool_name for each in transcript.tool_results()])
            if (name := dialect_of_tool(tool))
        ),
        None,
    )


def plan_extension(
    name: str,
    store: Store,
    here: Callable[[], Settings],
    host: Host,
    agent: AgentId | None = None,
    usage: HostUsage | None = None,
) -> Extension:
    """Return the extension of a dialect; `here` returns the settings with the session of the open conversation's plan.

    Without `agent`, the agent is that of the host's conversation.
    """
    dialect = dialect_named(name)

    def session(_conversation: str) -> Session:
        settings = here()
        opened = _opened(settings, dialect, store, host, usage, agent)
        ignored = (settings.store.location, settings.agents_dir, settings.session_dir)
        return opened.using(
            parts=replace(opened.parts, files=lambda: fingerprint(settings.project, ignored), in_order=True)
        )

    return extension_of(dialect, session, here())


def _opened(
    settings: Settings,
    dialect: Dialect,
    store: Store,
    host: Host,
    usage: HostUsage | None,
    agent: AgentId | None = None,
) -> Session:
    """Return the session of a host's plan. Its events have the agent, its model and what it has used."""

    def author() -> Author:
        return Author(agent=str(agent or _agent_id(host)), model=f"{host.model.provider}:{host.model.id}")

    return open_session(settings, dialect, store, author, usage=usage.of if usage is not None else None)


def _agent_id(host: Host) -> AgentId:
    """Return the agent of the host's conversation, which may change."""
    return AgentId(AGENT, host.transcript.id)
