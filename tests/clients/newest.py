"""Tries the newest versions of the coding agents and says what changed: `python -m tests.clients.newest [CLIENT…]`.

Each client is installed in the newest version that the registry has, into a temporary folder, and the tests of the
table run against it. The report compares the version, the cells of the table, and what the client sends to hooks and to
MCP servers with what is kept for the version that was tried before. Each step has a time limit. With `--short`, the
tests of the long form are left out. With `--keep`, the page of the integrations says what was found. If the variable
`CLIENTS_IN` names a folder, the versions are installed there and kept, so that single tests can be run against them
with the same variable.

The exit code is 1 if something that worked does not work any more, or if a client could not be tried completely.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients import integrations_page, payloads, results
from tests.clients.inside import CLIENTS
from tests.clients.install import CLIENTS as PACKAGES
from tests.clients.install import OTHER_FOLDER, Missing, Package, install
from tests.clients.results import NO, YES, Results
from tests.clients.situations import SITUATIONS, Cell, Mode
from tests.clients.trial import FAILED, PASSED, SKIPPED, Trial, try_out
from tildone.agents.integrations import INTEGRATIONS

LOOKUP_TIMEOUT_SECONDS = 60
INSTALL_TIMEOUT_SECONDS = 180.0
TRIAL_TIMEOUT_SECONDS = 900.0
"""How long the tests of one client may take; on an idle machine, they take a few minutes."""


def newest_version(package: Package) -> str:
    """Return the newest version that the registry has of a package.

    Raises:
        Missing: npm is missing, or does not answer.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("the newest versions are looked up with npm, which is not on PATH; it comes with Node.js")
    command = [npm, "view", package.name, "version", "--json", "--loglevel=error"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LOOKUP_TIMEOUT_SECONDS, check=False)
        version = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Missing(f"npm did not look up {package.name} within {LOOKUP_TIMEOUT_SECONDS} s") from None
    except ValueError:
        version = None
    if not isinstance(version, str):
        raise Missing(f"npm could not look up {package.name}; is the network reachable?")
    return version


def report(client: str, version: str, before: Results, trial: Trial) -> Iterator[str]:
    """Yield what holds, what fails and what changed in a client, as lines."""
    yield _headline(client, version, before)
    counts = [f"{trial.count(outcome)} {outcome}" for outcome in (PASSED, FAILED, SKIPPED)]
    yield f"  {len(trial.outcomes)} tests: {', '.join(counts)}; {trial.repeated} of them were run twice"
    if trial.seconds_allowed is not None:
        yield f"  stopped after {trial.seconds_allowed:.0f} s; what had not run by then is not tried"
    yield from (f"  {line}" for line in _cells(client, before.cells, trial))
    if trial.sent is None:
        yield "  what it sends to hooks and servers could not be recorded"
        return
    fields = payloads.differences(payloads.load()[client], trial.sent)
    yield from (f"  {line}" for line in fields or ["no field of an event or of a request changed"])


def _headline(client: str, version: str, before: Results) -> str:
    old = before.versions.get(client, "none")
    return f"{INTEGRATIONS[client].title}: {version} is the newest on the registry, {old} is the version tried before"


def _cells(client: str, before: Mapping[Cell, str], trial: Trial) -> Iterator[str]:
    """Yield the cells that hold, those that fail and why, and those that were decided before but not now."""
    known = [cell for cell in before if cell.client == client]
    for mode in Mode:
        held = [cell.situation for cell, mark in trial.cells.items() if cell.mode is mode and mark == YES]
        if held:
            yield f"holds, {mode.value}: {', '.join(held)}"
    for cell, mark in trial.cells.items():
        if mark == NO:
            was = before.get(cell, "not tried")
            yield f"fails, {cell.mode.value}: {cell.situation} (before: {was}): {'; '.join(trial.reasons(cell))}"
    for mode in Mode:
        untried = [cell.situation for cell in known if cell.mode is mode and cell not in trial.cells]
        if untried:
            yield f"not tried, {mode.value}: {', '.join(untried)}"
    if all(before.get(cell) == mark for cell, mark in trial.cells.items()):
        yield "no cell that was tried changed"


def found(trial: Trial) -> str:
    """Return what a trial found, in the words of the page."""
    failed = [cell for cell, mark in trial.cells.items() if mark == NO]
    stopped = "" if trial.seconds_allowed is None else f" in {trial.seconds_allowed:.0f} s"
    text = f"{len(trial.cells) - len(failed)} of {len(trial.cells)} results hold{stopped}"
    differences = (f"{SITUATIONS[cell.situation]} ({cell.mode.value})" for cell in failed)
    return "; fails: ".join([text, *([", ".join(differences)] if failed else [])])


def keep(client: str, version: str, text: str) -> None:
    """Keep what was found, and write the page."""
    before = results.load()
    kept = before.replaced(Results({}, {}, newest={client: {"version": version, "found": text}}))
    results.save(kept)
    integrations_page.write(kept)


def is_complete(before: Results, trial: Trial) -> bool:
    worse = any(mark == NO and before.cells.get(cell) == YES for cell, mark in trial.cells.items())
    return bool(trial.outcomes) and not worse and trial.seconds_allowed is None and trial.sent is not None


def main(words: Sequence[str]) -> int:
    clients = [word for word in words if word not in ("--short", "--keep")] or list(CLIENTS)
    unknown = [client for client in clients if client not in CLIENTS]
    if unknown:
        print(f"there is no client {unknown[0]!r}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    # No more than there are processors: at a terminal, Codex gives up if it has to wait for its own terminal.
    options = ["-n", str(os.cpu_count() or 1), *(["-m", "not long"] if "--short" in words else [])]
    kept = os.environ.get(OTHER_FOLDER)
    with nullcontext(kept) if kept else TemporaryDirectory(prefix="newest-") as folder:
        keeps = "--keep" in words
        complete = [_try_newest(client, Path(folder).resolve(), options, keeps=keeps) for client in clients]
    return int(not all(complete))


def _try_newest(client: str, folder: Path, options: Sequence[str], *, keeps: bool) -> bool:
    """Try the newest version of a client and print the report; return whether everything was tried and works."""
    before, version = results.load(), "unknown"
    try:
        version = newest_version(PACKAGES[client])
        install(client, replace(PACKAGES[client], version=version), folder, INSTALL_TIMEOUT_SECONDS)
    except Missing as missing:
        # The last line says why; the lines above are npm's.
        reason = str(missing).splitlines()[-1]
        print(f"{_headline(client, version, before)}\n  not tried: {reason}", flush=True)
        if keeps:
            keep(client, version, "cannot be installed from the registry")
        return False
    trial = try_out(client, folder, TRIAL_TIMEOUT_SECONDS, *options)
    print("\n".join(report(client, version, before, trial)), flush=True)
    if keeps:
        keep(client, version, found(trial))
    return is_complete(before, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
