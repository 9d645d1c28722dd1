"""Nothing in the environment of the tests switches traces on, and the program is forked."""

import os
from collections.abc import Iterator

import pytest

from tests.suite.forking import forking


@pytest.fixture(autouse=True, scope="module")
def _forking() -> Iterator[None]:
    with forking():
        yield


@pytest.fixture(autouse=True)
def _without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TRACEPARENT"))]:
        monkeypatch.delenv(name)
