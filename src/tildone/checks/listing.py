"""Operations on a listing: what `git ls-files --stage -z` prints, which is in the order of the names.

A listing of a large project has megabytes, and a hook reads one at every stop of an agent. So nothing here looks at
each of its entries, except for a glob that needs it: names are found by binary search, and what is between them is
used as it is.
"""

from __future__ import annotations

import os

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HASH_START = 7
"""Where the hash of an entry begins, after its mode."""


def hash_length(listing: bytes) -> int:
    """Return how many hexadecimal digits the hashes in a listing have; 0 if it is empty."""
    return listing.index(b" ", HASH_START) - HASH_START if listing else 0


def with_entries(listing: bytes, entries: Mapping[bytes, bytes]) -> bytes:
    """Return a listing in which the files of these names have these entries; those with an empty one are left out."""
    pieces: list[bytes] = []
    at = 0
    for name in sorted(entries):
        start = _place(listing, name)
        # During a merge, a file has several entries.
        pieces += (listing[at:start], entries[name])
        at = _place(listing, name + b"\0")
    return b"".join((*pieces, listing[at:])) if pieces else listing


def without(listing: bytes, prefixes: Iterable[bytes]) -> bytes:
    """Return a listing without the files whose names begin with one of these."""
    for prefix in prefixes:
        start, end = _range(listing, prefix)
        if start < end:
            listing = listing[:start] + listing[end:]
    return listing


def matching(listing: bytes, globs: Iterable[str]) -> Iterator[bytes]:
    """Yield the parts of a listing with the files that match one of the globs, in order."""
    at = 0
    for start, end in sorted(span for glob in globs for span in _spans(listing, glob)):
        yield listing[max(at, start) : end]
        at = max(at, end)


def _spans(listing: bytes, glob: str) -> Iterator[tuple[int, int]]:
    """Yield where the files are that match a glob."""
    literal = glob[: next((i for i, letter in enumerate(glob) if letter in "*?["), len(glob))]
    prefix = os.fsencode(literal)
    if glob == literal:
        yield _place(listing, prefix), _place(listing, prefix + b"\0")
        return
    start, end = _range(listing, prefix)
    if glob == f"{literal}**":
        yield start, end
        return
    # Late, because few checks need it.
    from tildone.checks.globs import pattern  # noqa: PLC0415  see above

    fits = pattern(glob).fullmatch
    for entry in listing[start:end].split(b"\0")[:-1]:
        after = start + len(entry) + 1
        if fits(os.fsdecode(entry.partition(b"\t")[2])):
            yield start, after
        start = after


def _range(listing: bytes, prefix: bytes) -> tuple[int, int]:
    """Return where the entries of the names that begin with this start and end."""
    # The first text that is greater than all texts with the prefix.
    shorter = prefix.rstrip(b"\xff")
    end = _place(listing, shorter[:-1] + bytes((shorter[-1] + 1,))) if shorter else len(listing)
    return _place(listing, prefix), end


def _place(listing: bytes, name: bytes) -> int:
    """Return where the first entry starts whose name is not less than this one."""
    low, high = 0, len(listing)
    while low < high:
        # The entry around the middle: an entry ends with a null byte, and a tab precedes its name.
        start = listing.rfind(b"\0", low, (low + high) // 2) + 1 or low
        tab = listing.index(b"\t", start)
        end = listing.index(b"\0", tab)
        if listing[tab + 1 : end] < name:
            low = end + 1
        else:
            high = start
    return low
