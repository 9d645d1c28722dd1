"""Every kind of store satisfies the contract."""

from tests.stores.contract import StoreContract


class TestEveryStore(StoreContract):
    """Runs once for each kind of store."""
