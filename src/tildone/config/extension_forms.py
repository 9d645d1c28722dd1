"""How an option or a setting names an extension: FILE.py or MODULE, each with the name of a function after a colon."""

from __future__ import annotations

import os

from tildone.config.values import absolute


def split_form(form: str) -> tuple[str, str]:
    """Return the file or module, and the name of the function; without one, the name is empty.

    What follows the colon of a drive letter is a path and not a name.
    """
    target, _, name = form.rpartition(":")
    return (target, name) if target and name.isidentifier() else (form, "")


def is_file(target: str) -> bool:
    """Return whether a file is named, not a module."""
    return target.endswith(".py") or "/" in target or os.sep in target


def absolute_form(form: str, folder: str) -> str:
    """Return the form with the path of a file made absolute, relative to `folder`."""
    target, name = split_form(form)
    if not is_file(target):
        return form
    path = absolute(target, folder)
    return f"{path}:{name}" if name else path


def files_of(forms: list[str]) -> list[str]:
    """Return the files that the forms name, each once."""
    return list(dict.fromkeys(target for form in forms if is_file(target := split_form(form)[0])))
