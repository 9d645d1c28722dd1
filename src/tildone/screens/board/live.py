"""Distributes frames to the open streams.

Theory of operation. Everything here runs on the event loop. A frame is the newest payload about one thing: a topic, an
event and a session. Each stream has a mailbox, not a queue: a newer frame about the same thing takes the place of the
older one, so a mailbox is bounded by what its stream is told about, however slow the client is. A frame is encoded
once, whoever gets it.

Frames are numbered. The hub keeps the newest frame about each of the last 4,096 things. A client that comes back with
the number of its last frame gets what is newer, if nothing of that has been dropped; else it is told to `reset`: to
read everything again. The numbers of another process mean nothing here, so each process has a boot id.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tildone.base import value
from tildone.screens.board.http import json_bytes

MAX_KEYS = 500
NEEDS, COUNTS, LIST, ONE, FLEET = "needs", "counts", "sessions", "session", "fleet"


class UnknownTopic(ValueError):
    """There is no such topic."""


@value
class Topics:
    """The topics of a stream. `shown` are the digests of the sessions in the window, None if it shows all of them."""

    needs: bool = False
    counts: bool = False
    shown: frozenset[str] | None = frozenset()
    opened: frozenset[str] = frozenset()
    fleet: bool = False

    def include(self, topic: str, digest: str) -> bool:
        """Return whether a frame of a topic, about the session with this digest, belongs to the stream."""
        match topic:
            case "needs":
                return self.needs
            case "counts":
                return self.counts
            case "fleet":
                return self.fleet
            case "sessions":
                return self.shown is None or digest in self.shown
            case _:
                return digest in self.opened


def parse_topics(text: str) -> Topics:
    """Return the topics in the text of a request. Raises UnknownTopic if one is unknown, or there are too many keys."""
    plain: set[str] = set()
    shown: set[str] = set()
    opened: set[str] = set()
    for part in filter(None, text.split(",")):
        topic, colon, keys = part.partition(":")
        digests = [key.rpartition("-")[2] for key in keys.split(";") if key]
        if topic == ONE and len(digests) == 1:
            opened.update(digests)
        elif topic == LIST and colon:
            shown.update(digests)
        elif topic in (NEEDS, COUNTS, LIST, FLEET) and not colon:
            plain.add(topic)
        else:
            raise UnknownTopic(part[:80])
    if len(shown) + len(opened) > MAX_KEYS:
        raise UnknownTopic(f"more than {MAX_KEYS} sessions")
    has_list = LIST in plain or bool(shown)
    window = None if LIST in plain else frozenset(shown)
    return Topics(NEEDS in plain, COUNTS in plain or has_list, window, frozenset(opened), FLEET in plain)


MAX_REMEMBERED = 4096
BOOT_BYTES = 4
BYE_MS = 500


@value
class News:
    """What is told: the event of the stream, its data, and the topic and the digest of the session it is about."""

    topic: str
    event: str
    digest: str
    data: object

    @property
    def about(self) -> tuple[str, str, str]:
        """What the frame is the newest one about."""
        return self.topic, self.event, self.digest


@value
class Frame:
    number: int
    news: News
    encoded: bytes


class Mailbox:
    """The frames that wait to be sent on one stream: the newest about each thing."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.closing = False
        self._waiting: dict[tuple[str, str, str], Frame] = {}
        self._filled = asyncio.Event()

    def put(self, frame: Frame) -> None:
        """Add a frame, if the stream is told about its topic."""
        if self.topics.include(frame.news.topic, frame.news.digest):
            self._waiting[frame.news.about] = frame
            self._filled.set()

    def close(self) -> None:
        self.closing = True
        self._filled.set()

    async def wait(self) -> None:
        await self._filled.wait()

    def take(self) -> list[Frame]:
        """Return the frames that wait, in the order of their numbers, and forget them."""
        frames = sorted(self._waiting.values(), key=lambda frame: frame.number)
        self._waiting.clear()
        self._filled.clear()
        return frames


