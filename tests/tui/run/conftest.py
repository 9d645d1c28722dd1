import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import CHAT
from tests.tui.run.run_screen import Connect, Screen, Talk, running
from tildone.screens.run import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project that the run is started in, with a home folder of its own."""
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.chdir(project)
    for name in list(os.environ):
        if name.startswith(("TILDONE_", "XDG_")):
            monkeypatch.delenv(name)
    own = {"HOME": str(home), "NO_PROXY": "127.0.0.1", "TILDONE_USER": "Ada", "SSH_CONNECTION": "no clipboard"}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return project


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModelServer], ModelServer]:
    """A function that connects the provider to a server."""

    def connected(server: ModelServer) -> ModelServer:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        return server

    return connected


@pytest.fixture
def talk(connect: Connect) -> Talk:
    """A function that starts a run with a model on loopback."""

    @asynccontextmanager
    async def talking(server: ModelServer, *argv: str, **look: Any) -> AsyncIterator[Screen]:
        model = () if "--model" in argv else ("--model", CHAT)
        with connect(server):
            async with running(*argv, *model, **look) as screen:
                screen.server = server
                yield screen

    return talking


@pytest.fixture(autouse=True)
def slow_fingers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is pressed twice counts as such, however slow the machine is."""
    monkeypatch.setattr(app, "TWICE_SECONDS", 60.0)
