"""Nothing in the environment of the tests switches traces on."""

import os

import pytest


@pytest.fixture(autouse=True)
def _without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TRACEPARENT"))]:
        monkeypatch.delenv(name)
