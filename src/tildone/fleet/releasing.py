"""The program with which a minder gives the lease of its agent back when the worker is gone.

The lease is its argument; the address of the store is in the environment, where other people of the machine cannot see
it. On the machine of a store in a file, the worker is known to have ended, which counts as a loss of the run.
"""

from __future__ import annotations

import os
import sys

from tildone.config.values import variable
from tildone.dialects import plan_in_entry
from tildone.ids import id_maker, now
from tildone.log.address import parse_address
from tildone.log.fleet.lease import fence_in
from tildone.stores import open_store
from tildone.stores.base import OpenOptions
from tildone.stores.leasing import Scribe, leases_of

STORE_VARIABLE = variable("store")


def main() -> None:
    """Give the lease back."""
    held = fence_in(sys.argv[1])
    store = open_store(parse_address(os.environ[STORE_VARIABLE]), OpenOptions(plan_in_entry=plan_in_entry))
    leases = leases_of(store, Scribe(id_maker(now, os.urandom), now))
    leases.reap(0)
    leases.release(held, "its worker is gone")
