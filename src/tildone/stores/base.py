"""What each store states of itself: how its addresses look, how it is opened, which files it consists of."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.log.address import StoreAddress
    from tildone.log.store import Store

    PlanInEntry = Callable[[Mapping[str, Any]], Plan | None]

TIMEOUT_SECONDS = 30.0
"""How long a store waits for other processes, or for a server, unless its opener says otherwise."""


@value
class AddressForm:
    """The addresses of a store: its schemes ("" for plain paths), a placeholder for help texts, one line for docs."""

    schemes: tuple[str, ...]
    placeholder: str
    summary: str


@value
class OpenOptions:
    """How a store is to be opened. A store ignores the options that mean nothing to it.

    `timeout` bounds, in seconds, how long an operation waits for other processes or for a server. `read_only` asks that
    opening create, migrate and repair nothing. `plan_in_entry` finds the plan that another program wrote to an entry of
    a pi session: dialects know that, and stores may not know dialects.
    """

    timeout: float = TIMEOUT_SECONDS
    read_only: bool = False
    plan_in_entry: PlanInEntry = lambda _entry: None


def path_only(address: StoreAddress) -> tuple[str, ...]:
    """The files of a store that is one file or one folder, or is not in the file system."""
    return () if address.path is None else (address.path,)


@value
class StoreKind:
    """One kind of store: the global `STORE` of its module.

    `open` may raise ImportError where the driver is missing, which `pip install 'tildone[EXTRA]'` brings. `files` lists
    the paths that the store at an address consists of, its own first: doctor checks their permissions. `replaceable`
    says whether restore may move these files aside and begin anew when the store is damaged.
    """

    open: Callable[[StoreAddress, OpenOptions], Store]
    extra: str = ""
    files: Callable[[StoreAddress], tuple[str, ...]] = path_only
    replaceable: Callable[[StoreAddress], bool] = lambda _address: False
