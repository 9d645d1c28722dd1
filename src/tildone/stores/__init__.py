"""Stores of sessions. To add one, add a module or folder here and a line to `STORES`.

Each module has a global `STORE`, a `StoreKind`. Help texts, `tildone doctor`, `tildone migrate` and the documentation
are derived from the line here and from that record. `memory` has no line: a store in memory has no address.

Hooks import this package at every tool call, so it imports nothing but the registry until a store is opened.
"""

from __future__ import annotations

from tildone.errors import UsageError, nearest
from tildone.log.address import AddressForm
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.log.address import StoreAddress
    from tildone.log.store import Store
    from tildone.stores.base import OpenOptions, StoreKind

STORES: Registry[StoreKind, AddressForm] = Registry(
    __name__,
    "STORE",
    {
        "sqlite": AddressForm(("",), "a file", "one SQLite file, shared by the processes of one machine"),
        "pi": AddressForm(("jsonl",), "jsonl:FOLDER", "a folder of session files in pi's format"),
        "postgres": AddressForm(
            ("postgresql", "postgres"), "postgresql://HOST/DATABASE", "a PostgreSQL database, shared by many machines"
        ),
    },
)


def store_name(address: StoreAddress) -> str:
    """Return the registered name of the kind of store that an address names.

    Raises:
        UsageError: no store has the scheme of the address.
    """
    for name, form in STORES.entries.items():
        if address.scheme in form.schemes:
            return name
    separator = "://" if address.path is None else ":"
    known = tuple(scheme for form in STORES.entries.values() for scheme in form.schemes if scheme)
    hint = nearest(address.scheme, known, f"a store is {placeholders()}")
    raise UsageError(f"there are no {address.scheme}{separator} stores; {hint}")


def store_kind(address: StoreAddress) -> StoreKind:
    """Return the kind of store that an address names.

    Raises:
        UsageError: no store has the scheme of the address.
    """
    return STORES[store_name(address)]


def open_store(address: StoreAddress, options: OpenOptions) -> Store:
    """Open the store at an address.

    Raises:
        UsageError: no store has the scheme of the address, or its driver is not installed.
        StoreError: it cannot be opened.
    """
    kind = store_kind(address)
    try:
        return kind.open(address, options)
    except ImportError as error:
        if not kind.extra:
            raise
        # Late, because only a missing driver needs it.
        from tildone.distribution import install_extra  # noqa: PLC0415  see above

        message = f"{address.scheme}:// stores need a driver: {install_extra(kind.extra)}"
        raise UsageError(message) from error


def placeholders() -> str:
    """Return the supported forms of addresses, as help texts list them."""
    *others, last = (form.placeholder for form in STORES.entries.values())
    return f"{', '.join(others)} or {last}"
