"""`tildone watch` and `board`: the plans of all agents, live in the terminal or as web pages."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from functools import partial

from tildone.app.apply import Editor
from tildone.app.index import open_index
from tildone.app.opening import open_store, patience_of
from tildone.app.settings import Settings
from tildone.app.who import PersonAct, check_person
from tildone.base import TYPE_CHECKING, NotFound, UsageError, replace, shortened
from tildone.base.ids import local_time, now, timestamp
from tildone.cli.opening import missing_package, settings_for, with_session
from tildone.cli.output import on_terminal, put
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.store import Store
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from tildone.screens.watch.app import WatchApp


def watch(args: ParsedArgs) -> int:
    if not sys.stdin.isatty() or not on_terminal(sys.stdout):
        raise UsageError("watch needs a terminal; elsewhere use: tildone status, tildone todo, tildone log")
    given = next(iter(args.positional), args.options.get("session", ""))
    args = replace(args, options={**args.options, "session": given} if given else args.options)
    settings = settings_for(args)
    store = open_store(settings)
    try:
        settings = with_session(args, settings, store)
        if given and store.session_head(settings.session).head is None:
            raise NotFound(f"there is no session {given!r}; to list them: tildone sessions")
        app = _app(settings, store, opened=bool(given))
        app.run()
        return app.return_code or 0
    finally:
        store.close()


def _app(settings: Settings, store: Store, *, opened: bool) -> WatchApp:
    try:
        # Optional extra, and slow to import.
        from tildone.screens.watch.app import Start, WatchApp  # noqa: PLC0415  see above
        from tildone.screens.widgets.keys import theme_for  # noqa: PLC0415  see above
        from tildone.screens.widgets.prompt import DetailReader  # noqa: PLC0415  see above
    except ModuleNotFoundError as error:
        raise missing_package(error, "watch", "tui") from error
    clock = partial(local_time, form="%H:%M")
    theme = theme_for(os.environ, settings.theme)
    reader = DetailReader(store, when=clock, patience=patience_of(settings))
    start = Start(settings.session, opened, theme, dict(settings.keys))
    index = open_index(settings, store)
    return WatchApp(index, reader, Editor(settings, store), start, now=now, clock=clock)


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 4747
TOKEN_USAGE = "use: tildone board token, tildone board token add NAME, or tildone board token remove NAME"  # noqa: S105  no secret

NO_PATH = "; a path belongs into --base-path"
_BASE = r"((?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)/*"
_PUBLIC = r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?|)/*"
_HEADER = r"([A-Za-z0-9-]*)"


def board(args: ParsedArgs) -> int:
    settings = settings_for(args)
    try:
        # Optional extra, and slow to import.
        from tildone.screens.board import serve  # noqa: PLC0415  see above
        from tildone.screens.board.access import ProxyTrust  # noqa: PLC0415  the same
    except ModuleNotFoundError as error:
        raise missing_package(error, "board", "web") from error
    if args.positional:
        return _manage_tokens(args, settings)
    for option in ("json", "metrics"):
        if args.has(option):
            raise UsageError(f"--{option} is for tildone board token")
    if args.has("new-key"):
        check_person(settings, PersonAct.BOARD_KEY)
        serve.renew_keys(settings)
        put("Everybody has to sign in again.")
    options = serve.BoardOptions(
        host=args.options.get("host", DEFAULT_HOST),
        port=args.port(),
        base=_matched(args, "base-path", _BASE, "a path such as /plans"),
        public=_matched(args, "public-url", _PUBLIC, "an address such as https://plans.example.org", hint=NO_PATH),
        trust=ProxyTrust(_addresses(args), _matched(args, "user-header", _HEADER, "the name of a header")),
        read_only=args.has("read-only"),
        opens=not args.has("no-open"),
    )
    return serve.run(settings, options, DEFAULT_PORT)


def _manage_tokens(args: ParsedArgs, settings: Settings) -> int:
    from tildone.screens.board.access import FILE, METRICS_FILE, People  # noqa: PLC0415  see `run`
    from tildone.screens.board.serve import board_folder  # noqa: PLC0415  see `run`

    people = People(board_folder(settings), METRICS_FILE if args.has("metrics") else FILE)
    match args.positional:
        case ("token",):
            found = people.all()
            if args.has("json"):
                put_data(tokens=[{"name": each.name, "added": timestamp(each.added)} for each in found])
                return 0
            for each in found:
                put(f"{printable(each.name)}  since {local_time(each.added)}")
            if not found:
                put("There are no tokens. To make one: tildone board token add NAME")
        case ("token", "add", name):
            check_person(settings, PersonAct.BOARD_TOKEN)
            put(f"The token of {printable(name)}, which cannot be shown again:")
            put(people.add(name, now()))
        case ("token", "remove", name):
            check_person(settings, PersonAct.BOARD_TOKEN)
            people.remove(name)
            signed_out = "" if args.has("metrics") else " They are signed out."
            put(f"Removed the token of {printable(name)}.{signed_out}")
        case _:
            raise UsageError(TOKEN_USAGE)
    return 0


def _matched(args: ParsedArgs, option: str, pattern: str, what: str, *, hint: str = "") -> str:
    """What the group of the pattern matches in an option; empty if it was not given."""
    given = args.options.get(option, "")
    found = re.fullmatch(pattern, given)
    if found is None:
        raise UsageError(f"--{option} requires {what}, not {shortened(given)!r}{hint}")
    return found[1]


def _addresses(args: ParsedArgs) -> tuple[str, ...]:
    """The addresses of trusted proxies: IP addresses, or networks such as 10.0.0.0/24."""
    found = tuple(args.values("trusted-proxy"))
    for address in found:
        try:
            ipaddress.ip_network(address, strict=False)
        except ValueError as error:
            raise UsageError(f"--trusted-proxy requires an IP address, not {shortened(address)!r}") from error
    return found
