"""What is committed names no machine and no registry, and the lock pins what the project asks for."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.source import ROOT, pyproject

# Put together from halves, so that this file does not hold what it looks for.
REGISTRIES = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", "registry" + r"\.npmjs", "/sim" + "ple/"]))
NEVER_TRACKED = re.compile(r"(^|/)(uv\.lock|pylock\.toml|package-lock\.json|yarn\.lock|node_modules|\.venv)(/|$)")
HOME = Path.home()  # read before the tests are sent away from home
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^ ;]+)(?P<rest>.*(?:\n    .*)*)", re.MULTILINE)


def tracked() -> list[Path]:
    """Files in git, and new ones that are not ignored; without git, the files a source archive holds."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_file_names_a_registry_or_this_machine() -> None:
    machine = re.compile("|".join(re.escape(f"{path}/") for path in {ROOT, HOME} if path.name))

    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in tracked()}
    found = [(path, names.findall(text)) for path, text in texts.items() for names in (REGISTRIES, machine)]

    assert [(path.relative_to(ROOT), names) for path, names in found if names] == []


def test_no_lock_that_names_hosts_is_tracked() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]

    assert [name for name in names if NEVER_TRACKED.search(name)] == []


def test_every_pin_has_hashes() -> None:
    assert [name for name, (_, rest) in pins().items() if "--hash=sha256:" not in rest] == []


def test_the_lock_pins_what_the_project_asks_for() -> None:
    project = pyproject()
    asked = [*project["project"]["dependencies"], *group(project, "dev")]
    asked += [each for extra in project["project"].get("optional-dependencies", {}).values() for each in extra]

    known = {name: version for name, (version, _) in pins().items()}
    wanted = [Requirement(each) for each in asked]
    unmet = [str(each) for each in wanted if known.get(canonicalize_name(each.name), "0") not in each.specifier]

    assert unmet == [], "run `python3 do.py lock`"


def group(project: dict[str, Any], name: str) -> Iterator[str]:
    """Return the requirements of a dependency group and of the groups that it includes."""
    for each in project["dependency-groups"][name]:
        yield from [each] if isinstance(each, str) else group(project, each["include-group"])


def pins() -> dict[str, tuple[str, str]]:
    """Each locked package's version, and what follows it: its marker and hashes."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return {canonicalize_name(found["name"]): (found["version"], found["rest"]) for found in PIN.finditer(lock)}
