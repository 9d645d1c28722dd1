"""The real agents that tests run, each installed by npm into a folder of its own: `python -m tests.clients.install`.

The folders are in `.clients/`, which git ignores. A folder whose stamp names the package and version
in the table below is complete; anything else is installed again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tildone.agents.integrations import INTEGRATIONS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".clients"
STAMP = "installed.json"
OTHER_FOLDER = "CLIENTS_IN"
"""A variable that names another folder with clients: tests run the versions that are installed there."""

MAX_PARALLEL = 4
INSTALL_TIMEOUT_SECONDS = 600.0
"""How long the installation of one package may take."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package for npm to install. Its scripts run only if it downloads or links its program in one."""

    name: str
    version: str
    scripts: bool = False


AGENTS = ("pi", "codex", "gemini", "claude", "opencode", "qwen", "copilot")
OTHERS = ("kimi", "kilo")
"""Agents that are tried in a few situations."""

RUN_SCRIPTS = ("claude", "opencode", "kilo")


def _agent(name: str) -> Package:
    """Return the package of a coding agent, in the version that its integration was tried with."""
    integration = INTEGRATIONS[name]
    return Package(integration.package, integration.tried, scripts=name in RUN_SCRIPTS)


CLIENTS: Mapping[str, Package] = {
    **{name: _agent(name) for name in (*AGENTS, *OTHERS)},
    "inspector": Package("@modelcontextprotocol/inspector", "0.15.0"),
    "conformance": Package("@modelcontextprotocol/conformance", "0.1.16"),
}
NODE = Package("node", "22.23.3", scripts=True)
OLDEST_NODE = (22, 19)


class Missing(Exception):
    """A client cannot be installed; the message says what is missing."""


class NoBuild(Missing):
    """The registry lacks a part of a package: a dependency, or the build for this platform. Its tests are skipped."""


NO_SUCH_VERSION = "code ETARGET"
"""What npm prints when the registry does not have the version of a package, or of the build that it brings."""

NO_MATCH = "No matching version found for "
NOT_A_REASON = ("A complete log of this run", "In most cases you or one of your dependencies")
"""How lines of npm begin that say nothing about why it failed."""


def main(names: Sequence[str], folder: Path = FOLDER) -> int:
    unknown = [name for name in names if name not in CLIENTS]
    if unknown:
        print(f"there is no client {unknown[0]!r}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    wanted = {name: CLIENTS[name] for name in names or CLIENTS}
    if not node_is_new_enough():
        wanted = {"node": NODE, **wanted}
    try:
        # Several at once: most of the time is spent waiting for the registry.
        with ThreadPoolExecutor(MAX_PARALLEL) as pool:
            for done in [pool.submit(install, name, package, folder) for name, package in wanted.items()]:
                try:
                    done.result()
                except NoBuild as missing:
                    print(f"{missing}; its tests are skipped", flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def install(name: str, package: Package, folder: Path, seconds: float = INSTALL_TIMEOUT_SECONDS) -> None:
    """Install the package into the folder of that name, unless it is installed already.

    Raises:
        Missing: npm is missing, or the package cannot be downloaded.
    """
    if installed(name, package, folder):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Missing(f"{name} is installed with npm, which is not on PATH; it comes with Node.js")
    began = time.monotonic()
    # Installed beside the folder and then renamed, so that the folder is complete or missing.
    temporary = folder / f"{name}.new"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        _fetch(npm, package, temporary, seconds)
        (temporary / STAMP).write_text(json.dumps(asdict(package)), encoding="utf-8")
        shutil.rmtree(folder / name, ignore_errors=True)
        temporary.rename(folder / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    took, size = time.monotonic() - began, _megabytes(folder / name)
    print(f"{name}: {package.name} {package.version} ({took:.0f} s, {size} MB)", flush=True)


def installed(name: str, package: Package, folder: Path = FOLDER) -> bool:
    try:
        stamp = json.loads((folder / name / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stamp == asdict(package))


def programs(name: str, folder: Path = FOLDER) -> Path:
    return folder / name / "node_modules" / ".bin"


def folder_of(name: str) -> Path:
    """Return the folder in which a client is looked for: the one in the variable, if the client is there."""
    other = os.environ.get(OTHER_FOLDER)
    return Path(other) if other and (Path(other) / name / STAMP).exists() else FOLDER


def node_is_new_enough() -> bool:
    node = shutil.which("node")
    if node is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.(\d+)", answer.stdout)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST_NODE


def _fetch(npm: str, package: Package, folder: Path, seconds: float) -> None:
    folder.mkdir(parents=True)
    # Nothing reads a lock file here.
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier"]
    command += ["--loglevel=error", f"--prefix={folder}"]
    command += [] if package.scripts else ["--ignore-scripts"]
    command += [f"{package.name}@{package.version}"]
    pipe = subprocess.PIPE
    try:
        done = subprocess.run(
            command, cwd=folder, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise Missing(f"npm did not install {package.name} within {seconds:.0f} s; is the network slow?") from late
    if done.returncode and NO_SUCH_VERSION in done.stdout:
        raise NoBuild(f"npm could not install {package.name} {package.version}: {npm_reason(done.stdout)}")
    if done.returncode:
        reason = f"{npm_reason(done.stdout)}; is the network reachable?"
        raise Missing(f"{done.stdout}npm could not install {package.name} {package.version}: {reason}")


def npm_reason(output: str) -> str:
    """Return the line of npm's output that says why it failed: the version that is missing, or else the last line."""
    lines = [re.sub(r"^(npm (error|ERR!) (notarget )?)+", "", line).strip() for line in output.splitlines()]
    lines = [line for line in lines if line and not line.startswith(NOT_A_REASON)]
    missing = [line for line in lines if line.startswith(NO_MATCH)]
    return (missing or lines[-1:] or ["npm printed nothing"])[0].rstrip(".")


def _megabytes(folder: Path) -> int:
    """Return the size of a folder; hard links to one file count once."""
    entries = (Path(at, name).lstat() for at, _, names in os.walk(folder) for name in names)
    sizes = {(file.st_dev, file.st_ino): file.st_size for file in entries}
    return round(sum(sizes.values()) / 1e6)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
