"""The threads without which a worker is of no use, and what happens if one of them ends with an unexpected error.

Without its heartbeat, a worker would take runs and never renew their leases: each would be lost, also to the workers
that take it over. So such a worker stops, and gives its runs back.
"""

from __future__ import annotations

import threading
from threading import Thread

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class EssentialThread(Thread):
    """A daemon thread that is to run as long as its worker."""

    def __init__(self, name: str, target: Callable[..., object], *args: object) -> None:
        super().__init__(target=target, name=name, args=args, daemon=True)


def on_essential_failure(report: Callable[[str], object]) -> None:
    """Call `report` with the name of an essential thread that an unexpected error has ended.

    This is a setting of the whole process. The traceback is printed as usual.
    """

    def look(args: threading.ExceptHookArgs) -> None:
        threading.__excepthook__(args)
        if isinstance(args.thread, EssentialThread):
            report(args.thread.name)

    threading.excepthook = look
