"""How a repository is named: by the path of a folder, or by an address."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_IN_SCHEMES = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+.-")


def is_address(repo: str) -> bool:
    """Return whether a repository is named by an address, `scheme://…` or `user@host:…`, rather than a folder."""
    scheme, separator, _ = repo.lower().partition("://")
    if separator and scheme[:1].isalpha() and _IN_SCHEMES.issuperset(scheme):
        return True
    place, colon, _ = repo.partition(":")
    user, at, host = place.partition("@")
    return bool(colon and at and user and host) and not any(char == "/" or char.isspace() for char in place)


def repository_key(repo: str, resolved: Callable[[str], str]) -> str:
    """Return a text that is the same for all ways to name a repository: paths, `ssh://` and `git@host:`, `.git`.

    `resolved` returns a path without links.
    """
    if not is_address(repo):
        return resolved(repo)
    scheme, separator, rest = repo.partition("://")
    if not separator:
        scheme, rest = "ssh", repo.replace(":", "/", 1)
    if scheme.lower() == "file":
        return resolved(rest.removeprefix("localhost"))
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    return f"{host}{slash}{path.rstrip('/').removesuffix('.git').strip('/')}"
