"""Elicitation: the person is asked, in the client, whether a check that a model proposed may be run."""

from __future__ import annotations

import json

from tildone.core.guard import PLAN
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_caution

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.core.check import Check

APPROVE = "approve"


def owner(number: int) -> str:
    """Return whose check it is."""
    return "the plan" if number == PLAN else f"task {number}"


def approval_form(number: int, check: Check) -> dict[str, Any]:
    """Return the parameters of `elicitation/create` that ask for the approval of a check.

    The command is given as a list of strings in ASCII, in which nothing can hide.
    """
    folder = f" in the folder {json.dumps(check.folder)}" if check.folder else ""
    command = json.dumps(list(check.command))
    state = f"the check of {owner(number)} is only proposed"
    return {
        "message": f"tildone: {state}. May this command be run{folder}? {command} {check_caution(check)}".rstrip(),
        "requestedSchema": {
            "type": "object",
            "properties": {
                APPROVE: {"type": "boolean", "title": "Run this command, now and later", "default": False},
            },
            "required": [APPROVE],
        },
    }


def is_approved(result: Mapping[str, Any] | None) -> bool:
    """Return whether the person accepted the form and approved the check in it."""
    content = result.get("content") if result is not None and result.get("action") == "accept" else None
    return isinstance(content, dict) and content.get(APPROVE) is True


def has_forms(capabilities: object) -> bool:
    """Return whether a client with these capabilities shows forms. One that names no mode does."""
    declared = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and (not declared or "form" in declared)
