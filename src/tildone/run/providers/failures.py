"""What a person can do about a request that a provider refused: the key, the model's name, the address."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)
from pydantic_ai.models import Model as Inner

from tildone.run.model import ModelFailure

TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


def to_model_failure(error: Exception, address: str | None = None) -> ModelFailure:
    """Return the failure for an error of the library, at a provider with this address."""
    match error:
        case ModelFailure():
            return error
        case ModelHTTPError(status_code=status):
            words = _words(error.body) or error.message
            transient = _is_transient(error) and (status in TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR)
            return ModelFailure(f"{status} {words}", transient=transient, retry_after=error.retry_after)
        case ModelConnectionError(phase="connect"):
            return ModelFailure(f"{address} cannot be reached: {_root(error)}", transient=True)
        case ModelAPIError():
            return ModelFailure(
                _words(error.body) or _root(error), transient=_is_transient(error), retry_after=error.retry_after
            )
        case UnexpectedModelBehavior():
            return ModelFailure(error.message, transient=not isinstance(error, ContentFilterError))
        case _:
            return ModelFailure(_root(error), transient=False)


def _is_transient(error: ModelAPIError) -> bool:
    return not isinstance(error, ModelQuotaExceededError | ModelRequestRejectedError)


def _root(error: BaseException) -> str:
    """Return the message of the innermost cause, which wrapping errors omit."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _words(body: object) -> str | None:
    """Return the message in the body of an error response, in any of the providers' formats."""
    match body:
        case {"error": Mapping() as inner}:
            return _words(inner)
        case {"message": str(words)} | {"error": str(words)} | {"detail": str(words)}:
            return words
        case str(words):
            return words
        case _:
            return None


KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "google": "GOOGLE_API_KEY",
    "google-gla": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
ADDRESS_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
LIST_TIMEOUT_SECONDS = 5.0
MAX_NAMES = 10


async def refusal_hint(status: int, inner: Inner, name: str) -> str:
    """Return a hint about a response with this HTTP status; empty if there is none."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        variable = KEY_VARIABLES.get(inner.system)
        return f"The key for {inner.base_url} is the value of ${variable} in the environment." if variable else ""
    if status == HTTPStatus.NOT_FOUND:
        here = f"{inner.base_url} may have no model {name!r}"
        return f"{here}; {_suggestion(name, await _known_names(inner))}. Name one with --model PROVIDER:NAME."
    return ""


def address_hint(inner: Inner) -> str:
    """Return where the address of a server that cannot be reached comes from; empty if it is the provider's own."""
    variable = ADDRESS_VARIABLES.get(inner.system, "")
    return f"The address is the value of ${variable} in the environment." if os.environ.get(variable) else ""


def _suggestion(name: str, known: Sequence[str]) -> str:
    if not known:
        return "see its list of models"
    close = get_close_matches(name, known, 3)
    listed = close or known[:MAX_NAMES]
    more = "" if close or len(known) <= MAX_NAMES else f" and {len(known) - MAX_NAMES} more"
    return f"{'similar are' if close else 'it has'} {', '.join(listed)}{more}"


async def _known_names(inner: Inner) -> list[str]:
    """Return the names of the models that the server lists; none if it does not answer."""
    names: list[str] = []
    client: Any = getattr(inner, "client", None)
    with suppress(Exception):  # the library may raise anything; the hint is only shorter without the names
        async with asyncio.timeout(LIST_TIMEOUT_SECONDS):
            async for model in client.with_options(max_retries=0).models.list():
                names.append(str(model.id))  # noqa: PERF401  what arrived before the time limit counts
    return names
