import os
from pathlib import Path

import pytest

from tildone.base.errors import Refused
from tildone.base.private import path_of, real_path_inside


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
