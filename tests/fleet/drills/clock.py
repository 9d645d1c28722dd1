"""A wrong clock for the processes of a drill."""

import os
import time

CLOCK = "DRILL_CLOCK"
"""The environment variable with the seconds by which the clock of a process is fast."""


def shift_clock() -> None:
    """Make the wall clock of this process fast, as its environment says."""
    seconds = float(os.environ.get(CLOCK, "0"))
    if seconds:
        now, now_ns = time.time, time.time_ns
        time.time = lambda: now() + seconds
        time.time_ns = lambda: now_ns() + int(seconds * 1e9)
