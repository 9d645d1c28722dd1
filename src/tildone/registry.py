"""Registries: the members of a package, listed by name and imported when they are first used.

Adding a member takes one submodule and one line in the registry, and a command imports only the members that it uses. A
registry imports only submodules of the package in which it is declared, so its imports never cross the boundaries that
the import contracts check.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Generic, TypeVar

    T = TypeVar("T")
    F = TypeVar("F")
else:
    # Importing `typing` takes as long as a whole hook may take.
    T = F = None

    class Generic:
        """Replaces `typing.Generic` at run time."""

        def __class_getitem__(cls, _types: object) -> type:
            return cls


class Registry(Generic[T, F]):
    """The members of `package`. `entries` maps each name to the facts that are available without importing the member.

    A name is the name of a submodule, with `-` in place of `_`. The member is the submodule's global `attribute`, or
    the one that follows a colon in the name: `module:function`.
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
        """Import and return the member of that name.

        Raises:
            KeyError: the registry has no such member.
        """
        if name not in self.entries:
            raise KeyError(name)
        submodule, _, attribute = name.partition(":")
        attribute = attribute or self.attribute
        # Not importlib: importing it takes longer than importing all the members that a hook needs.
        module = __import__(f"{self.package}.{submodule.replace('-', '_')}", fromlist=[attribute])
        member: T = getattr(module, attribute)
        return member
