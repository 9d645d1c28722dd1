"""Distributes frames to the open streams.

Theory of operation. Everything here runs on the event loop. A frame is the newest payload about one thing: a topic, an
event and a session. Each stream has a mailbox, not a queue: a newer frame about the same thing takes the place of the
older one, so a mailbox is bounded by what its stream is told about, however slow the client is. A frame is encoded
once, whoever gets it.

Frames are numbered. The hub keeps the newest frame about each of the last 4,096 things. A client that comes back with
the number of its last frame gets what is newer, if nothing of that has been dropped; else it is told to `reset`: to
read everything again. The numbers of another process mean nothing here, so each process has a boot id.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable

from tildone.value import value
from tildone.web.http.answers import json_bytes
from tildone.web.live.topics import Topics

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
    """A frame as it is sent, with its number."""

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
        """End the stream."""
        self.closing = True
        self._filled.set()

    async def wait(self) -> None:
        """Wait until there is something to send, or the stream ends."""
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
        """How many streams are open."""
        return len(self._mailboxes)

    @property
    def position(self) -> str:
        """The number of the newest frame, with the boot id."""
        return f"{self.boot}.{self.number}"

    def publish(self, news: Iterable[News]) -> None:
        """Send news to the streams that are told about them."""
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
        """Open a stream. Return its mailbox, and whether the client can go on after the frame `last`, if it names one.

        If it can, everything newer is in the mailbox.
        """
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
        """A stream has ended."""
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
