"""`tildone mcp`: serve the plan over the Model Context Protocol, on standard input and output or over HTTP."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, UsageError
from tildone.cli import run_hook
from tildone.cli.opening import missing_package, settings_for
from tildone.cli.table import ParsedArgs
from tildone.plan.dialects import dialect_named
from tildone.stores.assignment import ANY_AGENT, ProvidedTools

if TYPE_CHECKING:
    from tildone.app.settings import Settings

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8633
HTTP_OPTIONS = ("host", "port", "token-file", "no-token")


def run(args: ParsedArgs) -> int:
    """Serve until the client closes the connection, or a signal arrives."""
    if not args.has("http"):
        for option in HTTP_OPTIONS:
            if args.has(option):
                raise UsageError(f"--{option} requires --http")
        given = args.options.get("dialect")
        if given:
            dialect_named(given)
        # Late, because the HTTP server needs none of it.
        from tildone.agents.mcp import server as stdio_server

        # A function, because settings that cannot be loaded must not end the server: see there.
        return stdio_server.run(lambda: settings_for(args), given)
    settings = settings_for(args)
    try:
        return _serve_http(args, settings)
    except ModuleNotFoundError as error:
        raise missing_package(error, "--http", "mcp", "mcp") from error


def hook(args: ParsedArgs) -> int:
    """Run `tildone hook` when options precede the verb; `tildone.cli.main` handles the usual order before parsing."""
    return run_hook([*args.positional, *(f"--{name}={given}" for name, given in args.options.items())])


def _serve_http(args: ParsedArgs, settings: Settings) -> int:
    if args.has("no-token") and args.has("token-file"):
        raise UsageError("--token-file and --no-token exclude each other")
    host, given = args.options.get("host", DEFAULT_HOST), args.port()
    port = DEFAULT_PORT if given is None else given
    # Optional extra: imported only to serve.
    from tildone.agents.mcp import http as http_server

    token_file, guarded = args.options.get("token-file"), not args.has("no-token")
    with ProvidedTools(settings.agents_dir, ANY_AGENT):
        return http_server.run(settings, host, port, token_file=token_file, guarded=guarded)
