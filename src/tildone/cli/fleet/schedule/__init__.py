"""The verbs of `tildone fleet schedule`."""

from __future__ import annotations

from tildone.cli.parsing.options import JSON
from tildone.cli.parsing.table import UNLIMITED, Option, Verb
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import VerbTable

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "list_schedules": Verb(
            "list",
            "",
            "List the plans that are run again and again.",
            options=(JSON,),
            examples=("tildone fleet schedule list",),
            aliases=("ls",),
        ),
        "add": Verb(
            "add",
            "CRON PLAN",
            "Run a plan again and again, or change when.",
            min_args=2,
            max_args=2,
            description=(
                'CRON has five fields, as cron has them: minute, hour, day of the month, month, day of the week; "0 3 '
                '* * *" is every night at three. PLAN is a file. Its content is stored: change the schedule after you '
                "change the file. Workers queue the runs. However many times were missed, one run is queued; none "
                "while the last one has not ended."
            ),
            options=(
                Option("name", "NAME", "The name of the schedule; default: that of the file."),
                Option("zone", "ZONE", "The time zone of the times, such as Europe/Berlin (default: UTC)."),
                Option("repo", "PATH|URL", "The repository to work on; default: the one around the working folder."),
                Option("ref", "REF", "The branch, tag or commit to begin with."),
                Option("agent", "AGENT", "The agent that works on the plan; default: run with --model, else shell."),
                Option("model", "SPEC", "The model of the agent, such as provider:name."),
                Option("labels", "LABELS", "Labels that a worker must have, with commas between; repeatable."),
                Option("allow", "PATTERN", "Of the commands that a worker permits, only matching ones; repeatable."),
                Option("priority", "N", "Runs with a lower number are taken first (default: 0)."),
                JSON,
            ),
            examples=(
                'tildone fleet schedule add "0 3 * * *" nightly.md',
                'tildone fleet schedule add "30 8 * * mon-fri" triage.md --zone Europe/Berlin --agent claude',
            ),
        ),
        "remove": Verb(
            "remove",
            "NAME…",
            "Do not run plans again. Runs that are queued stay.",
            min_args=1,
            max_args=UNLIMITED,
            options=(JSON,),
            examples=("tildone fleet schedule remove nightly",),
            aliases=("rm",),
        ),
    },
)
