"""What is fuzzed: where the inputs come from, who reads them, and which errors are an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """A parser. `draw` makes an input, and `feed` has it read.

    An exception that is not among the `answers` is a crash. `weight` is how many inputs it gets for each one of a
    target with weight 1: little, for one that takes long.
    """

    name: str
    draw: Callable[[Random], Any]
    feed: Callable[[Any], object]
    answers: tuple[type[BaseException], ...] = ()
    weight: int = 10
