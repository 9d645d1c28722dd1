"""Secrets: which environment variables commands do not get, and what is redacted before it is stored or shown.

A variable is a secret if a word of its name, between underscores, is KEY, TOKEN, PASS, AUTH or similar, if its name
contains PASSWORD or SECRET, if it begins with AWS_, if it has the headers of an exporter of OpenTelemetry, or if it is
a URL with a password. Proxies are passed on, because programs reach nothing without them.

A text is redacted where it contains the value of such a variable, the password of a URL, or something in the form of a
well-known key. Every pattern begins at the start of a token and has no nested repetition, so the time is proportional
to the text.
"""

import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote

REDACTED = "[redacted]"

MIN_VALUE_LENGTH = 8
"""Shorter values of variables are not redacted: they would occur in ordinary text."""

MAX_HELD_BYTES = 65_536
"""How much of an unfinished line, or of an unfinished private key, a stream holds back."""

_NAME = re.compile(
    "(?:^|_)(?:KEYS?|CREDENTIALS?|PASSWD|PASSPHRASE|PASS|PAT|AUTH)(?:_|$)|(?:API_?KEYS?|TOKEN)(?:_|$)|PASSWORD|SECRET"
    "|^AWS_|^MYSQL_PWD$|^OTEL_.*HEADERS$"
)
_OF_SSH = "SSH_AUTH_SOCK"
_NOT_SECRET_VALUES = re.compile("(?:^|_)CREDENTIALS?(?:_|$)|^AWS_(?!.*(?:KEY|TOKEN|SECRET))")
"""Names of files and regions, which occur in ordinary output."""

_LINE_ENDS = (b"\n", b"\r")
_PRIVATE_KEY = re.compile("-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PRIVATE_KEY_BODY = r"(?:[A-Za-z0-9+/=\s:,.\\]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
_START = r"(?<![A-Za-z0-9_-])"
_KEYS = (
    r"sk-[A-Za-z0-9_-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
_SHAPES = rf"{_PRIVATE_KEY.pattern}{_PRIVATE_KEY_BODY}|{_START}(?:{'|'.join(_KEYS)})"
_BEARER = r"(?P<bearer>(?<![A-Za-z0-9_-])[Bb]earer[ \t]+)[A-Za-z0-9._~+/=-]{16,}"
_URL = re.compile(
    r"(?P<url>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<user>[^\s/@:\"']{0,100}):)"
    r"(?P<password>[^\s/@\"']{1,200})(?=@)"
)
_FORMS = (_SHAPES, _BEARER, _URL.pattern)
_NEVER = "(?!)"


def is_secret(name: str, text: str) -> bool:
    """Return whether an environment variable is a secret, judged by its name and its value."""
    return _is_named(name) or (_URL.search(text) is not None and not name.upper().endswith("_PROXY"))


def _is_named(name: str) -> bool:
    return name.upper() != _OF_SSH and _NAME.search(name.upper()) is not None


def command_environment(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of a command: without secrets, except those that the person passes."""
    return {name: text for name, text in environ.items() if name in passed or not is_secret(name, text)}


class Redactor:
    """Redacts the values of the secrets in an environment and, with `forms`, what looks like one.

    Without `forms`, only what is surely a secret is redacted, as in a file that is read to be edited.
    """

    def __init__(self, environ: Mapping[str, str], *, forms: bool = True) -> None:
        named = {
            text for name, text in environ.items() if _is_named(name) and not _NOT_SECRET_VALUES.search(name.upper())
        }
        urls = [found for text in environ.values() for found in _URL.finditer(text)]
        passwords = {each for found in urls for each in (found["password"], unquote(found["password"]))}
        # A password that is the name of the user, too, occurs in ordinary text.
        named |= passwords - {unquote(found["user"]) for found in urls}
        values = {text for text in named if len(text) >= MIN_VALUE_LENGTH}
        literals = [re.escape(text) for text in sorted(_and_as_bytes(values), key=len, reverse=True)]
        literals += [f"(?<=:){re.escape(text)}(?=@)" for text in sorted(_and_as_bytes(passwords))]
        self._leads = ("bearer", "url") if forms else ()
        self._pattern = re.compile("|".join([*literals, *(_FORMS if forms else (_NEVER,))]))

    def text(self, text: str) -> str:
        return self._pattern.sub(lambda found: "".join(found[lead] or "" for lead in self._leads) + REDACTED, text)

    def data(self, data: bytes) -> bytes:
        return self.text(data.decode("latin-1")).encode("latin-1")

    def cut(self, data: bytes, end: int) -> int:
        """Return a position that is not inside a secret: `end`, or the beginning of the secret around it."""
        around = (found for found in self._pattern.finditer(data.decode("latin-1")) if found.end() > end)
        return min(end, next((found.start() for found in around), end)) or len(data)


def _and_as_bytes(values: set[str]) -> set[str]:
    """Return the texts, also as they stand in a stream of bytes: as their UTF-8 bytes."""
    return values | {text.encode("utf-8", "surrogateescape").decode("latin-1") for text in values}


class StreamRedactor:
    """Redacts a stream of bytes that arrives in pieces: a secret may be split between two of them.

    Only whole lines are released, and a private key only once it is complete. What is held back is bounded.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes, and return those that are ready."""
        self._held += data
        if len(self._held) > MAX_HELD_BYTES:
            end = self._redactor.cut(self._held, len(self._held) - MAX_HELD_BYTES // 2)
        else:
            end = self._before_private_key(1 + max(map(self._held.rfind, _LINE_ENDS)))
        ready, self._held = self._held[:end], self._held[end:]
        return self._redactor.data(ready)

    def preview(self) -> bytes:
        """Return the whole words of the unfinished line."""
        return self._redactor.data(self._held[: self._before_private_key(1 + self._held.rfind(b" "))])

    def finish(self) -> bytes:
        """Return the rest."""
        rest, self._held = self._held, b""
        return self._redactor.data(rest)

    def _before_private_key(self, end: int) -> int:
        """Return where an unfinished private key begins, if that is before `end`."""
        start = self._held.rfind(b"-----BEGIN ", 0, end)
        if start < 0 or b"-----END " in self._held[start:end]:
            return end
        return start if _PRIVATE_KEY.match(self._held[start:end].decode("latin-1")) else end
