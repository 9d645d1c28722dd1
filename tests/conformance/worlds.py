"""The original systems, by name, with the adapters that replay their vectors."""

from tests.conformance.adapters import Declarative, Phases, TilDone
from tests.conformance.judge import Worlds

WORLDS: Worlds = {"til-done": TilDone, "phases": Phases, "declarative": Declarative}
