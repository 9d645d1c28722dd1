"""The table `[fleet]` of settings: how the person's commands and workers use a fleet.

It counts only in the person's own file: a repository must not say what a worker runs, nor where it writes.
"""

from __future__ import annotations

from tildone.config.values import absolute, store_address
from tildone.errors import UsageError
from tildone.log.fleet.names import MAX_LABELS, check_text
from tildone.log.fleet.settings import ENGINES
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TEXTS = ("store", "worktrees", "engine")
NUMBERS = ("lease", "slots", "grace", "min_free_mb")
LISTS = ("labels", "allow", "ask", "agents")
KEYS = (*TEXTS, *NUMBERS, *LISTS)

MAX_SLOTS = 1_000
MAX_SECONDS = 86_400
MAX_MEGABYTES = 1_000_000_000


@value
class FleetConfig:
    """What a person has set for fleets. What is empty or 0 is not set.

    `store` is where the runs are, unless a command names another store. `lease` and `grace` are in seconds. `slots`,
    `labels`, `allow`, `ask` and `agents` are those of workers on this machine; an empty `ask` differs from none.
    `worktrees` is the folder for their files; with less than `min_free_mb` megabytes of space there, they take nothing.
    `engine` is what `tildone fleet up` sets for all workers.
    """

    store: str = ""
    worktrees: str = ""
    engine: str = ""
    lease: int = 0
    slots: int = 0
    grace: int = 0
    min_free_mb: int = 0
    labels: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    ask: tuple[str, ...] | None = None


def fleet_config(table: Mapping[str, Any]) -> FleetConfig:
    """Return the settings of a valid table."""
    given: dict[str, Any] = {key: tuple(table[key]) if key in LISTS else table[key] for key in KEYS if key in table}
    return FleetConfig(**given)


def resolved_fleet(table: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return a valid table with absolute paths; `folder` is that of the settings file."""
    paths = dict(table)
    if "store" in table:
        paths["store"] = str(store_address(table["store"], folder))
    if "worktrees" in table:
        paths["worktrees"] = absolute(table["worktrees"], folder)
    return paths


def fleet_fault(setting: object) -> str:
    """Return what is wrong with a table `[fleet]`; empty if nothing is."""
    if not isinstance(setting, dict):
        return "fleet must be a table: [fleet]"
    for key, given in setting.items():
        if fault := _fault(key, given):
            return f"in [fleet], {fault}"
    return ""


def _fault(key: str, given: object) -> str:
    if key not in KEYS:
        return f"there is no setting {key!r}; known are {', '.join(KEYS)}"
    if key in TEXTS:
        return _text_fault(key, given)
    if key in NUMBERS:
        most = {"slots": MAX_SLOTS, "min_free_mb": MAX_MEGABYTES}.get(key, MAX_SECONDS)
        is_number = isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= most
        return "" if is_number else f"{key} must be a whole number from 1 to {most}"
    is_list = isinstance(given, list) and len(given) <= MAX_LABELS and all(map(_is_word, given))
    return "" if is_list else f'{key} must be a list of at most {MAX_LABELS} texts in quotes: ["…", "…"]'


def _text_fault(key: str, given: object) -> str:
    if not isinstance(given, str) or not given:
        return f"{key} must be a non-empty string in quotes"
    if key == "engine" and given not in ENGINES:
        return f"engine must be {' or '.join(ENGINES)}"
    if key == "store":
        try:
            store_address(given, "")
        except UsageError as error:
            return str(error)
    return ""


def _is_word(given: object) -> bool:
    try:
        check_text(given if isinstance(given, str) else "")
    except UsageError:
        return False
    return isinstance(given, str) and bool(given.strip())
