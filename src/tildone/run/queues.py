"""Messages that are waiting for delivery to a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum

from tildone.run.messages import CustomMessage, DeveloperMessage, Message, UserMessage, text_of

QueuedMessage = UserMessage | CustomMessage | DeveloperMessage


class Delivery(Enum):
    """When a message is delivered that arrives while a turn is running."""

    STEER = "steer"
    """Before the next request to the model."""

    FOLLOW_UP = "follow_up"
    """When the model has stopped."""

    NEXT_TURN = "next_turn"
    """With the next prompt of the person."""


class MessageQueues:
    """Messages that are waiting for delivery, by the time of their delivery."""

    def __init__(self) -> None:
        self.steering: deque[QueuedMessage] = deque()
        self.follow_up: deque[QueuedMessage] = deque()
        self.next_turn: deque[QueuedMessage] = deque()

    def add(self, message: QueuedMessage, delivery: Delivery) -> None:
        self._queue(delivery).append(message)

    def next(self, *, stopped: bool) -> QueuedMessage | None:
        """Remove and return the next message: a steering message or, once the model has stopped, a follow-up."""
        queue = self.steering or (self.follow_up if stopped else None)
        return queue.popleft() if queue else None

    def texts(self) -> tuple[list[str], list[str]]:
        """Return the texts of steering messages and of follow-ups."""
        return _texts(self.steering), _texts(self.follow_up)

    def clear(self) -> None:
        """Drop steering messages and follow-ups."""
        self.steering.clear()
        self.follow_up.clear()

    def _queue(self, delivery: Delivery) -> deque[QueuedMessage]:
        match delivery:
            case Delivery.STEER:
                return self.steering
            case Delivery.FOLLOW_UP:
                return self.follow_up
            case Delivery.NEXT_TURN:  # exhaustive
                return self.next_turn


def _texts(queue: Iterable[Message]) -> list[str]:
    return [text_of(message) for message in queue]
