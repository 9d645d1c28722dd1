"""Addresses of stores: the text that `--store` takes, parsed.

    plans.db                            PATH: no scheme
    jsonl:sessions                      SCHEME:PATH
    postgresql://me:secret@host/plans   SCHEME://…: a URL, which names no path

The form alone tells these apart; the registry of stores states which store answers to which scheme. A path whose first
part looks like a scheme is written with its folder: `./notes:2024.db`.
"""

from __future__ import annotations

from tildone.value import value


@value
class StoreAddress:
    """Where a store is. `location` is a path or, if it begins with `//`, the rest of a URL. `str` reverses parsing."""

    scheme: str
    location: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.location}" if self.scheme else self.location

    @property
    def path(self) -> str | None:
        """The file or folder that the address names; None for a URL."""
        return None if self.scheme and self.location.startswith("//") else self.location

    @property
    def redacted(self) -> str:
        """The address without password and options, fit to be shown to anybody."""
        if self.path is not None:
            return str(self)
        userinfo, at, host = self.location.removeprefix("//").rpartition("@")
        return f"{self.scheme}://{userinfo.partition(':')[0]}{at}{host.partition('?')[0]}"


def parse_address(text: str) -> StoreAddress:
    """The address that a text stands for."""
    scheme, colon, location = text.partition(":")
    return StoreAddress(scheme, location) if colon and _is_scheme(scheme) else StoreAddress("", text)


def _is_scheme(text: str) -> bool:
    # One letter is a drive of Windows.
    return len(text) > 1 and text.isascii() and text[0].isalpha() and text.replace("+", "").replace("-", "").isalnum()
