"""The registry of stores, and the functions that use it."""

import pytest

from tildone.base.errors import UsageError
from tildone.log.store import Store
from tildone.stores import (
    STORES,
    AddressForm,
    OpenOptions,
    StoreKind,
    open_store,
    parse_address,
    placeholders,
    store_kind,
    store_name,
)


@pytest.mark.parametrize("name", list(STORES))
def test_every_line_names_a_module_with_a_store(name: str) -> None:
    form = STORES.entries[name]

    assert isinstance(STORES[name], StoreKind)
    assert form.schemes
    assert form.placeholder
    assert form.summary


def test_no_two_stores_have_the_same_scheme() -> None:
    schemes = [scheme for form in STORES.entries.values() for scheme in form.schemes]

    assert len(set(schemes)) == len(schemes)


@pytest.mark.parametrize(
    ("address", "name"),
    [("plans.db", "sqlite"), ("jsonl:x", "pi"), ("postgresql://h/d", "postgres"), ("postgres://h/d", "postgres")],
)
def test_an_address_names_its_store(address: str, name: str) -> None:
    assert store_name(parse_address(address)) == name


@pytest.mark.parametrize(("address", "shown"), [("mysql://h/d", "mysql://"), ("notes:2024.db", "notes:")])
def test_an_unknown_scheme_is_refused_with_the_supported_forms(address: str, shown: str) -> None:
    with pytest.raises(UsageError, match=f"there are no {shown} stores; a store is {placeholders()}"):
        store_kind(parse_address(address))


def test_a_missing_module_that_is_not_a_driver_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for a store with an extra is it a usage error."""

    def broken(*_: object) -> Store:
        raise ImportError("typo")

    entries = {**STORES.entries, "toy": AddressForm(("toy",), "toy:X", "for tests")}
    monkeypatch.setattr(STORES, "entries", entries)
    monkeypatch.setattr(type(STORES), "__getitem__", lambda *_: StoreKind(broken))

    with pytest.raises(ImportError, match="typo"):
        open_store(parse_address("toy:x"), OpenOptions())


def test_the_files_of_a_store_include_those_of_its_engine() -> None:
    """Doctor checks their permissions."""
    sqlite, pi, postgres = map(parse_address, ("/p.db", "jsonl:/s", "postgresql://h/d"))

    assert store_kind(sqlite).files(sqlite) == ("/p.db", "/p.db-wal", "/p.db-shm", "/p.db-journal")
    assert store_kind(pi).files(pi) == ("/s",)
    assert store_kind(postgres).files(postgres) == ()
