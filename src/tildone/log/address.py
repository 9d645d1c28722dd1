"""Addresses of stores: the text that `--store` takes, parsed.

    plans.db                            PATH: no scheme
    jsonl:sessions                      SCHEME:PATH
    postgresql://me:secret@host/plans   SCHEME://…: a URL, which names no path

Parsing depends only on the form; the registry of stores maps schemes to stores. A path that looks as if it began with
a scheme must include its folder: `./notes:2024.db`.
"""

from __future__ import annotations

from tildone.value import value


@value
class StoreAddress:
    """The address of a store. `location` is a path or, if it begins with `//`, the rest of a URL. `str` unparses it."""

    scheme: str
    location: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.location}" if self.scheme else self.location

    @property
    def path(self) -> str | None:
        """The path of the file or folder; None for a URL."""
        return None if self.scheme and self.location.startswith("//") else self.location

    @property
    def redacted(self) -> str:
        """The address without password and options, safe to print."""
        if self.path is not None:
            return str(self)
        userinfo, at, host = self.location.removeprefix("//").rpartition("@")
        return f"{self.scheme}://{userinfo.partition(':')[0]}{at}{host.partition('?')[0]}"


@value
class AddressForm:
    """The addresses of a store: its schemes ("" for plain paths), a placeholder for help texts, one line for docs."""

    schemes: tuple[str, ...]
    placeholder: str
    summary: str


def parse_address(text: str) -> StoreAddress:
    """Parse an address. Every text is one: without a scheme, it is a path."""
    scheme, colon, location = text.partition(":")
    return StoreAddress(scheme, location) if colon and _is_scheme(scheme) else StoreAddress("", text)


def _is_scheme(text: str) -> bool:
    # A single letter is a Windows drive.
    return len(text) > 1 and text.isascii() and text[0].isalpha() and text.replace("+", "").replace("-", "").isalnum()
