"""The systems that tildone is measured against, each as tildone answers for it."""

from tests.conformance.adapters import Declarative, Phases, TilDone
from tests.conformance.judge import Worlds

WORLDS: Worlds = {"til-done": TilDone, "phases": Phases, "declarative": Declarative}
