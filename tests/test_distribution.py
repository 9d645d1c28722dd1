"""Hints name commands that work for the way this copy was installed."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import tildone
from tildone.base import distribution

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the folders of an installation are laid out as on Unix")

PACKAGE = Path(tildone.__file__).parent
SHOW = """
import sys
from tildone import distribution
print(distribution.method(), distribution.program(), distribution.install_extra("run"), sep="\\n")
print(distribution.install_package("boto3>=1"), distribution.upgrade(), sep="\\n")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a space and a letter that is not ASCII in its path."""
    folder = tmp_path / "my prøject"
    folder.mkdir()
    return folder


def make_venv(folder: Path) -> Path:
    """A virtual environment without pip that contains this package, and a command; returns its Python."""
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    shutil.copytree(PACKAGE, packages / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    python = folder / "bin" / "python"
    command(folder / "bin" / "tildone", python)
    return python


def command(path: Path, python: Path) -> None:
    """A command that shows the hints; like the one that an installer writes, it knows the path it was called by."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".source").write_text(f"import sys\nsys.argv = sys.argv[1:]\n{SHOW}")
    path.write_text(f'#!/bin/sh\nexec "{python}" "{path.with_suffix(".source")}" "$0"\n', encoding="utf-8")
    path.chmod(0o755)


def hints(*argv: str | Path, path: str = "/nowhere", **environ: str) -> list[str]:
    """The method, the program, an extra, a package, an upgrade."""
    done = subprocess.run(
        [str(word) for word in argv],
        env={"PATH": path, "HOME": "/nonexistent", **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines()


def test_a_virtual_environment_that_is_not_on_path(place: Path) -> None:
    """The command is named by its path, and packages are added with its own Python."""
    python = make_venv(place / ".venv")

    how, program, extra, package, upgrade = hints(place / ".venv" / "bin" / "tildone")

    assert how == "pip in a virtual environment"
    assert program == f"'{place}/.venv/bin/tildone'"
    assert extra == f"'{python}' -m ensurepip && '{python}' -m pip install 'tildone[run]'"
    assert package == f"'{python}' -m ensurepip && '{python}' -m pip install 'boto3>=1'"
    assert upgrade.endswith("-m pip install --upgrade tildone")


def test_pip_is_used_where_the_environment_has_it(place: Path) -> None:
    python = make_venv(place / ".venv")
    next((place / ".venv").glob("lib/python*/site-packages")).joinpath("pip").mkdir()

    assert hints(place / ".venv" / "bin" / "tildone")[2] == f"'{python}' -m pip install 'tildone[run]'"


def test_uv_is_used_where_the_environment_has_no_pip(place: Path) -> None:
    """As in an environment that uv created."""
    python = make_venv(place / ".venv")
    command(place / "bin" / "uv", python)

    extra = hints(place / ".venv" / "bin" / "tildone", path=f"{place}/bin")[2]

    assert extra == f"uv pip install --python '{python}' 'tildone[run]'"


def test_a_copy_on_path_is_called_by_its_name(place: Path) -> None:
    """Also through a symbolic link. Another copy that comes first on PATH is not this one."""
    python = make_venv(place / ".venv")
    own = place / ".venv" / "bin" / "tildone"
    (place / "linked").mkdir()
    (place / "linked" / "tildone").symlink_to(own)
    command(place / "other" / "tildone", python)

    assert hints(own, path=str(own.parent))[1] == "tildone"
    assert hints(own, path=str(place / "linked"))[1] == "tildone"
    assert hints(own, path=f"{place / 'other'}:{own.parent}")[1] == f"'{own}'"


def test_a_module_that_is_run_without_a_command(place: Path) -> None:
    """`python -m tildone` works wherever the package can be imported."""
    python = make_venv(place / ".venv")
    assert hints(python, "-c", SHOW)[1] == f"'{place}/.venv/bin/tildone'"

    (place / ".venv" / "bin" / "tildone").unlink()
    assert hints(python, "-c", SHOW)[1] == f"'{python}' -m tildone"


def test_a_uv_tool_keeps_its_extras_its_origin_and_its_added_packages(place: Path) -> None:
    """`uv tool install` installs what the command names and nothing else."""
    python = make_venv(place / "tools" / "tildone")
    packages = next((place / "tools" / "tildone").glob("lib/python*/site-packages"))
    (packages / "mcp").mkdir()
    (packages / "tildone-9.dist-info").mkdir()
    (packages / "tildone-9.dist-info" / "METADATA").write_text("Name: tildone\nVersion: 9\n")
    (place / "tools" / "tildone" / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "tildone" }, { name = "boto", extras = ["crt"], specifier = ">=1" }]\n'
    )
    from_index = hints(python, "-c", SHOW)
    (packages / "tildone-9.dist-info" / "direct_url.json").write_text(json.dumps({"url": "file:///w.whl"}))
    from_file = hints(python, "-c", SHOW)

    assert from_index[0] == "uv tool"
    assert from_index[2] == "uv tool install 'tildone[mcp,run]' --with 'boto[crt]>=1'"
    assert from_index[3] == "uv tool install 'tildone[mcp]' --with 'boto[crt]>=1' --with 'boto3>=1'"
    assert from_index[4] == "uv tool upgrade tildone"
    assert from_file[2] == "uv tool install 'tildone[mcp,run] @ file:///w.whl' --with 'boto[crt]>=1'"


