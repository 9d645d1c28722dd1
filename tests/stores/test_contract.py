"""Every store, under the one contract."""

from tests.stores.contract import StoreContract


class TestEveryStore(StoreContract):
    """Run once for each kind of store that the fixtures know."""
