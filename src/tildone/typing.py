"""`TYPE_CHECKING` without the cost of `typing`.

Importing `typing` takes as long as a hook may take in all, so modules on the hook path import the flag from here.
"""

MYPY = False
if MYPY:
    from typing import TYPE_CHECKING as TYPE_CHECKING  # noqa: PLC0414  the alias marks a re-export
else:
    TYPE_CHECKING = False
