"""The clock of leases on this machine: it counts since the machine was started, also while it is suspended."""

from __future__ import annotations

import os
import time

from tildone.log.fleet.rules import Moment

BOOT_ID = "/proc/sys/kernel/random/boot_id"
PID_NAMESPACE = "/proc/self/ns/pid"


def moment() -> Moment:
    """Return the time now. Where no such clock exists, leases are measured in milliseconds since 1970."""
    now = time.time_ns() // 1_000_000
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return Moment(now, now)
    return Moment(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000, now, boot())


def boot() -> str:
    """Return what identifies this start of the machine, and the namespace of process ids; empty if unknown."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return f"{file.read().strip()}/{os.readlink(PID_NAMESPACE)}"
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Return whether a process of this machine exists and has not ended. If that is not known, it does."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # PID (NAME) STATE …; a name may contain anything.
            return not file.read().rpartition(")")[2].startswith((" Z", " X"))
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
