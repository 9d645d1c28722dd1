"""`tildone mcp`: serve the plan over the Model Context Protocol, on standard input and output or over HTTP."""

from __future__ import annotations

from tildone.agents.servers import ANY_AGENT, ProvidedTools
from tildone.cli.opening import settings_for
from tildone.cli.parsing.table import ParsedArgs
from tildone.dialects import dialect_named
from tildone.errors import MAX_DIGITS, UsageError, shortened
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.config import Settings

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8633
MAX_PORT = 65535
HTTP_OPTIONS = ("host", "port", "token-file", "no-token")


def run(args: ParsedArgs) -> int:
    """Serve until the client closes the connection, or a signal arrives.

    Raises:
        UsageError: the options contradict each other, or a package is not installed.
    """
    if not args.has("http"):
        return _serve_stdio(args)
    settings = settings_for(args)
    try:
        return _serve_http(args, settings)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tildone":
            raise
        # Late, because only a missing package needs it.
        from tildone.distribution import install_extra  # noqa: PLC0415  see above

        raise UsageError(f"--http needs the package mcp: {install_extra('mcp')}") from error


def _serve_stdio(args: ParsedArgs) -> int:
    for option in HTTP_OPTIONS:
        if args.has(option):
            raise UsageError(f"--{option} requires --http")
    given = args.options.get("dialect")
    if given:
        dialect_named(given)
    # Late, because the HTTP server needs none of it.
    from tildone.mcp import stdio_server  # noqa: PLC0415  see above

    # A function, because settings that cannot be loaded must not end the server: see there.
    return stdio_server.run(lambda: settings_for(args), given)


def _serve_http(args: ParsedArgs, settings: Settings) -> int:
    if args.has("no-token") and args.has("token-file"):
        raise UsageError("--token-file and --no-token exclude each other")
    host, port = args.options.get("host", DEFAULT_HOST), _port(args)
    # Optional extra: imported only to serve.
    from tildone.mcp import http_server  # noqa: PLC0415  see above

    token_file, guarded = args.options.get("token-file"), not args.has("no-token")
    with ProvidedTools(settings.agents_dir, ANY_AGENT):
        return http_server.run(settings, host, port, token_file=token_file, guarded=guarded)


def _port(args: ParsedArgs) -> int:
    """The port to listen on; 0 means any free one."""
    given = args.options.get("port", str(DEFAULT_PORT))
    if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) > MAX_PORT:
        raise UsageError(f"--port requires a number from 0 to {MAX_PORT}, not {shortened(given)!r}")
    return int(given)
