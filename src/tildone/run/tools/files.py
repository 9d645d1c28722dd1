"""Opens files by resolved paths, without following links: what is opened is what was checked.

Theory of operation. A path is resolved and checked first, and used later. Meanwhile, another process may replace a
folder of the path by a link that leads elsewhere. A resolved path contains no links, so it is opened one component at
a time, each relative to the folder that is already open and none through a link. A link anywhere on the way means that
the path has changed since it was checked, and the call fails. On Windows, which cannot open a file relative to a
folder, the path is used as it is.
"""

import codecs
import contextlib
import errno
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from fnmatch import fnmatchcase
from itertools import accumulate, islice

from tildone.base import files as atomic
from tildone.base import value
from tildone.base.private import SHARED_FILE, make_shared_folder
from tildone.plan.text.amounts import format_count, format_size

CONTEXT_LINES = 3

MAX_COMPARED_LINES = 2000
"""How many lines are compared with each other: comparing takes quadratic time. Beyond, all of them count as changed."""


@value
class Replacement:
    start: int
    end: int
    new: str


@value
class Hunk:
    """Old lines and the lines that replace them; `at` is the number of lines before them."""

    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def end_line(self) -> int:
        """The number of lines before the line that follows the old ones."""
        return self.at + len(self.old)


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    parts, at = [], 0
    for change in replacements:
        parts += [text[at : change.start], change.new]
        at = change.end
    return "".join([*parts, text[at:]])


def hunks(text: str, replacements: Sequence[Replacement]) -> list[Hunk]:
    """Return the changes by whole lines; replacements in the same or adjacent lines form one hunk."""
    lines = split_lines(text)
    ends = list(accumulate(map(len, lines)))
    finished: list[Hunk] = []
    group: list[Replacement] = []
    last = 0
    for change in replacements:
        first = bisect_right(ends, change.start)
        if group and first > last + 1:
            finished.append(_hunk(text, ends, group))
            group = []
        group.append(change)
        last = bisect_right(ends, max(change.end - 1, change.start))
    return [_trimmed(hunk) for hunk in [*finished, _hunk(text, ends, group)]]


def changed_lines(old: str, new: str) -> list[Hunk]:
    whole = _trimmed(Hunk(0, tuple(split_lines(old)), tuple(split_lines(new))))
    if max(len(whole.old), len(whole.new)) > MAX_COMPARED_LINES:
        return [whole]
    opcodes = SequenceMatcher(None, whole.old, whole.new, autojunk=False).get_opcodes()
    return [
        Hunk(whole.at + start, whole.old[start:end], whole.new[new_start:new_end])
        for tag, start, end, new_start, new_end in opcodes
        if tag != "equal"
    ]


def unified_diff(text: str, changes: Sequence[Hunk], name: str) -> str:
    """Return the changes in the format of `diff -u`."""
    lines = split_lines(text)
    parts = [f"--- {name}", f"+++ {name}"]
    line_offset = 0
    group: list[Hunk] = []
    for change in changes:
        if group and change.at - group[-1].end_line > 2 * CONTEXT_LINES:
            parts += _section(lines, group, line_offset)
            line_offset += sum(len(hunk.new) - len(hunk.old) for hunk in group)
            group = []
        group.append(change)
    return "\n".join([*parts, *_section(lines, group, line_offset)])


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their line feeds; no other character ends a line."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


def _hunk(text: str, ends: list[int], group: Sequence[Replacement]) -> Hunk:
    """Return the lines that these replacements touch, before and after."""
    first = bisect_right(ends, group[0].start)
    last = bisect_right(ends, max(group[-1].end - 1, group[-1].start))
    start = ends[first - 1] if first else 0
    end = ends[last] if last < len(ends) else len(text)
    inner = [Replacement(change.start - start, change.end - start, change.new) for change in group]
    old = text[start:end]
    new = apply_replacements(old, inner)
    if new and not new.endswith("\n") and end < len(text):
        # The line feed was removed with the old text, so the next line, which no other group touches, joins this one.
        follows = ends[last + 1]
        old, new = text[start:follows], new + text[end:follows]
    return Hunk(first, tuple(split_lines(old)), tuple(split_lines(new)))


