"""What the log of a plan records of its runs. The leases can be rebuilt from these facts (`rebuilding`).

`epoch` is that of the lease after the fact: what happens under a lower one is refused. Renewals are not recorded.
"""

from __future__ import annotations

from tildone.log.fleet.lease import LeaseState, Work
from tildone.value import value


@value
class RunQueued:
    """A run waits for a worker. `why` is `added`, `retried`, `resumed` or `answered`."""

    run: str
    hand: int
    epoch: int
    attempt: int
    work: Work
    why: str = "added"
    not_before: int = 0


@value
class RunTaken:
    """A worker of some version has taken the run."""

    run: str
    hand: int
    epoch: int
    owner: str
    version: str = ""


@value
class RunLost:
    """A worker has lost the run. `losses` of the last attempts were lost while `task` was the task to work on."""

    run: str
    hand: int
    epoch: int
    why: str
    task: int = 0
    losses: int = 0


@value
class RunReleased:
    """The run has no worker any more, but has not ended. `fails` of its attempts failed.

    `refused_by` is the id of the worker, if that does not permit the run.
    """

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str
    fails: int = 0
    not_before: int = 0
    refused_by: str = ""


@value
class RunEnded:
    """The run is done, failed or cancelled. `fails` of its attempts failed."""

    run: str
    hand: int
    epoch: int
    state: LeaseState
    why: str = ""
    fails: int = 0


@value
class Asked:
    """The agent of a run has asked a person. `question` is an id; `kind` is command, check, question or the like."""

    run: str
    hand: int
    question: str
    kind: str
    text: str


@value
class Answered:
    """A person has answered the question of a run."""

    run: str
    hand: int
    question: str
    text: str
    who: str = ""


@value
class Kept:
    """The files of a run were kept: as a commit, under a ref of its epoch, after a task.

    `as_of` is the event that was the head of the session before the files were read: what was done until then is kept.
    What was done before this fact itself may not be.
    """

    run: str
    hand: int
    epoch: int
    ref: str
    commit: str
    task: int = 0
    as_of: str = ""


RunFact = RunQueued | RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered | Kept
