"""The secret that a client shows over HTTP: where it comes from, and who else could read it."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Mapping

from tildone.config import Settings
from tildone.errors import UsageError
from tildone.value import value

VARIABLE = "TILDONE_TOKEN"
FILE = "mcp-token"
SHORTEST = 16


@value
class Token:
    """A secret, and where a person finds it."""

    secret: str
    place: str

    def fits(self, header: str) -> bool:
        """Whether an Authorization header shows it. How long that takes says nothing about the secret."""
        scheme, _, shown = header.partition(" ")
        same = secrets.compare_digest(shown.strip().encode("utf-8", "replace"), self.secret.encode())
        return same and scheme.lower() == "bearer"


def find_token(settings: Settings, environ: Mapping[str, str], file: str | None) -> Token:
    """The token of the file that was named, else of the environment, else of a file that is made for it.

    Raises:
        UsageError: there is one, and it will not do.
    """
    if file is None and environ.get(VARIABLE):
        return Token(_fit(environ[VARIABLE], f"${VARIABLE}"), f"${VARIABLE}")
    path = os.path.abspath(os.path.expanduser(file or os.path.join(os.path.dirname(settings.agents_dir), FILE)))
    try:
        if not os.path.exists(path):
            _make(path)
        with open(path, encoding="ascii") as kept:
            secret = _fit(kept.read(), path)
        if sys.platform != "win32" and os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            sys.stderr.write(f"tildone mcp: others on this machine can get at {path}; chmod 600 keeps them out\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} holds no token: it is not ASCII text") from error
    return Token(secret, path)


def _fit(said: str, place: str) -> str:
    secret = said.strip()
    if len(secret) < SHORTEST or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(f"{place} holds no token: that is {SHORTEST} or more ASCII characters without a space")
    return secret


def _make(path: str) -> None:
    """Make a token, for this person's eyes only. Where several make one at once, the first one's counts for all."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(f"{secrets.token_urlsafe(32)}\n")
    try:
        # Neither of the two takes the place of a file that is there.
        (os.rename if sys.platform == "win32" else os.link)(draft, path)
    except FileExistsError:
        pass
    finally:
        if os.path.exists(draft):
            os.remove(draft)