def _trimmed(hunk: Hunk) -> Hunk:
    """Return the hunk without equal lines at both ends."""
    old, new = hunk.old, hunk.new
    shared = min(len(old), len(new))
    before = next((i for i in range(shared) if old[i] != new[i]), shared)
    shared -= before
    after = next((i for i in range(shared) if old[-1 - i] != new[-1 - i]), shared)
    return Hunk(hunk.at + before, old[before : len(old) - after], new[before : len(new) - after])


def _section(lines: list[str], group: Sequence[Hunk], line_offset: int) -> list[str]:
    start = max(group[0].at - CONTEXT_LINES, 0)
    end = min(group[-1].end_line + CONTEXT_LINES, len(lines))
    body: list[str] = []
    at = start
    for hunk in group:
        body += _prefixed(" ", lines[at : hunk.at]) + _prefixed("-", hunk.old) + _prefixed("+", hunk.new)
        at = hunk.end_line
    body += _prefixed(" ", lines[at:end])
    growth = sum(len(hunk.new) - len(hunk.old) for hunk in group)
    return [f"@@ -{_range(start, end - start)} +{_range(start + line_offset, end - start + growth)} @@", *body]


def _prefixed(sign: str, lines: Sequence[str]) -> list[str]:
    marked = [f"{sign}{line}" for line in lines]
    return [
        line.removesuffix("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file" for line in marked
    ]


def _range(start: int, count: int) -> str:
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"


class ToolFailure(Exception):
    """A tool call failed. The model is shown only this message."""


def os_failure(shown: str, error: OSError) -> ToolFailure:
    """Return the failure for an operating system error on a path, without the error number."""
    return ToolFailure(f"{shown}: {error.strerror or type(error).__name__}")


EVERY_FILE = "*"
"""The pattern that matches every file below the working directory, except in `.git`."""

_GIT = ".git"


def resolve_path(path: str, cwd: str) -> str:
    """Return the absolute path, relative to the working directory, with all symbolic links resolved."""
    if not path.strip():
        raise ToolFailure("The path is empty")
    try:
        return os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{path!r} is no path: {error}") from error


def is_below(real: str, folder: str) -> bool:
    """Return whether a resolved path is the folder itself or inside it."""
    root = os.path.normcase(os.path.realpath(folder))
    return os.path.join(os.path.normcase(real), "").startswith(os.path.join(root, ""))


def display_path(real: str, cwd: str) -> str:
    """Return a resolved path as it is shown to a model: relative if it is in the working directory."""
    shown = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return decodable_name(shown)


def decodable_name(name: str) -> str:
    """Return a file name as valid text, with undecodable bytes replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def matches_path(real: str, cwd: str, pattern: str) -> bool:
    """Return whether a pattern matches a resolved path.

    `*` also matches slashes, and a folder matches all files in it. A file outside the working directory is matched only
    by an absolute pattern, and a file in `.git` only by a pattern that names `.git`: git runs programs from there.
    """
    absolute = os.path.isabs(os.path.expanduser(pattern))
    if not absolute and not is_below(real, cwd):
        return False
    shown = (real if absolute else os.path.relpath(real, os.path.realpath(cwd))).replace(os.sep, "/")
    if is_in_git(real, cwd) and _GIT not in pattern:
        return False
    wanted = os.path.expanduser(pattern).replace(os.sep, "/").removeprefix("./").rstrip("/")
    return fnmatchcase(shown, wanted) or fnmatchcase(shown, f"{wanted}/*")


def is_in_git(real: str, cwd: str) -> bool:
    """Return whether a resolved path is in a `.git` folder; outside the working directory, any folder counts."""
    inner = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return _GIT in os.path.normcase(inner).split(os.sep)


RELATIVE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether files can be opened relative to an open folder."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# A folder may allow passing through it, but not reading it.
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY) | _NO_FOLLOW
# Opening a pipe must not wait for its other end.
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_LINKED = {errno.ELOOP, errno.EMLINK}


class PathChanged(OSError):
    """A component of the path is a link: the path has changed since it was resolved, or its links form a circle."""

    def __init__(self) -> None:
        super().__init__(errno.ELOOP, "its links form a circle, or have changed in the meantime")


@contextlib.contextmanager
def open_resolved(path: str) -> Iterator[int]:
    """Open a file or folder for reading, and yield its descriptor."""
    with _parent(path) as (folder, name):
        file = _opened(name, _READ, folder)
        try:
            yield file
        finally:
            os.close(file)


def replace_resolved(path: str, data: bytes, shown: str) -> None:
    """Create or replace a file atomically, and its missing folders; an existing file keeps its mode and owner."""
    with _parent(path, create=True) as (folder, name):
        before = _stat(name, folder)
        if before is not None and stat.S_ISLNK(before.st_mode):
            raise PathChanged
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolFailure(f"{shown} is not a regular file")
        if before is not None and not os.access(name, os.W_OK, dir_fd=folder):
            raise ToolFailure(f"{shown} is read-only")
        atomic.replace_file(name, data, like=before, mode=SHARED_FILE, folder=folder)


@contextlib.contextmanager
def _parent(path: str, *, create: bool = False) -> Iterator[tuple[int | None, str]]:
    """Yield the open folder of a path and the name in it; None and the whole path where that is not possible."""
    above, name = os.path.split(path)
    if not RELATIVE or not name:
        if create:
            make_shared_folder(above)
        yield None, path
        return
    folder = os.open(os.sep, _FOLDER)
    try:
        for part in above.split(os.sep):
            if part:
                folder = _into(folder, part, create=create)
        yield folder, name
    finally:
        os.close(folder)


def _into(folder: int, name: str, *, create: bool) -> int:
    """Return the open subfolder, and close the folder above it."""
    try:
        inner = _opened(name, _FOLDER, folder)
    except FileNotFoundError:
        if not create:
            raise
        make_shared_folder(name, folder)
        inner = _opened(name, _FOLDER, folder)
    os.close(folder)
    return inner


def _opened(name: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        about = _stat(name, folder)
        if error.errno in _LINKED or (about is not None and stat.S_ISLNK(about.st_mode)):
            raise PathChanged from error
        raise


def _stat(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


MAX_FILE_BYTES = 50_000_000
"""The size of the largest file that is read."""

# UTF-32 first: its byte order marks begin with those of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_BYTES = 8000
_CONTROLS = bytes(set(range(0x20)) - set(b"\a\b\t\n\f\r\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE = 0.1


@value
class Encoding:
    """The encoding of a file: its byte order mark, if any, and the codec of the rest."""

    bom: bytes
    name: str

    def decode(self, data: bytes) -> str:
        """Return the text; undecodable bytes become surrogates, from which `encode` restores them."""
        return data[len(self.bom) :].decode(self.name, self._error_handler)

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.name, self._error_handler)

    @property
    def _error_handler(self) -> str:
        return "surrogateescape" if self.name == "utf-8" else "surrogatepass"


def encoding_of(data: bytes) -> Encoding:
    """Return the encoding that the byte order mark indicates, or UTF-8 if there is none."""
    return next(
        (Encoding(bom, name) for bom, name in _BYTE_ORDER_MARKS if data.startswith(bom)), Encoding(b"", "utf-8")
    )


def is_binary(data: bytes) -> bool:
    """Return whether the first bytes of a file do not look like text."""
    encoding = encoding_of(data)
    if encoding.name != "utf-8":
        return False
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return b"\0" in sample or controls > len(sample) * _MAX_CONTROL_SHARE


def read_file(path: str, shown: str) -> bytes:
    """Return all bytes of the file at a resolved path."""
    try:
        with open_resolved(path) as descriptor:
            return read_descriptor(descriptor, shown)
    except OSError as error:
        raise os_failure(shown, error) from error


def read_descriptor(descriptor: int, shown: str) -> bytes:
    """Return all bytes of an open file."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise ToolFailure(f"{shown} is not a regular file")
    if about.st_size > MAX_FILE_BYTES:
        raise ToolFailure(
            f"{shown} has {format_size(about.st_size)}; look at parts of it with bash (sed -n, grep, tail)"
        )
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def replace_file(path: str, data: bytes, shown: str) -> None:
    """Create or replace the file at a resolved path atomically; an existing one keeps its mode and owner."""
    try:
        replace_resolved(path, data, shown)
    except OSError as error:
        raise os_failure(shown, error) from error


MAX_DIFF_LINES = 2000
"""How many lines of a diff are shown with a question."""


@value
class PreparedChange:
    """The content of a file before and after; `before` is None if the file does not exist.

    `hunks` returns the changed lines of the text before the change, and is called only if the change is shown.
    """

    path: str
    shown: str
    before: bytes | None
    after: bytes
    hunks: Callable[[], tuple[str, Sequence[Hunk]]]

    @property
    def is_new(self) -> bool:
        return self.before is None

    def write(self) -> None:
        """Write the file."""
        if content(self.path, self.shown) != self.before:
            raise ToolFailure(f"{self.shown} has changed in the meantime; read it again")
        replace_file(self.path, self.after, self.shown)


@value
class ShownChange:
    """A change as the person sees it: the number of added and removed lines, and the lines of the diff."""

    added: int
    removed: int
    lines: tuple[str, ...]


def content(path: str, shown: str) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        return read_file(path, shown)
    except ToolFailure as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return None
        raise


def whole_file(path: str, shown: str, data: bytes) -> PreparedChange:
    before = content(path, shown)

    def hunks() -> tuple[str, Sequence[Hunk]]:
        old, new = _text(before or b""), _text(data)
        return old, changed_lines(old, new)

    return PreparedChange(path, shown, before, data, hunks)


def show_change(change: PreparedChange) -> ShownChange:
    """Return the change as the person sees it. A diff that is too long says how much of it is missing."""
    if is_binary(change.before or b"") or is_binary(change.after):
        sizes = f"{format_size(len(change.before or b''))} before, {format_size(len(change.after))} after"
        return ShownChange(0, 0, (f"A binary file: {sizes}",))
    text, hunks = change.hunks()
    added, removed = sum(len(hunk.new) for hunk in hunks), sum(len(hunk.old) for hunk in hunks)
    if not hunks:
        return ShownChange(0, 0, ("Nothing changes",) if change.before is not None else ("An empty file",))
    # The first two lines name the file, which the question does.
    lines = unified_diff(text, hunks, change.shown).split("\n")[2:]
    hidden = len(lines) - MAX_DIFF_LINES
    more = (f"… {format_count(hidden, 'more line')} that cannot be shown here",) if hidden > 0 else ()
    return ShownChange(added, removed, (*lines[:MAX_DIFF_LINES], *more))


def _text(data: bytes) -> str:
    """Return the text of a file; what cannot be decoded is shown as a replacement character."""
    encoding = encoding_of(data)
    return data[len(encoding.bom) :].decode(encoding.name, "replace")


_MAX_SUGGESTIONS = 3
_MAX_FOLDERS_SEARCHED = 500
_SKIPPED = {"node_modules", "__pycache__"}


def similar_paths(real: str, root: str) -> list[str]:
    """Return existing paths that are spelled like this one, then files of the same name elsewhere below the root."""
    folder, missing = os.path.split(real)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder, missing = os.path.split(folder)
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder))
    by_lower = {name.lower(): name for name in names}
    similar = [by_lower[name] for name in get_close_matches(missing.lower(), by_lower, _MAX_SUGGESTIONS)]
    paths = [os.path.join(folder, name) for name in similar]
    return list(islice(dict.fromkeys([*paths, *_namesakes(os.path.basename(real), root)]), _MAX_SUGGESTIONS))


def _namesakes(name: str, root: str) -> list[str]:
    paths = []
    for folder, folders, files in islice(os.walk(root), _MAX_FOLDERS_SEARCHED):
        folders[:] = sorted(
            subfolder for subfolder in folders if subfolder not in _SKIPPED and not subfolder.startswith(".")
        )
        if name in files:
            paths.append(os.path.join(folder, name))
    return paths
