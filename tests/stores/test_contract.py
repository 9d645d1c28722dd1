"""Every kind of store satisfies the contract."""

from tests.stores.claims_contract import ClaimsContract
from tests.stores.contract import StoreContract
from tests.stores.feed_contract import FeedContract
from tests.stores.records_contract import RecordsContract


class TestEveryStore(StoreContract):
    """Runs once for each kind of store."""


class TestTheFeedOfEveryStore(FeedContract):
    """Runs once for each kind of store."""


class TestTheRecordsOfEveryStore(RecordsContract):
    """Runs once for each kind of store."""


class TestTheClaimsOfEveryStore(ClaimsContract):
    """Runs once for each kind of store."""
