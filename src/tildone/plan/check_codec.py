"""Checks, proofs, the order and the files of tasks as JSON data. Keys that have their default value are omitted."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.model import DEFAULT_SECONDS, WORD_FIELDS, Check, Proof, Result

if TYPE_CHECKING:
    from typing import Any

    from tildone.plan.model import Plan, Task

    Json = dict[str, Any]

LISTS = ("after", *WORD_FIELDS)
_PROOF_KEYS = {
    "files": "",
    "all_files": "",
    "exit_code": None,
    "reason": "",
    "milliseconds": 0,
    "at": 0,
    "by": "",
    "output": "",
    "program": "",
    "program_sha256": "",
    "imported": False,
}


def attributes_to_json(owner: Task | Plan) -> Json:
    """Return what a task, or a plan, has beside its text, status and notes."""
    data: Json = {} if owner.check is None else {"check": check_to_json(owner.check)}
    data |= {} if owner.proof is None else {"proof": proof_to_json(owner.proof)}
    return data | {name: list(words) for name in LISTS if (words := getattr(owner, name, ()))}


def attributes_from_json(data: Json) -> Json:
    """Return the fields of a task, or a plan, that the data has."""
    fields: Json = {"check": check_from_json(data["check"])} if data.get("check") else {}
    fields |= {"proof": proof_from_json(data["proof"])} if data.get("proof") else {}
    return fields | {name: tuple(data[name]) for name in LISTS if data.get(name)}


def check_to_json(check: Check) -> Json:
    data: Json = {"command": list(check.command)}
    if check.folder:
        data["folder"] = check.folder
    if check.seconds != DEFAULT_SECONDS:
        data["seconds"] = check.seconds
    if check.retries:
        data["retries"] = check.retries
    if check.watches:
        data["watches"] = list(check.watches)
    if check.by_model:
        data["by_model"] = True
    return data


def check_from_json(data: Json) -> Check:
    return Check(
        tuple(map(str, data["command"])),
        str(data.get("folder", "")),
        int(data.get("seconds", DEFAULT_SECONDS)),
        int(data.get("retries", 0)),
        tuple(map(str, data.get("watches", ()))),
        data.get("by_model") is True,
    )


def proof_to_json(proof: Proof) -> Json:
    rest = {name: getattr(proof, name) for name, default in _PROOF_KEYS.items() if getattr(proof, name) != default}
    return {"result": proof.result.value, "command": list(proof.command), **rest}


def proof_from_json(data: Json) -> Proof:
    rest = {name: data[name] for name in _PROOF_KEYS if name in data}
    return Proof(Result(data["result"]), tuple(map(str, data["command"])), **rest)
