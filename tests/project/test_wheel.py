"""What is built is what is meant: the wheel installs by itself and runs."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.project.source import PACKAGE, ROOT, rooms
from tildone.version import __version__

pytestmark = pytest.mark.slow

OURS = (".py", ".sql")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.suffix in OURS}

    assert {name.split("/")[0] for name in names} == {"tildone", f"tildone-{version()}.dist-info"}
    assert {name for name in names if name.endswith(OURS)} == sources
    assert "tildone/py.typed" in names


def test_the_wheel_runs_with_nothing_but_what_it_asks_for(wheel: Path, tmp_path: Path) -> None:
    """Installed into an empty environment, beside copies of its declared dependencies only."""
    if "cli" not in rooms():
        pytest.skip("there is no command line yet to run")
    venv.create(tmp_path / "env", symlinks=sys.platform != "win32")
    paths = sysconfig.get_paths("venv", vars={"base": str(tmp_path / "env"), "platbase": str(tmp_path / "env")})
    python = Path(paths["scripts"], Path(sys.executable).name)
    install(python, wheel)
    for requirement in needs(wheel):
        copy_installed(requirement, Path(paths["purelib"]))

    assert run(paths["scripts"] + "/tildone", "--version", cwd=tmp_path).split() == ["tildone", version()]
    assert run(str(python), "-c", "import tildone; print(tildone.__file__)", cwd=tmp_path).startswith(str(tmp_path))


def version() -> str:
    return __version__


def install(python: Path, wheel: Path) -> None:
    """With pip or uv, whichever made the environment the tests run in, and without the network."""
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
        run(*pip, "install", "--no-index", "--no-deps", str(wheel), cwd=ROOT)
    else:
        run("uv", "pip", "install", "--offline", "--no-deps", "--python", str(python), str(wheel), cwd=ROOT)


def needs(wheel: Path) -> list[str]:
    [name] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA")]
    metadata = importlib.metadata.PathDistribution(zipfile.Path(wheel, name.removesuffix("METADATA"))).requires
    requirements = [Requirement(line) for line in metadata or ()]
    return [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]


def copy_installed(name: str, site: Path) -> None:
    for file in importlib.metadata.files(name) or ():
        if ".." not in file.parts:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_binary())


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
