"""The program with which a supervisor gives the lease of its agent back when the worker is gone.

The lease is its argument; the address of the store is in the environment, where other people of the machine cannot see
it. The end of a worker counts as a loss of the run: one that ends its workers again and again fails.
"""

import os
import sys

from tildone.app.values import variable
from tildone.base.ids import id_maker, now
from tildone.plan.dialects import plan_in_entry
from tildone.plan.runs import fence_in
from tildone.stores import OpenOptions, open_store, parse_address
from tildone.stores.leasing import Recorder, leases_of

STORE_VARIABLE = variable("store")


def main() -> None:
    held = fence_in(sys.argv[1])
    store = open_store(parse_address(os.environ[STORE_VARIABLE]), OpenOptions(plan_in_entry=plan_in_entry))
    leases = leases_of(store, Recorder(id_maker(now, os.urandom), now))
    leases.lose(held, "its worker has ended")
