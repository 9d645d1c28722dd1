"""Several processes at once, in a race against a clock."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from time import perf_counter

from tildone.log.store import Store

TIMEOUT_SECONDS = 300.0

Runner = Callable[[Store, int], None]


def race(opened: Callable[[], Store], act: Runner, number: int) -> float:
    """Run an action in so many processes at once; return how long that takes in seconds.

    Each process opens the store before the race, and gets its own number.
    """
    context = get_context("spawn")
    barrier = context.Barrier(number + 1, timeout=TIMEOUT_SECONDS)
    runners = [context.Process(target=_run, args=(opened, act, i, barrier)) for i in range(number)]
    for runner in runners:
        runner.start()
    barrier.wait()
    begun = perf_counter()
    barrier.wait()
    taken = perf_counter() - begun
    for runner in runners:
        runner.join()
    return taken


def _run(opened: Callable[[], Store], act: Runner, number: int, barrier: Barrier) -> None:
    store = opened()
    try:
        barrier.wait()
        act(store, number)
        barrier.wait()
    except BaseException:
        barrier.abort()
        raise
    finally:
        store.close()
