"""`tildone watch`: the plans of agents that run elsewhere, live, in the terminal."""

from __future__ import annotations

import os
import sys
from functools import partial

from tildone.app.opening import open_store, patience_of
from tildone.base import TYPE_CHECKING, NotFound, UsageError, replace
from tildone.base.ids import local_time, now
from tildone.cli.opening import missing_package, settings_for, with_session
from tildone.cli.output import on_terminal
from tildone.cli.table import ParsedArgs

if TYPE_CHECKING:
    from tildone.app.settings import Settings
    from tildone.log.store import Store
    from tildone.screens.watch.app import WatchApp


def run(args: ParsedArgs) -> int:
    """Show the sessions of the store until the person leaves."""
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
        from tildone.app.apply import Editor  # noqa: PLC0415  see above
        from tildone.app.index import open_index  # noqa: PLC0415  see above
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
