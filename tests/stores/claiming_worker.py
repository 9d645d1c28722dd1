"""A worker process of the test of concurrent claims: claims, holds and closes runs, and writes down what it had."""

import sys
import time
from pathlib import Path

from tildone.app.opening import run_leases, store_at
from tildone.plan.runs import Claimer, WorkOutcome

SLOTS = 3


def main(address: str, name: str, book: str) -> None:
    store = store_at(address)
    leases = run_leases(store)
    who, number = Claimer(f"{name}/1/a", ("gpu",)), 0
    print("ready", flush=True)
    sys.stdin.readline()
    with Path(book).open("a") as file:
        while True:
            revision = leases.revision()
            owners = [f"{who.worker}/{number + slot}" for slot in range(SLOTS)]
            number += SLOTS
            before = time.monotonic()
            held = leases.claim(who, owners)
            after = time.monotonic()
            for lease in held:
                file.write(
                    f"{before} {after} {name} {lease.run} {lease.epoch} {lease.work.repo} {lease.work.provider} "
                )
                leases.renew([lease.fence])
                # What comes after this line may happen after others have taken the next run.
                file.write(f"{time.monotonic()}\n")
                assert leases.close(lease.fence, WorkOutcome.DONE) is not None
            if not held:
                if sum(view.lease.state.is_active for view in leases.look()) == 0:
                    break
                leases.wait(revision, 0.2)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
