"""Proofs are keyed to the content of the watched files, which listings of git give as looking at each entry does."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.repositories import PASSES, Runner, git, make_repository, python
from tildone.app import check_runner as check_files
from tildone.app.check_runner import (
    CHECKSUM_BYTES,
    KeptListings,
    WatchedFiles,
    matches,
    matching,
    with_entries,
    without,
)
from tildone.app.opening import check_approvals, check_runner
from tildone.app.settings import load
from tildone.base import replace
from tildone.plan.model import Check
from tildone.stores.agents import digest

ON_SOURCES = replace(PASSES, watches=("src",))
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def runner(repository: Path, tmp_path: Path) -> Runner:
    return Runner(repository, tmp_path)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A project without git."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "parser.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "README").write_text("Read me.\n", encoding="utf-8")
    return folder


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def edit(folder: Path) -> None:
    write(folder / "src" / "parser.py", "x = 2\n")


def same_size(parser: Path) -> None:
    """Content counts, whatever its size and time."""
    info = parser.stat()
    write(parser, "x = 3\n")
    os.utime(parser, ns=(info.st_atime_ns, info.st_mtime_ns + 1))


def link(parser: Path) -> None:
    parser.unlink()
    parser.symlink_to("../README")


every_change = pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda parser: write(parser, "x = 2\n"), id="edit"),
        pytest.param(same_size, id="same size"),
        pytest.param(Path.unlink, id="delete"),
        pytest.param(lambda parser: parser.rename(parser.with_name("lexer.py")), id="rename"),
        pytest.param(lambda parser: parser.chmod(0o755), marks=posix, id="make executable"),
        pytest.param(link, marks=posix, id="link"),
    ],
)


@pytest.mark.parametrize("check", [PASSES, ON_SOURCES])
@every_change
def test_a_change_makes_a_proof_stale_and_its_commit_a_later_one_keeps_fresh(
    change: Callable[[Path], object], check: Check, repository: Path, runner: Runner
) -> None:
    proof = runner.prove(check)

    change(repository / "src" / "parser.py")

    assert runner.is_stale(check, proof)
    again = runner.prove(check)
    assert not runner.is_stale(check, again)
    git(repository, "add", "-A")
    assert not runner.is_stale(check, again)
    git(repository, "commit", "-qm", "Changed")
    assert not runner.is_stale(check, again)
    git(repository, "checkout", "-q", "HEAD~1")
    assert runner.is_stale(check, again)
    assert not runner.is_stale(check, proof)


def test_an_untracked_file_counts_only_for_a_check_that_names_it(repository: Path, runner: Runner) -> None:
    """One that was made after the check has passed counts when it is added."""
    before = runner.prove(PASSES)
    write(repository / "src" / "new.py", "y = 1\n")
    by_default, named = runner.prove(PASSES), runner.prove(ON_SOURCES)

    write(repository / "src" / "new.py", "y = 2\n")

    assert not runner.is_stale(PASSES, by_default)
    assert runner.is_stale(ON_SOURCES, named)
    assert not runner.is_stale(PASSES, before)
    git(repository, "add", "-A")
    assert runner.is_stale(PASSES, before)


MATCHING = [("src",), ("src/",), ("src/*.py",), ("**/parser.py",), ("docs", "src/p*")]
OTHERS = [("*.py",), ("lib",), ("src/*.c",)]


@pytest.mark.parametrize("globs", [*MATCHING, *OTHERS])
def test_only_what_matches_a_glob_counts(globs: tuple[str, ...], repository: Path, runner: Runner) -> None:
    check = replace(PASSES, watches=globs)
    proof = runner.prove(check)

    write(repository / "README", "Other words.\n")
    assert not runner.is_stale(check, proof)

    edit(repository)
    assert runner.is_stale(check, proof) is (globs in MATCHING)


@pytest.mark.parametrize("is_tracked", [True, False])
def test_our_own_and_ignored_files_never_count(*, is_tracked: bool, repository: Path, tmp_path: Path) -> None:
    """Even if somebody has added the store to the repository."""
    store = repository / ".tildone" / "plan.db"
    write(store, "1")
    if is_tracked:
        git(repository, "add", "-A")
    runner = Runner(repository, tmp_path, ignored=(str(store),))
    proofs = {i: (check, runner.prove(check)) for i, check in enumerate((PASSES, replace(PASSES, watches=("**",))))}

    write(store, "2")
    write(repository / ".tildone" / "plan.db-wal", "3")
    write(repository / "trace.log", "ignored by git\n")

    assert runner.stale(proofs) == frozenset()
    edit(repository)
    assert runner.stale(proofs) == frozenset({0, 1})


def test_no_file_in_the_data_folder_makes_a_proof_stale(repository: Path) -> None:
    """The project may be the person's home."""
    data = str(repository / "data")
    settings = load({}, {"XDG_DATA_HOME": data, "LOCALAPPDATA": data}, str(repository))
    check = replace(PASSES, watches=("**",))
    check_approvals(settings).approve(check)
    proof = check_runner(settings).prove({1: check})[1]
    git(repository, "add", "-A")

    check_approvals(settings).approve(PASSES)
    failing = python("import sys; sys.exit(1)")
    check_approvals(settings).approve(failing)
    assert check_runner(settings).prove({2: failing})[2].output

    assert check_runner(settings).stale({1: (check, proof)}) == frozenset()
    edit(repository)
    assert check_runner(settings).stale({1: (check, proof)}) == {1}


