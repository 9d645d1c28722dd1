import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Never

import pytest

from tildone.base.private import make_private_folder, make_shared_folder, open_private, open_shared

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
UMASKS = (0o000, 0o022, 0o077, 0o777)


@contextmanager
def masked(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def test_every_created_folder_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for umask in UMASKS:
        top = tmp_path / oct(umask)
        with masked(umask):
            make_private_folder(str(top / "b"))

        assert [_mode(top / "b"), _mode(top), _mode(tmp_path)] == [0o700, 0o700, 0o755], oct(umask)


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)

    make_private_folder(str(tmp_path / "a"))

    assert _mode(tmp_path / "a") == 0o755


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    with pytest.raises(FileExistsError):
        make_private_folder(str(tmp_path / "a"))


def test_a_folder_that_another_process_creates_first_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = os.mkdir

    def overtaken(path: str, mode: int) -> Never:
        made(path, mode)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", overtaken)

    make_private_folder(str(tmp_path / "a"))

    assert (tmp_path / "a").is_dir()


def test_a_created_file_is_private(tmp_path: Path) -> None:
    for flags, umask in product((os.O_CREAT, os.O_CREAT | os.O_EXCL), UMASKS):
        file = tmp_path / f"{flags} {umask:o}"
        with masked(umask):
            os.close(open_private(str(file), os.O_RDWR | flags))

        assert _mode(file) == 0o600, file.name


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    (tmp_path / "file").chmod(0o644)

    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        file = open_private(str(tmp_path / "file"), flags)
        assert os.read(file, 9) == b"here"
        os.close(file)

    assert _mode(tmp_path / "file") == 0o644


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


def test_an_existing_file_is_not_created_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(FileExistsError):
        open_private(str(tmp_path / "file"), os.O_RDWR | os.O_CREAT | os.O_EXCL)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777
