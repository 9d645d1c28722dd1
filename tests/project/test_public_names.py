"""`tildone` offers what it says it offers."""

import ast
import subprocess
import sys
from typing import get_args

import tildone
import tildone.base
from tests.project.source import modules
from tildone.plan.dialects import DIALECTS
from tildone.plan.gate import Decision
from tildone.plan.ops import Op, Selector


def test_every_public_name_can_be_imported_and_nothing_else_is_offered() -> None:
    """A name that is imported at the root is meant to be used from there."""
    imports = "".join(f"from tildone import {name}\n" for name in tildone.__all__)

    subprocess.run([sys.executable, "-c", imports], check=True)
    assert sorted(dir(tildone)) == sorted(tildone.__all__)
    assert {name for name in declared() if not name.startswith("_")} <= set(tildone.__all__)
    assert not hasattr(tildone, "nonsense")


def test_names_are_imported_from_where_type_checkers_see_them() -> None:
    """Otherwise import contracts and type checkers would describe another program than the one that runs."""
    assert vars(tildone)["_HOME"] == declared()


def declared() -> dict[str, tuple[str | None, str]]:
    """The names of ours that type checkers see imported at the root, each with its module and its name there."""
    [block] = [node for node in modules()["tildone"].tree.body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tildone")
        for alias in node.names
    }


def test_every_member_of_a_public_union_is_public() -> None:
    """Otherwise nobody could write an exhaustive `match`, or request the change."""
    members = {member.__name__ for union in (Op, Selector, Decision) for member in get_args(union)}

    assert members <= set(tildone.__all__)


def test_every_error_and_every_dialect_is_public() -> None:
    """Under its own name, and under that of its folder."""
    types = {name: found for name, found in vars(tildone.base).items() if isinstance(found, type)}

    assert {name for name, found in types.items() if issubclass(found, Exception)} <= set(tildone.__all__)
    assert {name.upper() for name in DIALECTS} <= set(tildone.__all__)
