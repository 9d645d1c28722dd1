"""What is built is what is meant: the wheel installs by itself and runs."""

import importlib.metadata
import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.project.fresh_environment import build_wheel, make_environment, run
from tests.project.source import PACKAGE, pyproject
from tildone.version import __version__

OURS = (".py", ".sql", ".js", ".css", ".svg")
MAX_WHEEL_BYTES = 1_750_000


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.suffix in OURS}

    data = f"tildone-{__version__}.data"
    assert {name.split("/")[0] for name in names} == {"tildone", f"tildone-{__version__}.dist-info", data}
    assert [name for name in names if name.startswith(data)] == [f"{data}/data/share/man/man1/tildone.1"]
    assert {name for name in names if name.endswith(OURS)} == sources
    assert "tildone/py.typed" in names


def test_the_wheel_is_small_and_brings_one_package(wheel: Path) -> None:
    """Everything else is an extra."""
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    assert needs(wheel) == ["apsw"]


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, copies of its declared dependencies, and pip; gives the folder of its programs."""
    programs, packages = make_environment(tmp_path_factory.mktemp("wheel environment"), wheel)
    for requirement in needs(wheel):
        copy_installed(requirement, packages)
    return programs


@pytest.mark.slow
def test_the_wheel_runs_with_nothing_but_what_it_asks_for(environment: Path, tmp_path: Path) -> None:
    where = run(str(environment / "python"), "-c", "import tildone; print(tildone.__file__)", cwd=tmp_path)

    assert run(str(environment / "tildone"), "--version", cwd=tmp_path).split() == ["tildone", __version__]
    assert where.startswith(str(environment.parent))
    plan = {"TILDONE_STORE": str(tmp_path / "plan.db")}
    (tmp_path / "plan.md").write_text("- [ ] Buy milk\n")
    run(str(environment / "tildone"), "import", "plan.md", cwd=tmp_path, **plan)
    assert "Buy milk" in run(str(environment / "tildone"), "todo", cwd=tmp_path, **plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "extra", "brings"),
    [
        ("mcp --http", "mcp", "mcp"),
        ("board", "web", "starlette"),
        ("run Milk --model anthropic:any", "run", "pydantic-ai-slim"),
        ("todo --store postgresql://localhost/plans", "postgres", "psycopg"),
    ],
)
def test_what_needs_an_extra_says_a_command_that_installs_it(
    line: str, extra: str, brings: str, environment: Path, tmp_path: Path
) -> None:
    """The command is run as it is printed, with packages of that name in the place of the package index."""
    for requirement in pyproject()["project"]["optional-dependencies"][extra]:
        stand_in(Requirement(requirement), tmp_path)

    words = [str(environment / "tildone"), *line.split()]
    refused = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    command = refused.stderr.strip().partition(": ")[2].partition(": ")[2]
    assert command.endswith(f"-m pip install 'tildone[{extra}]'")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    run("sh", "-c", command, cwd=tmp_path, **offline)

    pip = [str(environment / "python"), "-m", "pip", "--disable-pip-version-check"]
    assert f"\n{brings} " in run(*pip, "list", cwd=tmp_path, **offline)
    run(*pip, "uninstall", "--yes", brings, cwd=tmp_path)


def stand_in(requirement: Requirement, folder: Path) -> None:
    """Write a wheel that satisfies a requirement and contains nothing."""
    lowest = min(each.version for each in requirement.specifier if each.operator == ">=")
    name = requirement.name.replace("-", "_")
    metadata = f"Metadata-Version: 2.1\nName: {requirement.name}\nVersion: {lowest}\n"
    metadata += "".join(f"Provides-Extra: {extra}\n" for extra in sorted(requirement.extras))
    with zipfile.ZipFile(folder / f"{name}-{lowest}-py3-none-any.whl", "w") as archive:
        info = f"{name}-{lowest}.dist-info"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


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
