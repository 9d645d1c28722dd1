"""Private files, and the boundary of a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Never

import pytest

from tildone.base import Refused
from tildone.base.private import (
    make_private_folder,
    make_shared_folder,
    open_private,
    open_shared,
    path_of,
    real_path_inside,
)

UMASKS = (0o000, 0o022, 0o077, 0o777)


@contextmanager
def masked(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_every_created_folder_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for umask in UMASKS:
        top = tmp_path / oct(umask)
        with masked(umask):
            make_private_folder(str(top / "b"))

        assert [_mode(top / "b"), _mode(top), _mode(tmp_path)] == [0o700, 0o700, 0o755], oct(umask)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)

    make_private_folder(str(tmp_path / "a"))

    assert _mode(tmp_path / "a") == 0o755


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    with pytest.raises(FileExistsError):
        make_private_folder(str(tmp_path / "a"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_folder_that_another_process_creates_first_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = os.mkdir

    def overtaken(path: str, mode: int) -> Never:
        made(path, mode)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", overtaken)

    make_private_folder(str(tmp_path / "a"))

    assert (tmp_path / "a").is_dir()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_created_file_is_private(tmp_path: Path) -> None:
    for flags, umask in product((os.O_CREAT, os.O_CREAT | os.O_EXCL), UMASKS):
        file = tmp_path / f"{flags} {umask:o}"
        with masked(umask):
            os.close(open_private(str(file), os.O_RDWR | flags))

        assert _mode(file) == 0o600, file.name


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    (tmp_path / "file").chmod(0o644)

    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        file = open_private(str(tmp_path / "file"), flags)
        assert os.read(file, 9) == b"here"
        os.close(file)

    assert _mode(tmp_path / "file") == 0o644


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_what_is_shared_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    for umask in UMASKS[:3]:
        with masked(umask):
            make_shared_folder(str(tmp_path / f"{umask:o}" / "b"))
            os.close(open_shared(str(tmp_path / f"{umask:o}" / "file"), os.O_WRONLY | os.O_CREAT))
            make_shared_folder(f"in {umask:o}", folder)
            make_shared_folder(f"in {umask:o}", folder)
            os.close(open_private(f"private {umask:o}", os.O_WRONLY | os.O_CREAT, folder))
        names = (f"{umask:o}", f"{umask:o}/b", f"in {umask:o}", f"{umask:o}/file", f"private {umask:o}")
        modes = [0o777 & ~umask] * 3 + [0o666 & ~umask, 0o600]
        assert [_mode(tmp_path / name) for name in names] == modes, oct(umask)
    os.close(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_an_existing_file_is_not_created_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(FileExistsError):
        open_private(str(tmp_path / "file"), os.O_RDWR | os.O_CREAT | os.O_EXCL)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project-other").mkdir()
    return tmp_path / "project"


def test_paths_and_links_inside_are_resolved(project: Path) -> None:
    (project / "real").mkdir()
    (project / "link").symlink_to("real")
    root = os.path.realpath(project)

    assert real_path_inside(str(project), str(project / "link" / "new.json")) == os.path.join(root, "real", "new.json")
    assert real_path_inside(str(project), str(project / "missing" / "new.json")).startswith(root)
    assert real_path_inside(str(project), str(project)) == root


def test_a_link_out_is_refused_and_named(project: Path) -> None:
    """A folder whose name begins like that of the project is outside, too."""
    (project / "a").mkdir()
    for number, target in enumerate(("../../project-other", "../../missing", "/")):
        link = project / "a" / str(number)
        link.symlink_to(target)

        with pytest.raises(Refused) as refused:
            real_path_inside(str(project), str(link / "file"))

        real = os.path.join(os.path.realpath(project), "a", str(number))
        assert str(refused.value).startswith(
            f"{real} is a symbolic link to {os.path.realpath(real)}, outside of {project}"
        )


def test_a_project_that_is_reached_through_a_link_is_fine(project: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(project)

    assert real_path_inside(str(tmp_path / "shortcut"), str(tmp_path / "shortcut" / "file"))


def test_a_path_that_goes_up_is_refused(project: Path) -> None:
    with pytest.raises(Refused):
        real_path_inside(str(project), str(project / ".." / "file"))


def test_no_name_leads_out_of_its_folder(project: Path) -> None:
    (project / "link").symlink_to("../project-other")
    (project / "inside").symlink_to("real")

    for name in ("..", ".", "", "../project-other", "/etc", "a/../..", "a//b", "a\0b", "link"):
        with pytest.raises(Refused):
            path_of(str(project), name)
    assert path_of(f"{project}/", "new") == path_of(str(project), "new") == str(project / "new")
    assert path_of(str(project), "inside") == str(project / "inside")
