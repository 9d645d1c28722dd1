"""Tries the newest versions of the coding agents and says what changed: `python -m tests.clients.newest [CLIENT…]`.

Each client is installed in the newest version that the registry has, into a temporary folder, and the tests of the
table run against it. The report compares the version, the cells of the table, and what the client sends to hooks and to
MCP servers with what is kept for the version that was tried before. With `--short`, the tests of the long form are left
out. The exit code is 1 if something that worked does not work any more, or if a client could not be installed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.clients import payloads, results
from tests.clients.conftest import ONLY
from tests.clients.inside import CLIENTS
from tests.clients.install import CLIENTS as PACKAGES
from tests.clients.install import OTHER_FOLDER, Missing, Package, install
from tests.clients.integrations_page import run
from tests.clients.results import NO, YES, Results
from tests.clients.test_payloads import KEEP
from tildone.integrations import INTEGRATIONS

LOOKUP_TIMEOUT_SECONDS = 60


def newest_version(package: Package) -> str:
    """Return the newest version that the registry has of a package.

    Raises:
        Missing: npm is missing, or does not answer.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("the newest versions are looked up with npm, which is not on PATH; it comes with Node.js")
    command = [npm, "view", package.name, "version", "--loglevel=error"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LOOKUP_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"npm did not look up {package.name} within {LOOKUP_TIMEOUT_SECONDS} s") from None
    version = done.stdout.strip()
    if done.returncode or not version:
        raise Missing(f"npm could not look up {package.name}; is the network reachable?")
    return version


def report(client: str, before: Results, after: Results, sent: Mapping[str, payloads.Schema]) -> Iterator[str]:
    """Yield what changed in a client, as lines."""
    old, new = before.versions.get(client, "none"), after.versions.get(client, "none")
    tried = {cell: mark for cell, mark in after.cells.items() if cell.client == client}
    yield f"{INTEGRATIONS[client].title}: {old} -> {new}, {len(tried)} cells tried"
    changed = [cell for cell, mark in tried.items() if before.cells.get(cell) != mark]
    for cell in changed:
        yield f"  {cell.situation}, {cell.mode.value}: {before.cells.get(cell, 'not tried')} -> {tried[cell]}"
    if not changed:
        yield "  no cell changed"
    if client not in sent:
        yield "  what it sends to hooks and servers could not be recorded"
        return
    fields = payloads.differences(payloads.load()[client], sent[client])
    yield from (f"  {line}" for line in fields or ["no field of an event or of a request changed"])


def got_worse(before: Results, after: Results) -> bool:
    """Whether something that worked does not work any more."""
    return any(mark == NO and before.cells.get(cell) == YES for cell, mark in after.cells.items())


def main(words: Sequence[str]) -> int:
    """Install, try and report."""
    clients = [word for word in words if word != "--short"] or list(CLIENTS)
    unknown = [client for client in clients if client not in CLIENTS]
    if unknown:
        print(f"there is no client {unknown[0]!r}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="newest-") as scratch:
        folder = Path(scratch)
        versions = dict(_install_newest(clients, folder))
        after, sent = try_out(versions, folder, short="--short" in words) if versions else (Results({}, {}), {})
    before = results.load()
    print("\n".join(line for client in versions for line in report(client, before, after, sent)))
    return int(got_worse(before, after) or len(versions) < len(clients))


def _install_newest(clients: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Install the newest versions; yield the clients and versions that could be installed."""
    for client in clients:
        try:
            package = replace(PACKAGES[client], version=newest_version(PACKAGES[client]))
            install(client, package, folder)
        except Missing as missing:
            print(f"{INTEGRATIONS[client].title}: {missing}", file=sys.stderr, flush=True)
        else:
            yield client, package.version


def try_out(versions: Mapping[str, str], folder: Path, *, short: bool) -> tuple[Results, dict[str, payloads.Schema]]:
    """Run the tests against the clients in a folder; return the results and what the clients sent."""
    os.environ |= {OTHER_FOLDER: str(folder), KEEP: str(folder)}
    workers = ["-n", str((os.cpu_count() or 1) + 1)]
    found, _ = run(list(versions), *workers, *(["-m", "not long"] if short else []))
    del os.environ[ONLY]
    recording = str(Path(__file__).parent / "test_payloads.py")
    pytest.main([recording, "-q", "-p", "no:cacheprovider", "-k", " or ".join(f"[{name}]" for name in versions)])
    sent = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name in versions
        if (file := folder / f"{name}.json").exists()
    }
    return Results(versions, found.cells), sent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
