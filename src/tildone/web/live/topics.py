"""What a stream is told about: its topics.

`needs`, `counts`, `fleet`, `sessions` (all of them), `sessions:KEY;KEY;…` (only the ones shown), and `session:KEY` (one
in detail). Topics are separated by commas.
"""

from __future__ import annotations

from tildone.value import value

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
    """Return the topics in the text of a request.

    Raises:
        UnknownTopic: there is no such topic, or there are too many keys.
    """
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
