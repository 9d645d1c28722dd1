"""`docs/glossary.md` is the authority on names: one word has one meaning, and the code uses that word."""

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator

import tildone
from tests.project.source import ROOT, Module, modules

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS, _, RETIRED = PAGE.partition("## Retired words")
LIMITS = {"MOST", "LONGEST", "LARGEST", "PATIENCE", "LIMIT", "MAX", "TRIES"}
"""Names that say that something is limited, and not what."""


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row, without headings and rulers."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in ("word", "retired")]


def names_in_code() -> dict[str, str]:
    """Return the qualified names that the glossary gives for its words."""
    return {name: row[0] for row in rows(TERMS) for name in re.findall(r"`(tildone\.[\w.]+)`", row[2])}


def retired() -> list[str]:
    return [word for row in rows(RETIRED) for word in re.findall(r"`(\w+)`", row[0])]


def public_definitions(module: Module) -> Iterator[str]:
    """Return the names of a module's top-level functions, classes and constants."""
    for node in module.tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def parts(name: str) -> set[str]:
    """Split an identifier into its lower-case words."""
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)}


def test_no_word_is_explained_twice() -> None:
    words = [row[0].strip("*") for row in rows(TERMS)]

    assert len(words) > 40
    assert sorted(words) == sorted(set(words))


def test_the_names_that_the_glossary_gives_exist() -> None:
    attributes = [name.rpartition(".") for name in names_in_code() if name not in modules()]

    assert [(home, name) for home, _, name in attributes if not hasattr(importlib.import_module(home), name)] == []


def test_the_glossary_explains_every_public_name() -> None:
    explained = " ".join(row[2] for row in rows(TERMS))

    assert [name for name in tildone.__all__ if not re.search(rf"`(tildone\.)?{name}`", explained)] == []


def test_retired_words_name_nothing() -> None:
    words = set(retired())
    named = {name: [name.rpartition(".")[2], *public_definitions(module)] for name, module in modules().items()}

    assert {(home, name) for home, names in named.items() for name in names if parts(name) & words} == set()


def test_a_limit_says_what_it_limits() -> None:
    named = {(home, name) for home, module in modules().items() for name in public_definitions(module)}

    assert {(home, name) for home, name in named if name.strip("_") in LIMITS} == set()


def test_no_two_types_have_one_name() -> None:
    bodies = [(module.name, node) for module in modules().values() for node in module.tree.body]
    homes = [(node.name, home) for home, node in bodies if isinstance(node, ast.ClassDef)]
    count = Counter(name for name, _ in homes)

    assert [(name, home) for name, home in homes if count[name] > 1] == []


def test_identifiers_are_split_into_words() -> None:
    words = {"HookEvent": "hook event", "to_sql": "to sql", "MAX_STDIN_BYTES": "max stdin bytes"}

    assert {name: parts(name) for name in words} == {name: set(split.split()) for name, split in words.items()}