def test_in_a_repository_with_longer_hashes_a_commit_keeps_a_proof_fresh(tmp_path: Path) -> None:
    repository = tmp_path / "project"
    repository.mkdir()
    git(repository, "init", "-q", "--object-format=sha256")
    write(repository / "README", "1")
    git(repository, "add", "-A")
    edit(repository)
    write(repository / "README", "2")
    runner = Runner(repository, tmp_path)
    proofs = {i: (check, runner.prove(check)) for i, check in enumerate((PASSES, ON_SOURCES))}

    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "First")

    assert runner.stale(proofs) == frozenset()
    edit(repository)
    write(repository / "README", "3")
    assert runner.stale(proofs) == frozenset({0})


def test_during_a_merge_the_working_file_counts(repository: Path, runner: Runner) -> None:
    git(repository, "checkout", "-qb", "other")
    write(repository / "src" / "parser.py", "x = 'theirs'\n")
    git(repository, "commit", "-qam", "Theirs")
    git(repository, "checkout", "-q", "main")
    write(repository / "src" / "parser.py", "x = 'ours'\n")
    git(repository, "commit", "-qam", "Ours")
    git(repository, "merge", "-q", "other", check=False)
    write(repository / "src" / "parser.py", "x = 'both'\n")

    proof = runner.prove(PASSES)

    assert not runner.is_stale(PASSES, proof)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Merged")
    assert not runner.is_stale(PASSES, proof)
    edit(repository)
    assert runner.is_stale(PASSES, proof)


