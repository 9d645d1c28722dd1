"""What a lease must not contain: passwords, and texts that cannot be part of a path, a ref or an environment.

Whoever can write to the tables of a fleet can put anything into a row. So these rules hold for what a person queues and
for what is read: no `Lease` and no `RunSchedule` exists that breaks them, and code that makes a path, a ref or an
argument of one needs no check of its own. A check that fails raises `UsageError`.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, UsageError, shortened

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


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
    """Return a text that is the same for all ways to name a repository; `resolved` returns a path without links."""
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


MAX_TEXT = 1000
MAX_SESSION = 4096
MAX_LABELS = 50
MAX_HANDS = 64
MAX_NAME = 64
MAX_COUNT = 1_000_000
"""How often a run can be taken, and fail. Files and attempts of a run are found by counting."""

MAX_PRIORITY = 1_000_000_000

LATEST_MS = 253_402_300_799_999
"""The end of the year 9999."""

HAND_SUFFIX = ".hand"
PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""How a repository may be reached. Git has others, of which `ext` runs a program."""

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
NOT_IN_REFS = frozenset(" ~^:?*[\\\x7f")
"""What no ref contains, besides control characters: see `git check-ref-format`."""

COMMIT_LENGTHS = (40, 64)
_FORBIDDEN_IN_REFS = ("..", "@{", "//", "/.", "./")


class FileName(str):
    """The name of the files of a hand of a run: one part of a path or a ref; any other text raises `UsageError`."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not _is_name(text, MAX_NAME + len(f"{HAND_SUFFIX}{MAX_HANDS}")):
            raise UsageError(f"{shortened(str(text))!r} cannot be the name of a file or a branch")
        return super().__new__(cls, text)

    @classmethod
    def of(cls, run: str, hand: int) -> Self:
        return cls.of_hand(run, hand) if hand else cls(run)

    @classmethod
    def of_hand(cls, run: str, hand: int) -> Self:
        """Return a name that differs from that of the run, also for its first hand."""
        return cls(f"{run}{HAND_SUFFIX}{hand + 1}")


def branch_of(name: str) -> str:
    """Return the branch of a run, or of what one of its hands has done."""
    return f"tildone/{name}"


def check_name(what: str, name: object) -> None:
    if not _is_name(name, MAX_NAME):
        raise UsageError(
            f"{what} has 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`, no two dots together, and neither begins "
            f"nor ends with one, not {shortened(str(name))!r}"
        )


def check_session(session: object) -> None:
    if not isinstance(session, str) or not 1 <= len(session) <= MAX_SESSION or "\0" in session:
        raise UsageError(f"a session has a name of 1 to {MAX_SESSION} characters, not {shortened(str(session))!r}")


def is_ref(text: str) -> bool:
    """Return whether git takes a text for the name of a branch, a tag or a ref, or the digits of a commit."""
    if not text.isprintable() or NOT_IN_REFS.intersection(text) or any(each in text for each in _FORBIDDEN_IN_REFS):
        return False
    is_part = all(part and not part.endswith(".lock") for part in text.split("/"))
    return is_part and text != "@" and not text.startswith(("-", ".")) and not text.endswith(".")


def is_revision(text: str) -> bool:
    """Return whether a text names a commit: by a ref or its own digits, or as one so many before it, as `main~2`."""
    name = text.partition("~")[0].partition("^")[0]
    return is_ref(name) and set(text.removeprefix(name)) <= set("~^0123456789")


def is_commit(text: str) -> bool:
    return len(text) in COMMIT_LENGTHS and all(char in "0123456789abcdef" for char in text)


def is_repository(repo: str) -> bool:
    """Return whether a text is an address of a repository that workers reach, or the absolute path of a folder."""
    if not repo.isprintable():
        return False
    if not is_address(repo):
        is_windows = repo[1:3] in (":\\", ":/") or repo.startswith("\\\\")
        return repo.startswith(("/", "~")) or is_windows
    scheme, separator, _ = repo.partition("://")
    return scheme.lower() in PROTOCOLS if separator else not repo.startswith("-")


def check_text(text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{shortened(repr(text))} is no text")
    if len(text) > MAX_TEXT:
        raise UsageError(f"a text of a run has at most {MAX_TEXT} characters, not {len(text)}")
    if not text.isprintable():
        raise UsageError(f"{shortened(text)!r} has characters that cannot be printed")


def check_number(what: str, number: object, most: int, least: int = 0) -> None:
    if not isinstance(number, int) or not least <= number <= most:
        raise UsageError(f"{what} is a number from {least} to {most}, not {shortened(repr(number))}")


def check_repository(repo: str) -> None:
    if _has_password(repo):
        raise UsageError(
            "the URL of the repository contains a user or a password, which would be stored; leave it out, "
            "and let git ask a credential helper"
        )
    if repo and not is_repository(repo):
        raise UsageError(
            f"{shortened(repo)!r} is neither an address ({', '.join(PROTOCOLS)}) nor the absolute path of a folder"
        )


def _is_name(name: object, most: int) -> bool:
    if not isinstance(name, str) or not 1 <= len(name) <= most or not NAME_CHARACTERS.issuperset(name):
        return False
    return not name.startswith((".", "-")) and not name.endswith((".", ".lock")) and ".." not in name


def _has_password(url: str) -> bool:
    """Return whether a URL has a password, or a user where that may be a token."""
    scheme, separator, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return bool(separator and at) and (":" in user or scheme.lower() in ("http", "https"))


FAMILIES = frozenset({"anthropic", "azure", "bedrock", "google", "openai"})
ALIASES = {"amazon-bedrock": "bedrock", "gemini": "google", "vertex": "google"}


def provider_family(name: str) -> str:
    name = name.lower()
    first = name.partition("-")[0]
    return ALIASES.get(name) or ALIASES.get(first) or (first if first in FAMILIES else name)
