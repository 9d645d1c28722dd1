"""The adapters that replay recorded vectors on tildone."""

from tests.conformance.declarative import Declarative
from tests.conformance.phases import Phases
from tests.conformance.til_done import TilDone

__all__ = ["Declarative", "Phases", "TilDone"]
