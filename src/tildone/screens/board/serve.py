"""Runs the board: an address, a link that lets one browser in, and a server until a signal ends it.

Only one board of a store runs at a time on a machine. Where it runs is in a private file; a second `tildone board`
finds it there, makes a new link for it, and ends.

In the shell of an agent, nobody gets a link to the board of a person. If none runs, the agent may start one of its
own, which changes nothing. Its links and keys are apart from those of people, and it is not in the file.
"""

import asyncio
import os
import socket
import sys
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from urllib.error import URLError

from tildone.app.opening import open_store
from tildone.app.settings import Settings
from tildone.app.who import PersonAct, check_person, not_the_person
from tildone.base import UsageError, serving, value
from tildone.base.ids import now
from tildone.screens.board.access import Admission, PrivateJson, ProxyTrust
from tildone.screens.board.app import AppOptions, BoardApp
from tildone.screens.board.board import Board, has_browser, open_privately
from tildone.screens.board.http import Guard

FOLDER = "board"
RUNNING = "running.json"
AGENTS = "of-agents"
"""The folder of boards that agents start, in that of people's boards."""

PORTS_TRIED = 20
ANSWER_SECONDS = 2.0


@value
class BoardOptions:
    """How the board is started. Without `port`, the first free one from the default on is used.

    `public` is the address at which people reach it behind a proxy, without a path.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    base: str = ""
    public: str = ""
    trust: ProxyTrust = ProxyTrust()
    read_only: bool = False
    opens: bool = True


def board_folder(settings: Settings) -> str:
    return os.path.join(os.path.dirname(settings.agents_dir), FOLDER)


def renew_keys(settings: Settings) -> None:
    """Sign everybody out, and make all links invalid."""
    admission = Admission(board_folder(settings), ProxyTrust(), with_links=True)
    admission.secrets.renew()
    admission.links.discard()


def run(settings: Settings, options: BoardOptions, default_port: int) -> int:
    """Serve the board until a signal arrives, and return the exit code. If one runs already, say where and return 0.

    Raises UsageError if there is no such address, or it must not be served like this, TildoneError if the port is in
    use, or the store cannot be opened.
    """
    folder = board_folder(settings)
    place = PrivateJson(folder, RUNNING)
    running = running_board(place, str(settings.store))
    if running:
        check_person(settings, PersonAct.BOARD_LINK)
    read_only = "It was started with --read-only." if options.read_only else ""
    if reason := not_the_person(settings):
        read_only = f"It was started by an agent: {reason}."
        folder = os.path.join(folder, AGENTS)
        place = PrivateJson(folder, RUNNING)
    admission = Admission(folder, options.trust, with_links=_has_links(options))
    _check_exposure(options, admission)
    if running:
        _announce(
            f"the board of this store runs already, with its own options, at {running}", running, admission, options
        )
        return 0
    listening = _listen(options, default_port)
    with listening:
        port = listening.getsockname()[1]
        admission.cookie = f"tildone-{port}"
        address = (options.public or serving.url(options.host, port)) + options.base
        local = serving.url(options.host, port) + options.base
        store = open_store(settings)
        try:
            board = Board(settings, store, admission.secrets.digest)
            connections = serving.OpenConnections()
            app = BoardApp(board, admission, AppOptions(options.base, read_only), connections.abort)
            public = [options.public.rpartition("/")[2].partition(":")[0].lower()] if options.public else []
            guard = Guard(app.application(), serving.ServedNames(options.host, public), connections.admit)
            server = serving.make_web_server(guard, connections)

            def started() -> None:
                place.update(
                    lambda data: (
                        data | {str(settings.store): {"address": address, "url": local, "boot": board.hub.boot}}
                    )
                )
                for_proxy = f", for the proxy at {local}" if options.public else ""
                _announce(f"the board is at {address}{for_proxy}", address, admission, options)

            return asyncio.run(_serve(server, board, listening, started))
        finally:
            with suppress(OSError):
                place.update(lambda data: {key: each for key, each in data.items() if each["url"] != local})
            store.close()


async def _serve(server: serving.WebServer, board: Board, listening: socket.socket, started: Callable[[], None]) -> int:
    def stop() -> None:
        board.hub.close()
        # A request that runs a check would be waited for.
        board.checks.stop()
        server.should_exit = True

    started()
    with serving.handling_signals(stop) as signals:
        await server.serve(sockets=[listening])
    return serving.exit_code(signals)


def running_board(place: PrivateJson, store: str) -> str:
    """Return the address of the board of a store that runs on this machine; empty if there is none."""
    entry = place.read().get(store)
    if not isinstance(entry, dict):
        return ""
    local, boot = str(entry.get("url")), str(entry.get("boot"))
    try:
        with urllib.request.urlopen(f"{local}/in", timeout=ANSWER_SECONDS) as response:  # noqa: S310  http, see `url`
            found = response.headers.get("X-Tildone-Boot")
    except (URLError, OSError, ValueError):
        return ""
    return str(entry.get("address")) if found == boot else ""


def _has_links(options: BoardOptions) -> bool:
    """Whether one-time links let people in: they do where only this machine is served, and no proxy names people."""
    return serving.is_loopback(options.host) and not options.trust.user_header


def _check_exposure(options: BoardOptions, admission: Admission) -> None:
    """Check that people who can reach the board have names. Raises UsageError if they have not."""
    if options.trust.user_header and not options.trust.addresses:
        raise UsageError("--user-header needs --trusted-proxy ADDRESS: anybody else could name anyone in that header")
    if serving.is_loopback(options.host) or options.trust.user_header or admission.people.all():
        return
    raise UsageError(
        f"other machines can reach --host {options.host}, so people need names: make a token for each with "
        "tildone board token add NAME, or let a proxy sign them in (--user-header and --trusted-proxy)"
    )


def _listen(options: BoardOptions, default_port: int) -> socket.socket:
    if options.port is not None:
        return serving.bound_socket(options.host, options.port)
    for port in range(default_port, default_port + PORTS_TRIED):
        with suppress(serving.PortInUse):
            return serving.bound_socket(options.host, port)
    return serving.bound_socket(options.host, 0)


def _announce(notice: str, address: str, admission: Admission, options: BoardOptions) -> None:
    """Say where the board is and how to get in, and open a browser if there is one."""
    lines = [notice]
    if _has_links(options):
        link = f"{address}/in#t={admission.links.create(now())}"
        lines.append(f"this link lets one browser in, once, within 5 minutes: {link}")
        if options.opens and has_browser(os.environ):
            open_privately(link)
    elif options.trust.user_header:
        lines.append("people sign in at the proxy in front of it")
    else:
        lines.append(f"people sign in with their tokens at {address}/in")
    if not serving.is_loopback(options.host):
        lines.append("traffic is not encrypted: put a TLS proxy in front, unless you trust the network")
    sys.stdout.write("".join(f"tildone board: {line}\n" for line in lines))
    sys.stdout.flush()
