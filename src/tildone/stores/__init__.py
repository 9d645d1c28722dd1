"""Stores: sessions in SQLite, PostgreSQL, pi's files or memory; leases of runs; the registry of agents.

To add a store, add a module or folder here and a line to `STORES`. Each module has a global `STORE`, a `StoreKind`.
Help texts, `tildone doctor`, `tildone migrate` and the documentation are derived from the line here and from that
record. `memory` has no line: a store in memory has no address.

Hooks import this package at every tool call, so it imports nothing but the registry until a store is opened.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry, UsageError, nearest, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.log.store import Store
    from tildone.plan.model import Plan
    from tildone.plan.runs import RunFence

    PlanInEntry = Callable[[Mapping[str, Any]], Plan | None]


@value
class StoreAddress:
    """The text that `--store` takes, parsed by its form alone. `str` unparses it.

        plans.db                            PATH: no scheme
        jsonl:sessions                      SCHEME:PATH
        postgresql://me:secret@host/plans   SCHEME://…: a URL, which names no path

    `location` is a path or, if it begins with `//`, the rest of a URL. A path that looks as if it began with a scheme
    must include its folder: `./notes:2024.db`.
    """

    scheme: str
    location: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.location}" if self.scheme else self.location

    @property
    def path(self) -> str | None:
        """The path of the file or folder; None for a URL."""
        return None if self.scheme and self.location.startswith("//") else self.location

    @property
    def redacted(self) -> str:
        """The address without password and options, safe to print."""
        if self.path is not None:
            return str(self)
        userinfo, at, host = self.location.removeprefix("//").rpartition("@")
        return f"{self.scheme}://{userinfo.partition(':')[0]}{at}{host.partition('?')[0]}"


@value
class AddressForm:
    """The addresses of a store: its schemes ("" for plain paths), a placeholder for help texts, one line for docs."""

    schemes: tuple[str, ...]
    placeholder: str
    summary: str


def parse_address(text: str) -> StoreAddress:
    """Parse an address. Every text is one: without a scheme, it is a path."""
    scheme, colon, location = text.partition(":")
    return StoreAddress(scheme, location) if colon and _is_scheme(scheme) else StoreAddress("", text)


def _is_scheme(text: str) -> bool:
    # A single letter is a Windows drive.
    return len(text) > 1 and text.isascii() and text[0].isalpha() and text.replace("+", "").replace("-", "").isalnum()


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
    """Return the kind of store that an address names. Raises UsageError if no store has its scheme."""
    for name, form in STORES.entries.items():
        if address.scheme in form.schemes:
            return name
    separator = "://" if address.path is None else ":"
    known = tuple(scheme for form in STORES.entries.values() for scheme in form.schemes if scheme)
    hint = nearest(address.scheme, known, f"a store is {placeholders()}")
    raise UsageError(f"there are no {address.scheme}{separator} stores; {hint}")


def store_kind(address: StoreAddress) -> StoreKind:
    """Return the kind of store that an address names. Raises UsageError if no store has the scheme of the address."""
    return STORES[store_name(address)]


def open_store(address: StoreAddress, options: OpenOptions) -> Store:
    """Open the store at an address.

    Raises UsageError if no store has the scheme of the address, or its driver is not installed, StoreError if it cannot
    be opened.
    """
    kind = store_kind(address)
    try:
        return kind.open(address, options)
    except ImportError as error:
        if not kind.extra:
            raise
        # Late, because only a missing driver needs it.
        from tildone.base.distribution import install_extra

        message = f"{address.scheme}:// stores need a driver: {install_extra(kind.extra)}"
        raise UsageError(message) from error


def placeholders() -> str:
    """Return the supported forms of addresses, as help texts list them."""
    *others, last = (form.placeholder for form in STORES.entries.values())
    return f"{', '.join(others)} or {last}"


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
