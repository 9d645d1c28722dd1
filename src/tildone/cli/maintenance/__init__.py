"""Verbs that inspect and maintain the store."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import DRY_RUN, FORCE, JSON, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable


VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "sessions": Verb(
            "sessions",
            "List the sessions in the store.",
            description=(
                "Each line shows the title, the closed and all tasks, the time of the last change and the name. "
                "--session takes the name, the title, or the beginning of either."
            ),
            options=(JSON,),
            examples=("tildone sessions", "tildone todo --session another-project"),
        ),
        "doctor": Verb(
            "doctor [AGENT …]",
            "Check the installation and the store, and suggest remedies.",
            description=(
                "Checks the program and its extras, settings and their origin, the project's plan, the store and its "
                "contents, permissions, free space, and other processes that have the store open. In each coding "
                "agent, starts what is installed as the agent does, and finds settings that disable it. Changes "
                "nothing without --fix. With AGENT, checks only these coding agents. The exit code is 5 if there is a "
                "problem."
            ),
            options=(
                Option("fix", "", "Take access to tildone's own files away from other users: modes 700 and 600."),
                JSON,
            ),
            examples=(
                "tildone doctor",
                "tildone doctor claude",
                "tildone doctor --store backups/tildone-20261115-120000.db",
            ),
        ),
        "trust": Verb(
            "trust [PLAN.md]",
            "Let the settings file of this project apply, or the checks of a plan file run.",
            description=(
                "tildone.toml in a project comes with its repository, so somebody else may have written it. Until you "
                "trust it, it can only choose a dialect and lower bounds. Shows what it sets and asks. The file is "
                "trusted with exactly this content; after a change, it has to be trusted again. So are the files of "
                "extensions that it names, which tildone run then runs: read them first. Bounds in your own "
                "config.toml are never raised by it. With PLAN.md, a Markdown plan: lists the checks that it carries, "
                "each with the exact arguments of its command and its folder, and asks. They may then run in this "
                "project; a check that is changed or added in the file later has to be trusted again."
            ),
            options=(
                Option("revoke", "", "Take the trust back, and with PLAN.md the approval of its checks."),
                Option("yes", "", "Do not ask for confirmation."),
                JSON,
            ),
            examples=("tildone trust", "tildone trust --revoke", "tildone trust PLAN.md"),
        ),
        "backup:run_backup": Verb(
            "backup [FILE]",
            "Write every session to one file.",
            description=(
                "FILE is a SQLite database, whatever the kind of the store; by default a dated file in the folder "
                "`backups` beside the store; - is standard output. It is compared with the store before it gets its "
                "name. Agents may continue to work meanwhile. To check a backup: tildone doctor --store FILE"
            ),
            options=(FORCE, JSON),
            examples=("tildone backup", "tildone backup /media/usb/plans.db", "tildone backup - | gzip > plans.db.gz"),
        ),
        "backup:run_restore": Verb(
            "restore FILE",
            "Restore the sessions of a backup.",
            description=(
                "FILE is a backup; - is standard input. Nothing is lost: each session returns to its state in the "
                "backup, and later changes stay on another branch. Sessions that are not in the backup are left "
                "unchanged. A damaged store is renamed, not overwritten."
            ),
            options=(Option("session", "NAME", "Restore only this session."), DRY_RUN, JSON),
            examples=("tildone restore plans.db --dry-run", "tildone restore plans.db --session /path/to/project"),
        ),
        "sessions:run_prune": Verb(
            "prune",
            "Delete sessions that have not changed for a long time.",
            description=(
                "Lists them and asks for confirmation. They are deleted permanently, with their history: make a "
                "backup first. Sessions with open tasks are kept unless --open is given; so are sessions that change "
                "in the meantime."
            ),
            options=(
                Option("older-than", "AGE", "Time since the last change: 90d, 12w, 6m (of 30 days), 1y."),
                Option("open", "", "Include sessions with open tasks."),
                DRY_RUN,
                Option("yes", "", "Do not ask for confirmation."),
                JSON,
            ),
            examples=("tildone prune --older-than 90d --dry-run", "tildone prune --older-than 1y --open --yes"),
        ),
        "backup:run_migrate": Verb(
            "migrate TO",
            "Copy every session to another store.",
            description=(
                "TO is {stores}. Both stores are compared at the end. Events that TO already has are kept; rerun the "
                "command to copy what is missing. The source is not changed."
            ),
            options=(Option("from", "STORE", "Copy this store instead of the one in use."), JSON),
            examples=("tildone migrate postgresql://localhost/plans", "tildone migrate plans.db --from jsonl:sessions"),
        ),
    },
)
