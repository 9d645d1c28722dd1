"""Operations on listings of git: they give the same as looking at each entry."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.repositories import git, make_repository
from tildone.app import check_files as kept_listings
from tildone.app.check_files import CHECKSUM_BYTES, KeptListings, WatchedFiles, matches, matching, with_entries, without
from tildone.stores.agents import digest

NAMES = st.binary(min_size=1, max_size=4).map(lambda name: name.replace(b"\0", b"/")) | st.text("a/.", min_size=1).map(
    str.encode
)
TEXTS = st.text("ab/*?.", min_size=1, max_size=5)


def listing(names: set[bytes]) -> bytes:
    return b"".join(entry(name) for name in sorted(names))


def entry(name: bytes) -> bytes:
    return b"100644 %s 0\t%s\0" % (hashlib.sha1(name, usedforsecurity=False).hexdigest().encode(), name)


@given(st.sets(NAMES), st.dictionaries(NAMES, st.booleans()))
def test_entries_are_replaced_added_and_left_out(names: set[bytes], changes: dict[bytes, bool]) -> None:
    after = (names | {name for name, kept in changes.items() if kept}) - {
        name for name, kept in changes.items() if not kept
    }

    changed = with_entries(listing(names), {name: entry(name) if kept else b"" for name, kept in changes.items()})

    assert changed == listing(after)


def test_all_entries_of_a_file_in_a_merge_are_replaced() -> None:
    stages = b"".join(entry(b"b").replace(b" 0\t", b" %d\t" % stage) for stage in (1, 2, 3))

    assert with_entries(entry(b"a") + stages + entry(b"c"), {b"b": entry(b"b")}) == listing({b"a", b"b", b"c"})


@given(st.sets(NAMES), st.lists(NAMES))
def test_names_that_begin_with_a_prefix_are_left_out(names: set[bytes], prefixes: list[bytes]) -> None:
    assert without(listing(names), prefixes) == listing(
        {name for name in names if not name.startswith(tuple(prefixes))}
    )


@given(st.sets(st.text("ab/.é", min_size=1, max_size=5)), st.lists(TEXTS, max_size=3))
def test_globs_select_each_file_once_and_in_order(names: set[str], globs: list[str]) -> None:
    selected = b"".join(matching(listing({name.encode() for name in names}), globs))

    assert selected == listing({name.encode() for name in names if matches(name, globs)})


class Copies:
    """A repository, and a folder for the copy of its listing."""

    def __init__(self, folder: Path) -> None:
        self.project = make_repository(folder / "project")
        self.folder = folder / "listings"

    @property
    def copy(self) -> Path:
        return self.folder / digest(str(self.project))

    @property
    def index(self) -> Path:
        return self.project / ".git" / "index"

    def digest(self) -> str:
        """Return the digest with copies."""
        return WatchedFiles(str(self.project), listings=str(self.folder)).tracked(())

    def true_digest(self) -> str:
        """Return the digest as git prints it now."""
        return WatchedFiles(str(self.project)).tracked(())

    def forge(self) -> None:
        """Change the copy, so that its use can be seen."""
        self.copy.write_bytes(self.copy.read_bytes().replace(b"src/parser.py", b"src/forged.py"))


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def test_a_copy_is_used_while_the_index_is_the_same(copies: Copies) -> None:
    """An edit that is not added leaves the index as it is, and counts nevertheless."""
    assert copies.digest() == copies.true_digest()
    (copies.project / "README").write_text("Edited.\n", encoding="utf-8")
    assert copies.digest() == copies.true_digest()

    copies.forge()

    assert copies.digest() not in ("", copies.true_digest())


@pytest.mark.parametrize("words", [["rm", "-q", "--cached", "README"], ["checkout", "-q", "HEAD~1"]], ids=" ".join)
def test_a_copy_is_not_used_after_the_index_has_changed(words: list[str], copies: Copies) -> None:
    git(copies.project, "mv", "README", "README.md")
    git(copies.project, "commit", "-qm", "Renamed")
    git(copies.project, "mv", "README.md", "README")
    git(copies.project, "commit", "-qm", "Renamed again")
    before = copies.digest()

    git(copies.project, *words)

    assert copies.digest() == copies.true_digest() != before


@pytest.mark.parametrize("size", [0, 10, 200])
def test_an_incomplete_copy_is_not_used(size: int, copies: Copies) -> None:
    copies.digest()
    copies.copy.write_bytes(copies.copy.read_bytes()[:size])

    assert copies.digest() == copies.true_digest()


def test_an_index_without_a_checksum_has_no_copy(copies: Copies) -> None:
    """As `index.skipHash` makes it: nothing shows whether it has changed."""
    copies.index.write_bytes(copies.index.read_bytes()[:-CHECKSUM_BYTES] + bytes(CHECKSUM_BYTES))

    assert copies.digest() == copies.true_digest() != ""
    assert not copies.folder.exists()


def test_a_listing_of_another_index_is_not_kept(copies: Copies) -> None:
    """The index changes while git prints the listing."""

    def printed() -> bytes:
        git(copies.project, "rm", "-q", "--cached", "README")
        return b"of either index"

    assert KeptListings(str(copies.folder)).listing(str(copies.project), printed) == b"of either index"
    assert not copies.folder.exists()


def test_a_worktree_has_a_copy_of_its_own(copies: Copies, tmp_path: Path) -> None:
    git(copies.project, "worktree", "add", "-q", str(tmp_path / "other"))

    assert WatchedFiles(str(tmp_path / "other"), listings=str(copies.folder)).tracked(()) == copies.digest() != ""

    assert {copies.copy.name, digest(str(tmp_path / "other"))} == {path.name for path in copies.folder.iterdir()}


def test_the_newest_copies_are_kept(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_listings, "MAX_KEPT", 2)
    copies.folder.mkdir()
    for time, name in enumerate(("first", "second")):
        (copies.folder / name).write_bytes(b"")
        os.utime(copies.folder / name, (time, time))

    copies.digest()

    assert {path.name for path in copies.folder.iterdir()} == {copies.copy.name, "second"}


def test_a_copy_that_cannot_be_written_is_no_problem(copies: Copies) -> None:
    copies.folder.write_text("not a folder", encoding="utf-8")

    assert copies.digest() == copies.true_digest()
