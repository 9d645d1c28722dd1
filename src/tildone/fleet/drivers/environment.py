"""The environment of an agent: that of its worker, without the secrets that it does not need, and with its plan.

Variables whose names begin with a prefix of the agent's provider are kept. So are those with which the store is opened.
"""

from __future__ import annotations

import re

from tildone.agents.secrets import is_secret
from tildone.config.values import CHECK_ALLOW, variable
from tildone.log.fleet.lease import ASK_VARIABLE
from tildone.log.fleet.providers import provider_family
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.fleet.drivers.launch import AgentContext

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

_OF_POSTGRES = "PG"


def agent_environment(context: AgentContext, providers: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment of an agent of these providers; of none, it gets no secrets at all."""
    kept = [prefix for name in providers for prefix in prefixes_of(name)]
    if context.store.startswith("postgres"):
        kept.append(_OF_POSTGRES)
    environ = {
        name: text
        for name, text in context.environ.items()
        if name not in (*CONVERSATIONS, *OF_THE_PERSON) and (name.startswith(tuple(kept)) or not is_secret(name, text))
    }
    own = {"store": context.store, "session": context.session, CHECK_ALLOW: "\n".join(context.allow)}
    # opencode works in the folder that PWD names, which is that of the worker.
    asks = {ASK_VARIABLE: "\n".join(context.ask)}
    return environ | {variable(key): text for key, text in own.items()} | asks | {"PWD": context.folder}


def providers_of(model: str) -> tuple[str, ...]:
    """Return the provider that the name of a model begins with; all of them if it names none."""
    name = re.split("[:/]", model)[0].lower() if re.search("[:/]", model) else ""
    if not name:
        return (*PROVIDERS, *OTHER_PROVIDERS)
    return (provider_family(name).partition("-")[0],)


def prefixes_of(provider: str) -> tuple[str, ...]:
    """Return how the variables of a provider begin."""
    return PROVIDERS.get(provider) or (f"{provider.upper().replace('-', '_')}_",)
