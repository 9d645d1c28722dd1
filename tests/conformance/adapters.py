"""The three worlds that recorded vectors are replayed in."""

from tests.conformance.declarative import Declarative
from tests.conformance.phases import Phases
from tests.conformance.til_done import TilDone

__all__ = ["Declarative", "Phases", "TilDone"]
