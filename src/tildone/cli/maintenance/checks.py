"""What `tildone doctor` looks at: a list of checks, each of which gives findings and changes nothing."""

from __future__ import annotations

import os
import stat
import sys
from shlex import quote

from tildone.agents.open_files import processes_with_open
from tildone.cli.output.amounts import size
from tildone.config import KEYS, origins
from tildone.errors import NotFound, StoreBusy, StoreDamaged, StoreTooNew, TildoneError, UsageError
from tildone.kit.text import clip_text
from tildone.log.address import StoreAddress
from tildone.log.health import Finding, Health
from tildone.stores import store_kind
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tildone.config import Settings

    Check = tuple[str, Callable[["Ground"], Iterator[Finding]]]

LITTLE = 200_000_000
TOO_LITTLE = 10_000_000
"""Bytes of free space from which on it is odd, and from which on it is bad."""

PATIENCE = 3.0
"""Seconds that a server gets to answer: whoever asks whether something is wrong does not want to wait for it."""

LISTED = 5
COMMAND = 100


@value
class Ground:
    """What checks stand on: the settings that hold here, and where they come from; `tell` hears how far one is."""

    settings: Settings
    flags: Mapping[str, str]
    folder: str
    tell: Callable[[str, int, int], None]


def versions(_ground: Ground) -> Iterator[Finding]:
    """What runs here."""
    # Looking up metadata is slow, and only this and --version ask for it.
    from importlib.metadata import version  # noqa: PLC0415  see above

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(Health.FINE, f"tildone {version('tildone')}, Python {python}, {sys.platform}")


def settings_in_force(ground: Ground) -> Iterator[Finding]:
    """Each setting, and where it was said."""
    said = origins(ground.flags, os.environ, ground.folder)
    for key in KEYS:
        held = getattr(ground.settings, key)
        if held is not None:
            where = f"from {said[key]}" if key in said else "as usual"
            yield Finding(Health.FINE, f"{key}: {_held(held)} ({where})")


def store(ground: Ground) -> Iterator[Finding]:
    """Whether the store can be opened, and whether what it holds is whole."""
    path = ground.settings.store.path
    if path is not None and not os.path.exists(path):
        yield Finding(Health.FINE, f"there is no store at {path} yet: the first plan begins one")
        return
    try:
        yield from _examined(ground)
    except NotFound as error:
        yield Finding(Health.FINE, str(error))
    except TildoneError as error:
        yield Finding(Health.BAD, str(error), _remedy(ground.settings.store, error))


def permissions(ground: Ground) -> Iterator[Finding]:
    """Who may read and write the store."""
    path = ground.settings.store.path
    if path is None or not os.path.exists(path):
        return
    found = [name for name in store_kind(ground.settings.store).files(ground.settings.store) if os.path.exists(name)]
    wrong = [finding for name in (os.path.dirname(path), *found) for finding in _access(name)]
    wrong += [finding for name in found for finding in _ownership(name, path)]
    if os.name == "posix" and _is_open_to_all(path):
        wrong.append(Finding(Health.ODD, f"everybody on this machine can read {path}", f"chmod o-rwx {quote(path)}"))
    yield from wrong or [Finding(Health.FINE, "you can read and write the store, and strangers can't")]


def space(ground: Ground) -> Iterator[Finding]:
    """Room for more plans."""
    path = ground.settings.store.path
    if path is None:
        return
    while not os.path.exists(path):
        path = os.path.dirname(path)
    # Late, because it brings a lot along.
    from shutil import disk_usage  # noqa: PLC0415  see above

    free = disk_usage(path).free
    health = Health.BAD if free < TOO_LITTLE else Health.ODD if free < LITTLE else Health.FINE
    remedy = "" if health is Health.FINE else "make room, or keep plans elsewhere: tildone migrate FILE"
    yield Finding(health, f"{size(free)} are free on the disk", remedy)