def test_a_copy_from_a_repository_names_the_commit(place: Path) -> None:
    python = make_venv(place / "archive-v0" / "Xy")
    packages = next((place / "archive-v0" / "Xy").glob("lib/python*/site-packages"))
    (packages / "tildone-9.dist-info").mkdir()
    (packages / "tildone-9.dist-info" / "METADATA").write_text("Name: tildone\nVersion: 9\n")
    origin = {"url": "https://example.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    (packages / "tildone-9.dist-info" / "direct_url.json").write_text(json.dumps(origin))

    how, _, extra, *_ = hints(python, "-c", SHOW)

    assert how == "uvx"
    assert extra == "uvx --from 'tildone[run] @ git+https://example.org/t.git@abc' tildone"


def test_pipx_and_its_temporary_environments(place: Path) -> None:
    installed = make_venv(place / "venvs" / "tildone")
    (place / "venvs" / "tildone" / "pipx_metadata.json").touch()
    temporary = make_venv(place / ".cache" / "3a26")
    (place / ".cache" / "3a26" / "pipx_metadata.json").touch()

    assert hints(installed, "-c", SHOW)[::2] == [
        "pipx",
        "pipx inject tildone 'tildone[run]'",
        "pipx upgrade tildone",
    ]
    assert hints(temporary, "-c", SHOW)[::2] == [
        "pipx run",
        "pipx run --spec 'tildone[run]' tildone",
        "pipx run --no-cache tildone",
    ]


def test_a_users_own_site_packages(place: Path) -> None:
    """The command is in the user's folder for programs, not beside Python."""
    python = Path(sys.base_prefix, "bin", "python3")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = place / "lib" / version / "site-packages"
    shutil.copytree(PACKAGE, packages / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "pip").mkdir()
    command(place / "bin" / "tildone", python)

    how, program, extra, *_ = hints(python, "-c", SHOW, PYTHONUSERBASE=str(place))

    assert how == "pip --user"
    assert program == f"'{place}/bin/tildone'"
    assert extra.endswith("'tildone[run]'")
    assert " -m pip install --user " in extra


def test_a_source_checkout_is_set_up_again(place: Path) -> None:
    """An editable installation in an environment elsewhere is an ordinary one."""
    shutil.copytree(PACKAGE, place / "src" / "tildone", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "do.py").touch()
    for inside in (place / ".venv", place.parent / "elsewhere"):
        venv.create(inside, symlinks=True)
        next(inside.glob("lib/python*/site-packages")).joinpath("t.pth").write_text(f"{place}/src\n", "utf-8")

    how, _, extra, package, _ = hints(place / ".venv" / "bin" / "python", "-c", SHOW)
    elsewhere = hints(place.parent / "elsewhere" / "bin" / "python", "-c", SHOW)

    assert how == "do.py in a source checkout"
    assert extra == f"python3 '{place}/do.py' setup"
    assert package.endswith("pip install 'boto3>=1'")
    assert elsewhere[0] == "pip in a virtual environment"


@pytest.mark.parametrize("word", ["plain", "a b", "it's", "ø", "$HOME", ""])
def test_a_quoted_word_is_one_word_of_a_shell(word: str) -> None:
    script = f"printf '<%s>' {distribution.quoted(word)}"

    assert subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode() == f"<{word}>"
