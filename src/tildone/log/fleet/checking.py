"""What a lease must not contain: passwords, and texts that cannot be part of a path, a ref or an environment."""

from __future__ import annotations

from tildone.errors import UsageError, shortened
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.log.fleet.lease import NewRun, Work

MAX_TEXT = 1000
MAX_LABELS = 50
MAX_HANDS = 64
MAX_NAME = 64
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def checked_run(new: NewRun) -> NewRun:
    """Return a new run that can be queued.

    Raises:
        UsageError: it cannot be; the message says why.
    """
    check_name("the name of a run", new.run)
    if not 1 <= new.hands <= MAX_HANDS:
        raise UsageError(f"a run has 1 to {MAX_HANDS} hands, not {new.hands}")
    check_work(new.work)
    return new


def check_work(work: Work) -> None:
    """Check what a run consists of.

    Raises:
        UsageError: a text contains a password or what is not printable, or there are too many.
    """
    if len(work.labels) > MAX_LABELS or len(work.allow) > MAX_LABELS:
        raise UsageError(f"a run has at most {MAX_LABELS} labels, and as many patterns that it allows")
    for text in (work.repo, work.provider, work.agent, work.model, work.ref, *work.labels, *work.allow):
        check_text(text)
    if _has_password(work.repo):
        raise UsageError(
            "the URL of the repository contains a user or a password, which would be stored; leave it out, "
            "and let git ask a credential helper"
        )


def check_name(what: str, name: str) -> None:
    """Check a name that becomes part of paths, refs and environment variables.

    Raises:
        UsageError: it has characters that these do not have, or is too long.
    """
    if not 1 <= len(name) <= MAX_NAME or not NAME_CHARACTERS.issuperset(name) or name.startswith((".", "-")):
        raise UsageError(f"{what} has 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`, not {shortened(name)!r}")


def check_text(text: str) -> None:
    """Check a text of a lease or a worker.

    Raises:
        UsageError: it is too long, or has characters that cannot be printed.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"a text of a run has at most {MAX_TEXT} characters, not {len(text)}")
    if not text.isprintable():
        raise UsageError(f"{shortened(text)!r} has characters that cannot be printed")


def _has_password(url: str) -> bool:
    """Return whether a URL has a password, or a user where that may be a token."""
    scheme, separator, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    return bool(separator and at) and (":" in user or scheme.lower() in ("http", "https"))
