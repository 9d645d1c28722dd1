"""The proxy of docs/how-to/use-the-board.md: its settings, carried out by a small proxy, in front of that command."""

import http.client
import re
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.project.source import ROOT
from tests.web.boards import Browser, Place, RunningBoard, board
from tildone.plan.model import Task
from tildone.plan.ops import Append

PAGE = (ROOT / "docs" / "how-to" / "use-the-board.md").read_text(encoding="utf-8")
HEADERS = dict(re.findall(r"proxy_set_header (\S+) (\S+);", PAGE))
PASSED_ON = ("cookie", "x-tildone-key", "content-type", "if-match", "last-event-id", "origin", "sec-fetch-site")


def documented_options() -> list[str]:
    command = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "--trusted-proxy" in block)
    words = shlex.split(command)[2:]
    at = words.index("--port")
    return words[:at] + words[at + 2 :]


@contextmanager
def proxy(port: int, user: str) -> Iterator[int]:
    """What nginx does with those settings, for a person who has signed in."""
    values = {"$host": "work.example.org", "$scheme": "https", "$remote_user": user}

    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
            headers |= {name: values[variable] for name, variable in HEADERS.items()}
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            self.send_response_only(response.status)
            for name, text in response.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, text)
            self.end_headers()
            with suppress(http.client.IncompleteRead):  # the board ends before its clients do
                while part := response.read1():
                    self.wfile.write(part)
            connection.close()

        do_GET = do_POST = forward  # noqa: N815  names of the standard library

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the standard library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_behind_a_proxy_for_a_team(place: Place) -> None:
    place.session("team plan").change([Append((Task("One"),), "")])
    with board(place, *documented_options()) as running, proxy(running.port, "Grace") as port:
        browser = signed_in(port)
        key = browser.key("team plan")
        head = browser.get(f"/api/s/{key}").json["head"]
        with browser.live("sessions") as live:
            edit = {"ops": [{"op": "mark", "at": [0], "status": "completed"}]}
            status = browser.post(f"/api/s/{key}/ops", edit, head, Origin="https://work.example.org").status
            card = live.until("session")
        forged = browser.get("/api/sessions", Origin="https://evil.example").status
        direct = direct_host(running)

    assert (status, card["state"], forged, direct) == (200, "done", 403, 421)
    assert [event.author.name for event in place.store().events("team plan")] == ["Grace", "Grace"]


def signed_in(port: int) -> Browser:
    answered = Browser(port, "/plans").post("/api/in", {}, Origin="https://work.example.org")
    assert answered.status == 200
    cookie = answered.headers["set-cookie"]
    assert "; Secure" in cookie
    assert "Path=/plans/" in cookie
    return Browser(port, "/plans", {"Cookie": cookie.partition(";")[0], "X-Tildone-Key": answered.json["key"]})


def direct_host(running: RunningBoard) -> int:
    """A request past the proxy, for a name that is not the board's."""
    with socket.create_connection(("127.0.0.1", running.port), 60) as connection:
        connection.sendall(b"GET /plans/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        return int(connection.makefile("rb").readline().split()[1])
