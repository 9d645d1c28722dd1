"""What a worker tells a minder to run, and its form on the pipe: a length in decimal digits, a newline, and the fields.

A field is `NAME=VALUE`, and fields are separated by NUL, which no argument, path or environment variable can contain.
JSON would double the time that a minder takes to start. Standard library only.
"""

from __future__ import annotations

import os
from math import inf

from tildone.fleet.starting import Program
from tildone.value import value


@value
class Orders:
    """The agent to run, the file for its output, and the command that gives the lease back if the worker is gone.

    `max_output` is the size in bytes at which the output file is rotated. `grace` is the time in seconds between asking
    processes to end and killing them. `release_seconds` is the time limit of the release command, which is run in the
    worker's environment and folder; without a command, nothing is run. `containment` is the strongest means that may be
    used to hold the processes together. An agent that is frozen for `max_frozen` seconds is killed.
    """

    agent: Program
    output: str
    max_output: int
    grace: float
    release: list[bytes]
    release_seconds: float
    containment: str
    max_frozen: float = inf


def encode_orders(orders: Orders) -> bytes:
    """Return the form for the pipe.

    Raises:
        ValueError: an argument or a variable contains NUL.
    """
    fields = [
        *((b"argument", argument) for argument in orders.agent.arguments),
        (b"folder", orders.agent.folder),
        *((b"variable", name + b"=" + text) for name, text in orders.agent.environ.items()),
        (b"output", os.fsencode(orders.output)),
        (b"max_output", b"%d" % orders.max_output),
        (b"grace", repr(orders.grace).encode()),
        *((b"release", argument) for argument in orders.release),
        (b"release_seconds", repr(orders.release_seconds).encode()),
        (b"containment", orders.containment.encode()),
        (b"max_frozen", repr(orders.max_frozen).encode()),
    ]
    if any(b"\0" in text for _, text in fields):
        raise ValueError("the command or the environment of the agent contains a NUL character")
    body = b"\0".join(name + b"=" + text for name, text in fields)
    return b"%d\n" % len(body) + body


def decode_orders(body: bytes) -> Orders:
    """Return the orders from the fields, without the length."""
    found: dict[bytes, list[bytes]] = {}
    for field in body.split(b"\0"):
        name, _, text = field.partition(b"=")
        found.setdefault(name, []).append(text)
    variables = (variable.partition(b"=") for variable in found.get(b"variable", []))
    return Orders(
        Program(found[b"argument"], found[b"folder"][0], {name: text for name, _, text in variables}),
        os.fsdecode(found[b"output"][0]),
        int(found[b"max_output"][0]),
        float(found[b"grace"][0]),
        found.get(b"release", []),
        float(found[b"release_seconds"][0]),
        found[b"containment"][0].decode(),
        float(found[b"max_frozen"][0]),
    )
