"""`tildone` offers what it says it offers."""

import ast
import subprocess
import sys

import tildone
from tests.project.source import modules


def test_every_public_name_can_be_imported() -> None:
    names = public_names()
    imports = "".join(f"from tildone import {name}\n" for name in names)

    subprocess.run([sys.executable, "-c", imports], check=True)


def test_public_names_are_sorted_and_complete() -> None:
    """A name that is imported at the root is meant to be used from there."""
    imported = {alias.asname or alias.name for node in ast.walk(modules()["tildone"].tree)
                if isinstance(node, ast.ImportFrom) for alias in node.names}  # fmt: skip

    assert public_names() == sorted(set(public_names()))
    assert {name for name in imported if not name.startswith("_")} <= set(public_names())


def public_names() -> list[str]:
    return list(getattr(tildone, "__all__", []))