def test_the_commit_of_a_submodule_counts(repository: Path, runner: Runner, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(repository, "commit", "-qam", "With a library")
    proof = runner.prove(PASSES)
    seen: set[str] = set()

    for text in ("2", "3"):
        write(repository / "lib" / "src" / "parser.py", text)
        assert runner.is_stale(PASSES, proof) is bool(seen)
        git(repository / "lib", "commit", "-qam", text)
        assert runner.is_stale(PASSES, proof)
        seen.add(WatchedFiles(str(repository)).tracked(()))

    assert len(seen) == 2
    again = runner.prove(PASSES)
    git(repository, "commit", "-qam", "Newer library")
    assert not runner.is_stale(PASSES, again)


@posix
def test_no_program_that_the_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    write(repository / ".gitattributes", "*.py filter=evil\n")
    git(repository, "config", "filter.evil.clean", f"touch '{marker}'; cat")
    git(repository, "config", "core.fsmonitor", f"touch '{marker}'")
    edit(repository)

    digests = WatchedFiles(str(repository)).tracked(()), WatchedFiles(str(repository)).everything(("src",))

    assert all(digests)
    assert not marker.exists()


@pytest.mark.parametrize("check", [PASSES, ON_SOURCES])
@every_change
def test_without_git_all_files_count(
    change: Callable[[Path], object], check: Check, plain: Path, tmp_path: Path
) -> None:
    runner = Runner(plain, tmp_path)
    proof = runner.prove(check)
    assert proof.all_files
    assert not runner.is_stale(check, proof)

    change(plain / "src" / "parser.py")

    assert runner.is_stale(check, proof)


def test_outside_a_repository_globs_hidden_files_dependencies_and_ours_are_respected(
    plain: Path, tmp_path: Path
) -> None:
    runner = Runner(plain, tmp_path, ignored=(str(plain / "plans.db"),))
    everything, sources = runner.prove(PASSES), runner.prove(ON_SOURCES)

    for name in ("plans.db", "plans.db-wal", ".cache/x", "node_modules/x", "src/__pycache__/x"):
        write(plain / name, "changed")
    assert runner.stale({1: (PASSES, everything), 2: (ON_SOURCES, sources)}) == frozenset()

    write(plain / "README", "changed")
    assert runner.stale({1: (PASSES, everything), 2: (ON_SOURCES, sources)}) == {1}


def test_a_folder_with_too_many_files_has_no_digest(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_files, "MAX_FILES", 1)
    runner = Runner(plain, tmp_path)
    proof = runner.prove(PASSES)

    edit(plain)

    assert (proof.files, proof.all_files) == ("", "")
    assert not runner.is_stale(PASSES, proof)


def test_globs_match_as_those_of_git() -> None:
    for glob, path, expected in (
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/?.py", "src/a.py", True),
        ("src/?.py", "src/ab.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[!ab].py", "c.py", True),
        ("a[", "a[", True),
        ("a.py", "aXpy", False),
    ):
        assert matches(path, [glob]) is expected, glob


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
        self.folder, self.index = folder / "listings", self.project / ".git" / "index"
        self.copy = self.folder / digest(str(self.project))

    def digest(self) -> str:
        """Return the digest with copies."""
        return WatchedFiles(str(self.project), listings=str(self.folder)).tracked(())

    def true_digest(self) -> str:
        """Return the digest as git prints it now."""
        return WatchedFiles(str(self.project)).tracked(())


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def test_a_copy_is_used_while_the_index_is_the_same_if_it_is_complete(copies: Copies) -> None:
    """An edit that is not added leaves the index as it is, and counts nevertheless."""
    assert copies.digest() == copies.true_digest()
    (copies.project / "README").write_text("Edited.\n", encoding="utf-8")
    assert copies.digest() == copies.true_digest()
    whole = copies.copy.read_bytes()

    copies.copy.write_bytes(whole.replace(b"src/parser.py", b"src/forged.py"))
    assert copies.digest() not in ("", copies.true_digest())

    for size in (0, 10, 200):
        copies.copy.write_bytes(whole[:size])
        assert copies.digest() == copies.true_digest()


@pytest.mark.parametrize("words", [["rm", "-q", "--cached", "README"], ["checkout", "-q", "HEAD~1"]], ids=" ".join)
def test_a_copy_is_not_used_after_the_index_has_changed(words: list[str], copies: Copies) -> None:
    git(copies.project, "mv", "README", "README.md")
    git(copies.project, "commit", "-qm", "Renamed")
    git(copies.project, "mv", "README.md", "README")
    git(copies.project, "commit", "-qm", "Renamed again")
    before = copies.digest()

    git(copies.project, *words)

    assert copies.digest() == copies.true_digest() != before


def test_an_index_without_a_checksum_has_no_copy(copies: Copies) -> None:
    """As `index.skipHash` makes it: nothing shows whether it has changed."""
    copies.index.write_bytes(copies.index.read_bytes()[:-CHECKSUM_BYTES] + bytes(CHECKSUM_BYTES))

    assert copies.digest() == copies.true_digest() != ""
    assert not copies.folder.exists()
    # Nor does it matter if none can be written.
    copies.folder.write_text("not a folder", encoding="utf-8")
    git(copies.project, "reset", "-q")
    assert copies.digest() == copies.true_digest()


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
    monkeypatch.setattr(check_files, "MAX_KEPT", 2)
    copies.folder.mkdir()
    for time, name in enumerate(("first", "second")):
        (copies.folder / name).write_bytes(b"")
        os.utime(copies.folder / name, (time, time))

    copies.digest()

    assert {path.name for path in copies.folder.iterdir()} == {copies.copy.name, "second"}
