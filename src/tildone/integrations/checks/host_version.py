"""The version of a coding agent that is on this machine, and what it is too old for.

The version is read from the manifest of the agent's npm package, or from the name of the folder that an installer put
it in. Only if neither tells, the program is asked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from shutil import which

from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.integrations.record import Integration

VERSION_TIMEOUT_SECONDS = 5.0
_VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+")
_MANIFEST = "package.json"

CONSEQUENCES = {
    "gate": "an agent that stops early is not continued",
    "tools": "the agent may have to search for the plan's tool before it can use it",
}
"""What is lost below the minimum for a capability."""


def too_old(integration: Integration) -> Iterator[Finding]:
    """Yield what the coding agent on this machine is too old for; nothing if its version is unknown."""
    found = host_version(integration) if integration.min_versions else ""
    for capability, minimum in integration.min_versions.items():
        if found and _number(found) < _number(minimum):
            what = f"{integration.title} {found} is older than {minimum}: {CONSEQUENCES[capability]}"
            yield Finding(Severity.WARNING, what, _upgrade(integration))


def host_version(integration: Integration) -> str:
    """Return the version of the coding agent that a shell runs; empty if there is none, or it does not tell."""
    program = which(integration.executable) if integration.executable else None
    if program is None:
        return ""
    return _in_manifest(program, integration.package) or _in_path(program) or _answered(program)


def _in_manifest(program: str, package: str) -> str:
    """Return the version in the manifest of the npm package that a program belongs to."""
    if not package:
        return ""
    folder = os.path.dirname(os.path.realpath(program))
    folders = []
    while folder != os.path.dirname(folder):
        folders.append(folder)
        folder = os.path.dirname(folder)
    # On Windows the program is a script beside the packages.
    folders.append(os.path.join(os.path.dirname(program), "node_modules", *package.split("/")))
    for each in folders:
        try:
            with open(os.path.join(each, _MANIFEST), encoding="utf-8") as file:
                manifest = json.load(file)
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict) and manifest.get("name") == package:
            return str(manifest.get("version", ""))
    return ""


def _in_path(program: str) -> str:
    """Return the version that the real path of a program names, as those of native installers and Homebrew do."""
    for part in reversed(os.path.realpath(program).split(os.sep)):
        if _VERSION.match(part):
            return _VERSION.match(part).group()  # type: ignore[union-attr]  # it has just matched
    return ""


def _answered(program: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  the coding agent of the person
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found.group() if found else ""


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0]))


def _upgrade(integration: Integration) -> str:
    return f"npm install -g {integration.package}@latest" if integration.package else f"upgrade {integration.title}"
