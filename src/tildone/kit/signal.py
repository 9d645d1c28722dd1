"""How a tool that is at work is told to stop.

A controller stays with whoever may stop the work; its signal goes to whoever does the work. Both belong to one
thread, as the host's event loop does.
"""

from __future__ import annotations

from collections.abc import Callable

Callback = Callable[[], object]

ABORTED = "Aborted"


class Aborted(Exception):
    """The work was told to stop."""

    def __init__(self, reason: str = ABORTED) -> None:
        super().__init__(reason)
        self.reason = reason


class _Switch:
    """What a controller and its signal share; it goes on once, and never off."""

    __slots__ = ("reason", "waiting")

    def __init__(self) -> None:
        self.reason: str | None = None
        self.waiting: dict[object, Callback] = {}


class AbortSignal:
    """Tells whether to stop, and calls back when it is time to."""

    __slots__ = ("_switch",)

    def __init__(self, switch: _Switch | None = None) -> None:
        self._switch = switch or _Switch()

    @property
    def aborted(self) -> bool:
        return self._switch.reason is not None

    @property
    def reason(self) -> str | None:
        """Why to stop; None while there is no need to."""
        return self._switch.reason

    def raise_if_aborted(self) -> None:
        """Stop here if it is time to.

        Raises:
            Aborted: the controller said so.
        """
        if self._switch.reason is not None:
            raise Aborted(self._switch.reason)

    def on_abort(self, callback: Callback) -> Callable[[], None]:
        """Call back once, when it is time to stop: at once if it already is. Gives what takes the callback back."""
        if self.aborted:
            callback()
            return lambda: None
        ticket = object()
        waiting = self._switch.waiting
        waiting[ticket] = callback

        def unsubscribe() -> None:
            waiting.pop(ticket, None)

        return unsubscribe


class AbortController:
    """Tells its signal to stop."""

    __slots__ = ("_switch", "signal")

    def __init__(self) -> None:
        self._switch = _Switch()
        self.signal = AbortSignal(self._switch)

    def abort(self, reason: str = ABORTED) -> list[Exception]:
        """Say stop, the first time only, and call back everyone who waits for it, in the order they came.

        A callback that raises does not keep the others from being called; what was raised is given back, for
        whoever reports such things.
        """
        if self.signal.aborted:
            return []
        self._switch.reason = reason
        waiting, raised = self._switch.waiting, list[Exception]()
        while waiting:
            callback = waiting.pop(next(iter(waiting)))
            try:
                callback()
            except Exception as error:  # noqa: BLE001  a stranger's callback may raise anything
                raised.append(error)
        return raised


def any_of(*signals: AbortSignal | None) -> AbortSignal:
    """A signal that says stop as soon as one of these does, and for its reason. None never does."""
    present = [signal for signal in signals if signal is not None]
    either = AbortController()
    leave: list[Callable[[], None]] = []

    def stop() -> None:
        for unsubscribe in leave:
            unsubscribe()
        reason = next(signal.reason for signal in present if signal.reason is not None)
        raised = either.abort(reason)
        if raised:
            raise ExceptionGroup("callbacks failed", raised)

    leave += [signal.on_abort(stop) for signal in present]
    if either.signal.aborted:
        stop()
    return either.signal
