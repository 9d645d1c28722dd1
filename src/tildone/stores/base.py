"""Types that describe a store: the options to open it, and the files it consists of."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.log.address import StoreAddress
    from tildone.log.fleet.lease import RunFence
    from tildone.log.store import Store

    PlanInEntry = Callable[[Mapping[str, Any]], Plan | None]

TIMEOUT_SECONDS = 30.0
"""How long an operation waits for other processes or for a server by default."""


@value
class OpenOptions:
    """Options to open a store. A store ignores those that do not apply to it.

    `timeout` bounds, in seconds, how long an operation waits for other processes or for a server. With `read_only`,
    opening creates, migrates and repairs nothing; it raises NotFound if there is no store. `plan_in_entry` returns the
    plan that another program wrote to an entry of a pi session; it is passed in because it depends on dialects, which
    stores must not import. With a `fence`, the log and the claims are changed only while the lease of that run is held.
    """

    timeout: float = TIMEOUT_SECONDS
    read_only: bool = False
    plan_in_entry: PlanInEntry = lambda _entry: None
    fence: RunFence | None = None


def path_only(address: StoreAddress) -> tuple[str, ...]:
    """Return the path of a store that is one file or folder; nothing for one that is not in the file system."""
    return () if address.path is None else (address.path,)


@value
class StoreKind:
    """One kind of store: the global `STORE` of its module.

    `open` raises ImportError if the driver is not installed; `extra` is the optional dependency that installs it.
    `files` returns the paths of the store at an address, the main one first: doctor checks their permissions.
    `replaceable` returns whether restore may move these files away and create a new store when this one is damaged.
    """

    open: Callable[[StoreAddress, OpenOptions], Store]
    extra: str = ""
    files: Callable[[StoreAddress], tuple[str, ...]] = path_only
    replaceable: Callable[[StoreAddress], bool] = lambda _address: False
