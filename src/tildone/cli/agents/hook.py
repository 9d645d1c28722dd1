"""`tildone hook`, where something stands before the verb; whatever comes after it never gets here."""

from __future__ import annotations

from tildone.cli import hooked
from tildone.cli.parsing.args import Typed


def hook(typed: Typed) -> int:
    """Answer a hook, with the options that were given."""
    return hooked([*typed.words, *(f"--{name}={given}" for name, given in typed.options.items())])
