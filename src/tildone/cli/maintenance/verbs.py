"""The verbs that look after the store and what is in it."""

from tildone.cli.parsing.args import Option, Verb
from tildone.cli.parsing.options import FORCE, JSON
from tildone.stores import placeholders

SESSIONS = Verb(
    "sessions",
    "",
    "list the sessions in the store",
    run="maintenance.sessions.sessions",
    options=(JSON,),
    examples=("tildone sessions", "tildone todo --session /path/to/another/project"),
)

DOCTOR = Verb(
    "doctor",
    "",
    "see whether all is well, and what to do if not",
    run="maintenance.doctor.doctor",
    about=(
        "Looks at versions, settings and where they come from, the store and everything in it, permissions, free\n"
        "space, and who else has the store open. Changes nothing. The exit code is 5 when something is bad."
    ),
    options=(JSON,),
    examples=("tildone doctor", "tildone doctor --store backups/tildone-20261115-120000.db"),
)
BACKUP = Verb(
    "backup",
    "[FILE]",
    "write every session to one file",
    run="maintenance.backup.backup",
    most=1,
    about=(
        "FILE is a SQLite database whatever the store is; unless named, it goes to a folder `backups` beside the\n"
        "store, with the date in its name. It is compared with the store before it is there, and needs no care:\n"
        "agents may go on meanwhile. To check one: tildone doctor --store FILE"
    ),
    options=(FORCE,),
    examples=("tildone backup", "tildone backup /media/usb/plans.db"),
)
RESTORE = Verb(
    "restore",
    "FILE",
    "put the sessions of a backup back",
    run="maintenance.restore.restore",
    least=1,
    most=1,
    about=(
        "Nothing is lost: each session stands where it stood in the backup, and what came after is another branch.\n"
        "Sessions that are not in the backup stay as they are. A store that is damaged is moved aside."
    ),
    options=(
        Option("session", "NAME", "only this session"),
        Option("dry-run", "", "only say what would change"),
    ),
    examples=("tildone restore plans.db --dry-run", "tildone restore plans.db --session /path/to/project"),
)
PRUNE = Verb(
    "prune",
    "",
    "remove sessions that nobody has written to for long",
    run="maintenance.prune.prune",
    about=(
        "Shows them and asks. They are removed for good, with their history: make a backup first. Sessions with\n"
        "open tasks are left unless you say --open, and so is one that somebody has gone back to meanwhile."
    ),
    options=(
        Option("older-than", "SPAN", "how long ago they were last written to: 90d, 12w, 6m (of 30 days), 1y"),
        Option("open", "", "those with open tasks, too"),
        Option("dry-run", "", "only show them"),
        Option("yes", "", "do not ask"),
        JSON,
    ),
    examples=("tildone prune --older-than 90d --dry-run", "tildone prune --older-than 1y --open --yes"),
)
MIGRATE = Verb(
    "migrate",
    "TO",
    "copy every session to another store",
    run="maintenance.migrate.migrate",
    least=1,
    most=1,
    about=(
        f"TO is {placeholders()}. Both sides are compared when\n"
        "all is there. What TO has already stays; given again, the command brings what is missing. The store that is\n"
        "copied is left as it is."
    ),
    options=(Option("from", "STORE", "copy this one instead of the one in use"),),
    examples=("tildone migrate postgresql://localhost/plans", "tildone migrate plans.db --from jsonl:sessions"),
)

VERBS = (SESSIONS, DOCTOR, BACKUP, RESTORE, PRUNE, MIGRATE)
