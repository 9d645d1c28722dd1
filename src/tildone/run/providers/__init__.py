"""Opens models of real providers by name, through one library (Pydantic AI).

A name has the form of that library, `provider:model`: `anthropic:claude-sonnet-5-5`, `openai-chat:gpt-5`,
`openai-responses:gpt-5`, `google:gemini-2.5-pro`, `ollama:qwen3`. Keys and addresses come from the environment
variables that the provider's own tools use (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `OPENAI_BASE_URL`,
`OLLAMA_BASE_URL`); any server with an OpenAI-compatible API is reached as `openai-chat:` with `OPENAI_BASE_URL`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tildone.base import UsageError, nearest
from tildone.base.distribution import install_extra, install_package
from tildone.run.model import Model, Price, price_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Inner

COMMON_PROVIDERS = (
    "anthropic",
    "azure",
    "bedrock",
    "deepseek",
    "google",
    "groq",
    "mistral",
    "ollama",
    "openai",
    "openai-chat",
    "openai-responses",
    "openrouter",
    "xai",
)

NO_PRICES: Mapping[str, Price] = MappingProxyType({})

KNOWN = f"known are {', '.join(COMMON_PROVIDERS)}"

STRICT_TRANSFORMERS = {"pydantic_ai.profiles.openai", "pydantic_ai.providers.anthropic"}


def open_model(spec: str, prices: Mapping[str, Price] = NO_PRICES) -> Model:
    """Return the model with this name. No connection is opened before the first request.

    A price in `prices` takes precedence over the price list of the library. Raises UsageError if there is no such
    provider, or its package, its key or its address is missing.
    """
    provider, colon, name = spec.partition(":")
    if not (provider and colon and name):
        raise UsageError(f"name a model as provider:model, such as anthropic:claude-sonnet-5-5, not {spec!r}")
    # Imported late: the library is slow to load, and is installed only with the `run` extra.
    try:
        from tildone.run.providers.provider_model import ProviderModel  # noqa: PLC0415  see above
    except ImportError as error:
        raise UsageError(f"talking to models takes more packages: {install_extra('run')}") from error
    return ProviderModel(_schemas_untouched(_inner(spec, provider)), name, price_of(spec, prices))


def _inner(spec: str, provider: str) -> Inner:
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415  see open_model
    from pydantic_ai.models import infer_model  # noqa: PLC0415  see open_model
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  see open_model

    try:
        infer_provider_class(provider)
        return infer_model(spec)
    except ImportError as error:
        package = re.search(r"pip install [\"']?([\w.-]+(?:\[[\w,-]+\])?)", str(error))
        install = install_package(package[1]) if package else str(error)
        raise UsageError(f"{provider} models take one more package: {install}") from error
    except UserError as error:
        variables = dict.fromkeys(re.findall(r"`([A-Z][A-Z0-9_]+)`", str(error)))
        lacking = f"set {' or '.join(variables)} in the environment" if variables else str(error)
        raise UsageError(f"{provider} models cannot be reached: {lacking}") from error
    except ValueError as error:
        raise UsageError(f"there is no provider {provider!r}; {nearest(provider, COMMON_PROVIDERS, KNOWN)}") from error


def _schemas_untouched(inner: Inner) -> Inner:
    """Return the model without the schema transformer for strict mode, which we do not use.

    Transformers of other providers stay: they convert schemas to the subset of JSON Schema that their servers accept.
    """
    rewriter = inner.profile.get("json_schema_transformer")
    if rewriter is None or rewriter.__module__ not in STRICT_TRANSFORMERS:
        return inner
    kind: Any = type(inner)
    made: Inner = kind(inner.model_name, provider=inner.provider, profile={"json_schema_transformer": None})
    return made
