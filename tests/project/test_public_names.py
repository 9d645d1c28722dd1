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


def test_every_public_name_can_be_imported() -> None:
    names = public_names()
    imports = "".join(f"from tildone import {name}\n" for name in names)

    subprocess.run([sys.executable, "-c", imports], check=True)


def test_public_names_are_complete() -> None:
    """A name that is imported at the root is meant to be used from there."""
    imported = {name for name in declared() if not name.startswith("_")}

    assert len(set(public_names())) == len(public_names())
    assert imported <= set(public_names())


def public_names() -> list[str]:
    return list(getattr(tildone, "__all__", []))


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    """And what is offered is what one finds."""
    assert not hasattr(tildone, "nonsense")
    assert set(dir(tildone)) == set(public_names())


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

    assert members <= set(public_names())


def test_every_error_and_every_dialect_is_public() -> None:
    """Under its own name, and under that of its folder."""
    defined = {
        name for name, found in vars(tildone.base).items() if isinstance(found, type) and issubclass(found, Exception)
    }

    assert defined <= set(public_names())
    assert {name.upper() for name in DIALECTS} <= set(public_names())