def others(ground: Ground) -> Iterator[Finding]:
    """Who else has the store open."""
    path = ground.settings.store.path
    if path is None or not os.path.isfile(path):
        return
    found = processes_with_open(path)
    if found is None:
        yield Finding(Health.FINE, "who else has the store open can't be told on this system")
        return
    for holder in [holder for holder in found if holder.deleted][:LISTED]:
        what = f"process {holder.pid} has a store open that is not here any more: {clip_text(holder.command, COMMAND)}"
        yield Finding(Health.ODD, what, "if it does not go over to the one that is here by itself, end it")
    at_work = [holder for holder in found if not holder.deleted]
    for holder in at_work[:LISTED]:
        yield Finding(Health.FINE, f"process {holder.pid} has it open: {clip_text(holder.command, COMMAND)}")
    if len(at_work) > LISTED:
        yield Finding(Health.FINE, f"{len(at_work) - LISTED:,} more have it open")
    if not at_work:
        yield Finding(Health.FINE, "no other process has the store open")


def hosts(ground: Ground) -> Iterator[Finding]:
    """The agents that people use here, and whether the plan is in them."""
    # Late, because only this asks.
    from tildone.cli.agents.installing import sites  # noqa: PLC0415  see above
    from tildone.integrations.settings.health import findings  # noqa: PLC0415  see above

    try:
        yield from findings(sites(ground.settings.project))
    except UsageError as error:
        yield Finding(Health.ODD, str(error), "")


CHECKS: tuple[Check, ...] = (
    ("Versions", versions),
    ("Settings", settings_in_force),
    ("Store", store),
    ("Permissions", permissions),
    ("Space", space),
    ("In use", others),
    ("Agents", hosts),
)
"""In the order they are told. What knows how to look at something else adds itself here."""


def _examined(ground: Ground) -> Iterator[Finding]:
    # Late, so that nothing is loaded where there is no store.
    from tildone.wiring import open_store  # noqa: PLC0415  see above

    opened = open_store(ground.settings, timeout=PATIENCE, read_only=True)
    try:
        yield from opened.check(lambda done, total: ground.tell("looking through the store", done, total))
    finally:
        opened.close()


def _held(held: object) -> str:
    if isinstance(held, StoreAddress):
        return held.redacted
    return ("on" if held else "off") if isinstance(held, bool) else str(held)


def _remedy(store: StoreAddress, error: TildoneError) -> str:
    match error:
        case StoreTooNew():
            return "pip install --upgrade tildone"
        case StoreDamaged() if store_kind(store).replaceable(store):
            return "put a backup back: tildone restore FILE"
        case StoreBusy():
            return "wait for whoever is at work, or see below who has it open"
        case _:
            return ""


def _access(name: str) -> Iterator[Finding]:
    """Whether what is there can be used."""
    is_folder = os.path.isdir(name)
    if not os.access(name, os.R_OK | (os.X_OK if is_folder else 0)):
        yield Finding(Health.BAD, f"you may not read {name}", f"chmod u+r{'x' if is_folder else ''} {quote(name)}")
    if not os.access(name, os.W_OK):
        why = ", where SQLite has to put its log" if is_folder else ""
        yield Finding(Health.BAD, f"you may not write to {name}{why}", f"chmod u+w {quote(name)}")


def _ownership(name: str, path: str) -> Iterator[Finding]:
    """Whether all that belongs to the store belongs to the same person, who is the one who asks."""
    if os.name != "posix":
        return
    owner, expected = os.stat(name).st_uid, os.stat(path).st_uid
    if owner != expected:
        yield Finding(Health.ODD, f"{name} belongs to another user than the store", f"chown {expected} {quote(name)}")
    elif name == path and owner != os.geteuid():
        yield Finding(Health.ODD, f"{path} belongs to user {owner}, and you are user {os.geteuid()}")


def _is_open_to_all(path: str) -> bool:
    """Whether strangers can read it, and get to it: every folder on the way lets them through."""
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    above = os.path.dirname(os.path.realpath(path))
    while os.stat(above).st_mode & stat.S_IXOTH:
        if above == os.path.dirname(above):
            return True
        above = os.path.dirname(above)
    return False
