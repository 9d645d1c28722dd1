"""Maps errors of the provider library to `ModelFailure`: whether they are transient, and when to retry."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)

from tildone.host.model import ModelFailure

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
