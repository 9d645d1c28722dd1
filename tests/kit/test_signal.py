"""Cancellation with abort controllers and signals."""

import pytest

from tildone.run.kit.definition import AbortController, Aborted, AbortSignal, any_of


def test_a_signal_is_not_aborted_before_its_controller_aborts() -> None:
    controller = AbortController()

    before = (controller.signal.aborted, controller.signal.reason)
    controller.abort("Escape was pressed")

    assert before == (False, None)
    assert (controller.signal.aborted, controller.signal.reason) == (True, "Escape was pressed")


def test_raise_if_aborted_stops_the_work() -> None:
    controller = AbortController()
    controller.signal.raise_if_aborted()
    controller.abort("enough")

    with pytest.raises(Aborted, match="enough") as caught:
        controller.signal.raise_if_aborted()

    assert caught.value.reason == "enough"


def test_callbacks_are_called_once_and_in_order() -> None:
    controller, calls = AbortController(), list[str]()
    controller.signal.on_abort(lambda: calls.append("first"))
    controller.signal.on_abort(lambda: calls.append("second"))

    controller.abort("now")
    controller.abort("again")

    assert calls == ["first", "second"]
    assert controller.signal.reason == "now"


def test_the_signal_is_aborted_when_callbacks_are_called() -> None:
    controller, seen = AbortController(), list[str | None]()
    controller.signal.on_abort(lambda: seen.append(controller.signal.reason))

    controller.abort("why")

    assert seen == ["why"]


def test_a_callback_that_raises_does_not_stop_the_others() -> None:
    """`abort` returns the exception."""
    controller, calls = AbortController(), list[str]()
    broken = RuntimeError("broken callback")

    def raise_it() -> None:
        raise broken

    controller.signal.on_abort(raise_it)
    controller.signal.on_abort(lambda: calls.append("called"))

    raised = controller.abort()

    assert calls == ["called"]
    assert raised == [broken]


def test_a_callback_added_after_the_abort_is_called_immediately() -> None:
    controller, calls = AbortController(), list[str]()
    controller.abort()

    unsubscribe = controller.signal.on_abort(lambda: calls.append("called"))
    unsubscribe()

    assert calls == ["called"]


def test_a_callback_can_be_unsubscribed() -> None:
    controller, calls = AbortController(), list[str]()
    stay = controller.signal.on_abort
    leave = stay(lambda: calls.append("gone"))
    stay(lambda: calls.append("there"))

    leave()
    leave()
    controller.abort()

    assert calls == ["there"]


def test_a_callback_can_unsubscribe_a_later_one() -> None:
    controller, calls = AbortController(), list[str]()
    leave = list[object]()
    controller.signal.on_abort(lambda: [take_back() for take_back in leave if callable(take_back)])
    leave.append(controller.signal.on_abort(lambda: calls.append("behind")))

    controller.abort()

    assert calls == []


def test_a_callback_subscribed_twice_is_called_twice() -> None:
    controller, calls = AbortController(), list[str]()
    callback = lambda: calls.append("called")  # noqa: E731  it must be one object
    controller.signal.on_abort(callback)
    controller.signal.on_abort(callback)()

    controller.abort()

    assert calls == ["called"]


def test_a_signal_without_a_controller_is_never_aborted() -> None:
    AbortSignal().raise_if_aborted()


def test_any_of_is_aborted_by_the_first_signal() -> None:
    user, timeout, calls = AbortController(), AbortController(), list[str | None]()
    either = any_of(user.signal, None, timeout.signal)
    either.on_abort(lambda: calls.append(either.reason))

    timeout.abort("took too long")
    user.abort("Escape was pressed")

    assert calls == ["took too long"]


def test_any_of_is_aborted_from_the_start_if_a_signal_is() -> None:
    idle, up = AbortController(), AbortController()
    up.abort("done already")

    either = any_of(idle.signal, up.signal, AbortSignal())

    assert either.reason == "done already"


def test_any_of_no_signals_is_never_aborted() -> None:
    assert not any_of().aborted
    assert not any_of(None).aborted


def test_exceptions_of_callbacks_on_a_joined_signal_are_returned() -> None:
    controller = AbortController()
    broken = RuntimeError("broken callback")

    def raise_it() -> None:
        raise broken

    any_of(controller.signal).on_abort(raise_it)

    [raised] = controller.abort()

    assert isinstance(raised, ExceptionGroup)
    assert raised.exceptions == (broken,)
