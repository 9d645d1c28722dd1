"""Figures in the text format of Prometheus (version 0.0.4).

The names of figures and labels are ours and valid; the values of labels may be any text.
"""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Kind(Enum):
    """A gauge goes up and down; a counter only grows, until its process ends."""

    GAUGE = "gauge"
    COUNTER = "counter"


@value
class Sample:
    """A figure, with the names and values of its labels."""

    amount: float
    labels: tuple[tuple[str, str], ...] = ()


@value
class Family:
    """Figures of one name. The name of a counter ends with `_total`."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


def exposition(families: Iterable[Family]) -> str:
    """Return figures as text."""
    lines = []
    for family in families:
        lines.append(f"# HELP {family.name} {family.help}")
        lines.append(f"# TYPE {family.name} {family.kind.value}")
        lines += [f"{family.name}{_labels(sample)} {_number(sample.amount)}" for sample in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _labels(sample: Sample) -> str:
    pairs = [f'{name}="{text.translate(_ESCAPES)}"' for name, text in sample.labels]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _number(amount: float) -> str:
    return str(int(amount)) if amount == int(amount) else repr(float(amount))
