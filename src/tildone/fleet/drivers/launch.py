"""What a driver is given to start an agent for a run, what it returns, and what all drivers do alike.

The environment of an agent is that of its worker, without the secrets that it does not need, and with its plan:
variables whose names begin with a prefix of the agent's provider are kept, and those with which the store is opened.
Our tools and hooks are taken from the agent's integration, without installing them.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tildone.agents.install import USER, Site, edits_for
from tildone.agents.install.files import ArrayItem, Edit, ObjectMember, WholeFile, put_in
from tildone.agents.integrations import INTEGRATIONS
from tildone.app.settings import data_folder
from tildone.app.values import CHECK_ALLOW, variable
from tildone.base import UsageError, distribution, value
from tildone.base.files import read_text, write_text
from tildone.base.private import make_private_folder
from tildone.base.secrets import is_secret
from tildone.fleet.agent_reports import ReadReport, no_report
from tildone.plan.names import provider_family
from tildone.plan.runs import ASK_VARIABLE, CHECKPOINT_VARIABLE

Driver = Callable[["AgentContext"], "AgentLaunch"]


ANYTHING = "*"
"""The pattern that allows every command."""


@value
class AgentContext:
    """An agent to be started for a run.

    It works in `folder` on the plan `session` of the store at the address `store`, and begins with `prompt`. Without a
    `model`, its own default is used. `allow` are the patterns of the commands that it may run, and `ask` of those for
    which it may ask persons. `environ` is the environment of the worker.
    """

    folder: str
    store: str
    session: str
    prompt: str
    model: str
    allow: tuple[str, ...]
    environ: Mapping[str, str]
    ask: tuple[str, ...] = ()

    @property
    def allows_anything(self) -> bool:
        return ANYTHING in self.allow

    @property
    def model_option(self) -> list[str]:
        return ["--model", self.model] if self.model else []


@value
class AgentLaunch:
    """How an agent is started: its command line, and its whole environment, to which the lease is added.

    One that `stops_early` ends at its first stop, also if tasks are open. `report` reads its output.
    """

    arguments: tuple[str, ...]
    environ: Mapping[str, str]
    stops_early: bool = False
    report: ReadReport = no_report


PROVIDERS = {
    "anthropic": ("ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN"),
    "openai": ("OPENAI_", "CODEX_"),
    "google": ("GEMINI_", "GOOGLE_"),
    "azure": ("AZURE_OPENAI_", "AZURE_API_"),
    "bedrock": ("AWS_",),
}
"""Prefixes of variables, by provider. Those of other providers begin with their names, such as `MISTRAL_API_KEY`."""

OTHER_PROVIDERS = ("cerebras", "cohere", "deepseek", "groq", "mistral", "ollama", "openrouter", "together", "xai")

CONVERSATIONS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "OPENCODE_PID")
"""What a coding agent tells its commands: of no use to another agent, if the worker was started by one."""

OF_THE_PERSON = ("SSH_AUTH_SOCK",)
"""What stands for the keys of the person who started the worker."""


def agent_environment(context: AgentContext, providers: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of an agent of these providers; of none, it gets no secrets at all."""
    kept = ["PG"] if context.store.startswith("postgres") else []
    for name in providers:
        kept += PROVIDERS.get(name, (f"{name.upper().replace('-', '_')}_",))
    environ = {
        name: text
        for name, text in context.environ.items()
        if name not in (*CONVERSATIONS, *OF_THE_PERSON) and (name.startswith(tuple(kept)) or not is_secret(name, text))
    }
    own = {"store": context.store, "session": context.session, CHECK_ALLOW: "\n".join(context.allow)}
    # opencode works in the folder that PWD names, which is that of the worker.
    more = {ASK_VARIABLE: "\n".join(context.ask), "PWD": context.folder}
    more |= {CHECKPOINT_VARIABLE: "1"} if os.path.exists(os.path.join(context.folder, ".git")) else {}
    return environ | {variable(key): text for key, text in own.items()} | more


def providers_of(model: str) -> tuple[str, ...]:
    """Return the provider that the name of a model begins with; all of them if it names none."""
    name = re.split("[:/]", model)[0].lower() if re.search("[:/]", model) else ""
    if not name:
        return (*PROVIDERS, *OTHER_PROVIDERS)
    return (provider_family(name).partition("-")[0],)


def settings_of(context: AgentContext, agent: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for edit in _edits(context, agent):
        if isinstance(edit, WholeFile):
            continue
        table = settings
        for key in edit.path[:-1]:
            table = table.setdefault(key, {})
        match edit:
            case ObjectMember():
                table[edit.path[-1]] = edit.entry
            case ArrayItem():  # exhaustive
                table.setdefault(edit.path[-1], []).append(edit.entry)
    return settings


def added_to(text: str | None, context: AgentContext, agent: str) -> str:
    """Return the text of a person's settings file with our tools and hooks; of None, a file with nothing else."""
    for edit in _edits(context, agent):
        text = put_in(text, edit)
    return text or ""


def shim_of(context: AgentContext, agent: str) -> str:
    """Write the shim of an agent to the private folder of the fleet, and return its path."""
    [shim] = [edit for edit in _edits(context, agent) if isinstance(edit, WholeFile)]
    path = os.path.join(agents_folder(context), f"{agent}{os.path.splitext(shim.file)[1]}")
    make_private_folder(os.path.dirname(path))
    if read_text(path) != shim.text:
        write_text(path, shim.text)
    return path


def agents_folder(context: AgentContext) -> str:
    return os.path.join(data_folder(context.environ), "fleet", "agents")


def _edits(context: AgentContext, agent: str) -> list[Edit]:
    program = distribution.script()
    if program is None:
        raise UsageError(f"agents need the tildone command, which is missing beside {sys.executable}; install tildone")
    # An empty environment: the paths of the files are of no interest, and must not be those of the person.
    return edits_for(INTEGRATIONS[agent].configure, Site("", context.folder, USER, {}, program))
