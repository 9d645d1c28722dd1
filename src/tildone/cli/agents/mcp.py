"""`tildone mcp`: the plan for any agent that speaks the Model Context Protocol, on pipes or over HTTP."""

from __future__ import annotations

import importlib

from tildone.cli.opening import settings_for
from tildone.cli.parsing.args import Typed
from tildone.errors import UsageError
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

HOST, PORT = "127.0.0.1", 8633
HIGHEST_PORT = 65535
FOR_HTTP = ("host", "port", "token-file", "no-token")


def mcp(typed: Typed) -> int:
    """Serve until the client hangs up, or a signal comes."""
    settings = settings_for(typed)
    if not typed.has("http"):
        for option in FOR_HTTP:
            if typed.has(option):
                raise UsageError(f"--{option} is for --http: on pipes there is nobody but who started it")
        return int(_shell("stdio_server").run(settings))
    if typed.has("no-token") and typed.has("token-file"):
        raise UsageError("--token-file and --no-token exclude each other")
    host, port = typed.options.get("host", HOST), _port(typed)
    token_file, guarded = typed.options.get("token-file"), not typed.has("no-token")
    return int(_shell("http_server").run(settings, host, port, token_file=token_file, guarded=guarded))


def _port(typed: Typed) -> int:
    """The port; 0 is any that is free."""
    said = typed.options.get("port", str(PORT))
    if not said.isdecimal() or int(said) > HIGHEST_PORT:
        raise UsageError(f"--port takes a number from 0 to {HIGHEST_PORT}, not {said!r}")
    return int(said)


def _shell(part: str) -> ModuleType:
    """A part of the shell that serves: by name, because shells do not import each other.

    Raises:
        UsageError: what it stands on is not installed.
    """
    try:
        return importlib.import_module(f"tildone.mcp.{part}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "tildone":
            raise
        raise UsageError(f"this needs the package {package}: pip install 'tildone[mcp]'") from error
