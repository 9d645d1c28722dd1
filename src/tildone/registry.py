"""Registries: the members of a package, listed by name and imported when they are first used.

A registry is how tildone stays extensible and starts fast. Adding a member takes one submodule and one line; nothing is
imported for the members that a command does not use. A registry imports submodules of the package it is declared in
and nothing else, so the import contracts, which hold between packages, miss no edge.
"""

from __future__ import annotations

import sys

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Generic, TypeVar

    T = TypeVar("T")
    F = TypeVar("F")
else:
    # `typing` takes as long to import as a hook may take in all.
    T = F = None

    class Generic:
        """Stands in for `typing.Generic` at run time."""

        def __class_getitem__(cls, _types: object) -> type:
            return cls


class Registry(Generic[T, F]):
    """The members of `package`: `entries` maps each name to what is known of it without importing it.

    Each name is a submodule of the package (`-` is spelled `_`), and the member is the submodule's global called
    `attribute`.
    """

    def __init__(self, package: str, attribute: str, entries: Mapping[str, F]) -> None:
        self.package = package
        self.attribute = attribute
        self.entries = entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> T:
        """Import the member of that name.

        Raises:
            KeyError: the registry has no such member.
        """
        if name not in self.entries:
            raise KeyError(name)
        module = f"{self.package}.{name.replace('-', '_')}"
        # Not importlib: importing it costs a hook more than all the members that it loads.
        __import__(module)
        member: T = getattr(sys.modules[module], self.attribute)
        return member
