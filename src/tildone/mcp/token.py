"""The bearer token of the HTTP server: finding, creating and comparing it."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Mapping

from tildone.config import Settings
from tildone.errors import UsageError
from tildone.files.private import make_private_folder, open_private
from tildone.value import value

VARIABLE = "TILDONE_TOKEN"
FILE = "mcp-token"
MIN_TOKEN_CHARS = 16


@value
class Token:
    """A secret, and its source: a file or an environment variable."""

    secret: str
    source: str

    def matches(self, header: str) -> bool:
        """Return whether an Authorization header contains the token, compared in constant time."""
        scheme, _, given = header.partition(" ")
        same = secrets.compare_digest(given.strip().encode("utf-8", "replace"), self.secret.encode())
        return same and scheme.lower() == "bearer"


def find_token(settings: Settings, environ: Mapping[str, str], file: str | None) -> Token:
    """Return the token in the named file, else in the environment, else in the default file; a missing file is created.

    Raises:
        UsageError: the token is not valid, or its file cannot be read or created.
    """
    if file is None and environ.get(VARIABLE):
        return Token(_checked(environ[VARIABLE], f"${VARIABLE}"), f"${VARIABLE}")
    path = os.path.abspath(os.path.expanduser(file or os.path.join(os.path.dirname(settings.agents_dir), FILE)))
    try:
        if not os.path.exists(path):
            _create(path)
        with open(path, encoding="ascii") as opened:
            secret = _checked(opened.read(), path)
        if sys.platform != "win32" and os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            sys.stderr.write(f"tildone mcp: other users have access to {path}; restrict it with chmod 600\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} holds no token: it is not ASCII text") from error
    return Token(secret, path)


def _checked(text: str, source: str) -> str:
    secret = text.strip()
    if len(secret) < MIN_TOKEN_CHARS or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(f"{source} holds no token: that is {MIN_TOKEN_CHARS} or more ASCII characters without a space")
    return secret


def _create(path: str) -> None:
    """Create a token file that only its owner can read. If several processes do so at once, the first file stays."""
    make_private_folder(os.path.dirname(path))
    temporary = f"{path}.{secrets.token_hex(6)}"
    with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="ascii") as file:
        file.write(f"{secrets.token_urlsafe(32)}\n")
    try:
        # Unlike `os.replace`, neither function overwrites an existing file.
        (os.rename if sys.platform == "win32" else os.link)(temporary, path)
    except FileExistsError:
        pass
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