class Hub:
    """The open streams, and the newest frames. `changed` is called with the number of streams when it changes."""

    def __init__(self, changed: Callable[[int], object]) -> None:
        self.boot = secrets.token_hex(BOOT_BYTES)
        self.number = 0
        self._changed = changed
        self._newest: dict[tuple[str, str, str], Frame] = {}
        self._dropped = 0
        self._mailboxes: set[Mailbox] = set()
        self.opened = frozenset[str]()
        """The digests of the sessions that streams are told about in detail. Other threads read it."""
        self.shows_fleet = False
        """Whether a stream is told about the fleet. Other threads read it."""

    @property
    def streams(self) -> int:
        return len(self._mailboxes)

    @property
    def position(self) -> str:
        """The number of the newest frame, with the boot id."""
        return f"{self.boot}.{self.number}"

    def publish(self, news: Iterable[News]) -> None:
        for each in news:
            self.number += 1
            frame = Frame(self.number, each, encoded_event(each.event, each.data, self.position))
            self._newest.pop(each.about, None)
            self._newest[each.about] = frame
            if len(self._newest) > MAX_REMEMBERED:
                self._dropped = self._newest.pop(next(iter(self._newest))).number
            for mailbox in self._mailboxes:
                mailbox.put(frame)

    def open(self, topics: Topics, last: str) -> tuple[Mailbox, bool]:
        """Open a stream; return its mailbox, and whether it has everything newer than the frame `last`."""
        mailbox = Mailbox(topics)
        self._mailboxes.add(mailbox)
        self._count()
        boot, _, digits = last.partition(".")
        if not last:
            return mailbox, True
        number = int(digits) if digits.isdecimal() and len(digits) < 16 else -1  # noqa: PLR2004  any such number is ours
        if boot != self.boot or not self._dropped <= number <= self.number:
            return mailbox, False
        for frame in self._newest.values():
            if frame.number > number:
                mailbox.put(frame)
        return mailbox, True

    def leave(self, mailbox: Mailbox) -> None:
        self._mailboxes.discard(mailbox)
        self._count()

    def close(self) -> None:
        """End all streams, because the server ends."""
        for mailbox in self._mailboxes:
            mailbox.close()

    def _count(self) -> None:
        self.opened = frozenset[str]().union(*(mailbox.topics.opened for mailbox in self._mailboxes))
        self.shows_fleet = any(mailbox.topics.fleet for mailbox in self._mailboxes)
        self._changed(len(self._mailboxes))


def encoded_event(event: str, data: object, position: str = "") -> bytes:
    """Return a frame of a stream of server-sent events. JSON in ASCII has no line breaks."""
    number = f"id: {position}\n".encode() if position else b""
    return number + f"event: {event}\ndata: ".encode() + json_bytes(data) + b"\n\n"


HEARTBEAT_SECONDS = 15.0
FLUSH_SECONDS = 0.1
"""How long a stream waits after it has sent something: so no session is told about more often than this."""

UNREAD_SECONDS = 20.0
"""How long a client may leave unread what was sent."""

RETRY_MS = 1000
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    # Tells nginx not to hold frames back.
    (b"x-accel-buffering", b"no"),
]


class LiveStream(Response):
    """The response to a request for live updates. `abort` closes the connection of a client that does not read."""

    def __init__(self, hub: Hub, topics: Topics, last: str, abort: Callable[[], object]) -> None:
        super().__init__()
        self._hub, self._topics, self._last, self._abort = hub, topics, last, abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        mailbox, resumes = self._hub.open(self._topics, self._last)
        first = f"retry: {RETRY_MS}\n\n".encode()
        first += b"" if resumes else encoded_event("reset", {"why": "too far behind"}, self._hub.position)
        writing = asyncio.create_task(self._write(mailbox, first, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(mailbox)
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, mailbox: Mailbox, first: bytes, send: Send) -> None:
        try:
            async with asyncio.timeout(UNREAD_SECONDS):
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                await send({"type": "http.response.body", "body": first, "more_body": True})
            while not mailbox.closing:
                body = await _next_body(mailbox)
                async with asyncio.timeout(UNREAD_SECONDS):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await asyncio.sleep(FLUSH_SECONDS)
            bye = encoded_event("bye", {"in": BYE_MS})
            async with asyncio.timeout(UNREAD_SECONDS):
                await send({"type": "http.response.body", "body": bye, "more_body": False})
        except TimeoutError:
            self._abort()


async def _next_body(mailbox: Mailbox) -> bytes:
    """Wait for frames; return them, or a comment that shows that the stream is alive."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await mailbox.wait()
    except TimeoutError:
        return b":\n\n"
    return b"".join(frame.encoded for frame in mailbox.take()) or b":\n\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
