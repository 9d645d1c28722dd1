"""Checks, proofs, the order and the files of tasks as JSON data. Keys that have their default value are omitted."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.model import DEFAULT_SECONDS, WORD_FIELDS, Check, Proof, Result

if TYPE_CHECKING:
    from typing import Any

    from tildone.plan.model import Plan, Task

    Json = dict[str, Any]

LISTS = ("after", *WORD_FIELDS)
_NO_CHECK, _NO_PROOF = Check(()), Proof(Result.PASSED, ())
_CHECK_KEYS = Check.__match_args__[1:]
_PROOF_KEYS = tuple(name for name in Proof.__match_args__[2:] if name != "tail")


def attributes_to_json(owner: Task | Plan) -> Json:
    data: Json = {} if owner.check is None else {"check": check_to_json(owner.check)}
    data |= {} if owner.proof is None else {"proof": proof_to_json(owner.proof)}
    return data | {name: list(words) for name in LISTS if (words := getattr(owner, name, ()))}


def attributes_from_json(data: Json) -> Json:
    fields: Json = {"check": check_from_json(data["check"])} if data.get("check") else {}
    fields |= {"proof": proof_from_json(data["proof"])} if data.get("proof") else {}
    return fields | {name: tuple(data[name]) for name in LISTS if data.get(name)}


def check_to_json(check: Check) -> Json:
    rest = {name: words for name in _CHECK_KEYS if (words := getattr(check, name)) != getattr(_NO_CHECK, name)}
    return {"command": list(check.command)} | {
        name: list(words) if isinstance(words, tuple) else words for name, words in rest.items()
    }


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
    rest: Json = {name: each for name in _PROOF_KEYS if (each := getattr(proof, name)) != getattr(_NO_PROOF, name)}
    return {"result": proof.result.value, "command": list(proof.command), **rest}


def proof_from_json(data: Json) -> Proof:
    rest = {name: data[name] for name in _PROOF_KEYS if name in data}
    return Proof(Result(data["result"]), tuple(map(str, data["command"])), **rest)
