"""Splits what a person types in a field of a screen into words, as a shell would."""

from __future__ import annotations

import shlex

from tildone.errors import UsageError


def words_of(line: str, what: str) -> tuple[str, ...]:
    """Return the words of a line, as a shell would split them; nothing in them is interpreted. `what` names the line.

    Raises:
        UsageError: a quotation is not closed.
    """
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"{what} cannot be split into words: {str(error).lower()}") from error
