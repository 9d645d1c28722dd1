"""A request in the form that all handlers read, whichever transport it came over."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Elicit = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    """Shows the person a form in the client, and returns the result; None if there is none."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol in which a connection begins with `initialize`, oldest first."""

MODERN_VERSIONS = ("2026-07-28",)
"""The revisions in which every request says in its `_meta` which revision it uses, and who sends it."""


@value
class Request:
    """A request: its method and parameters, the revision of the protocol, and the client.

    `client` is the name that the client gave itself, in lower case; it is empty if the client gave none. `http` is the
    HTTP request, or None on standard input and output. `elicit` is None if the client shows no forms. `describe` says
    what the request waits for, in the progress notifications that the client asked for.
    """

    method: str
    params: Mapping[str, Any]
    version: str
    client: str = ""
    http: Any = None
    elicit: Elicit | None = None
    describe: Callable[[str], None] | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`; empty if it has none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_modern(self) -> bool:
        """Whether the request uses a revision without `initialize`."""
        return self.version in MODERN_VERSIONS
