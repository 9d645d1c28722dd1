"""Cancellation: an `AbortController` and its `AbortSignal`, as in the web platform's API.

The controller stays with the code that may cancel; the signal is passed to the code that does the work. Both must be
used from one thread, such as the host's event loop.
"""

from __future__ import annotations

from collections.abc import Callable

Callback = Callable[[], object]

ABORTED = "Aborted"


class Aborted(Exception):
    """The operation was aborted."""

    def __init__(self, reason: str = ABORTED) -> None:
        super().__init__(reason)
        self.reason = reason


class _State:
    """State shared by a controller and its signal; `reason` is set at most once and never reset."""

    __slots__ = ("callbacks", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self.callbacks: dict[object, Callback] = {}


class AbortSignal:
    """Shows whether the operation was aborted, and calls subscribers back when it is."""

    __slots__ = ("_state",)

    def __init__(self, state: _State | None = None) -> None:
        self._state = state or _State()

    @property
    def aborted(self) -> bool:
        return self._state.reason is not None

    @property
    def reason(self) -> str | None:
        """The reason of the abort; None before it."""
        return self._state.reason

    def raise_if_aborted(self) -> None:
        """Raise if the operation was aborted.

        Raises:
            Aborted: with the reason of the abort.
        """
        if self._state.reason is not None:
            raise Aborted(self._state.reason)

    def on_abort(self, callback: Callback) -> Callable[[], None]:
        """Call back once on abort, immediately if already aborted. Return a function that unsubscribes."""
        if self.aborted:
            callback()
            return lambda: None
        key = object()
        callbacks = self._state.callbacks
        callbacks[key] = callback

        def unsubscribe() -> None:
            callbacks.pop(key, None)

        return unsubscribe


class AbortController:
    """Aborts its signal."""

    __slots__ = ("_state", "signal")

    def __init__(self) -> None:
        self._state = _State()
        self.signal = AbortSignal(self._state)

    def abort(self, reason: str = ABORTED) -> list[Exception]:
        """Abort, the first time only, and call the subscribers in the order of their subscription.

        An exception of one callback does not prevent the others from being called. Return the exceptions.
        """
        if self.signal.aborted:
            return []
        self._state.reason = reason
        callbacks, raised = self._state.callbacks, list[Exception]()
        while callbacks:
            callback = callbacks.pop(next(iter(callbacks)))
            try:
                callback()
            except Exception as error:  # noqa: BLE001  a foreign callback may raise anything
                raised.append(error)
        return raised


def any_of(*signals: AbortSignal | None) -> AbortSignal:
    """Return a signal that is aborted as soon as one of these is, with its reason. None is never aborted."""
    present = [signal for signal in signals if signal is not None]
    joined = AbortController()
    unsubscribers: list[Callable[[], None]] = []

    def stop() -> None:
        for unsubscribe in unsubscribers:
            unsubscribe()
        reason = next(signal.reason for signal in present if signal.reason is not None)
        raised = joined.abort(reason)
        if raised:
            raise ExceptionGroup("callbacks failed", raised)

    unsubscribers += [signal.on_abort(stop) for signal in present]
    if joined.signal.aborted:
        stop()
    return joined.signal
