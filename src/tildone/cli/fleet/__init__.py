"""The verbs of `tildone fleet`: plans that workers run, on one machine or on many."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import DRY_RUN, JSON, Group, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable


NOW = Option("now", "", "End the agent at once, in the middle of a task, on whichever machine it runs.")
QUESTION = Option("question", "ID", "Which question, if there are several; the beginning of its id is enough.")
ALL = Option("all", "", "Also runs that ended more than a day ago.")
RUNS_SHOWN = Option("limit", "N", "How many runs at most (default: 100; with --json, all).")
REPO = Option("repo", "PATH|URL", "The repository to work on; default: the one around the working folder.")
REF = Option("ref", "REF", "The branch, tag or commit to begin with.")
LABELS = Option("labels", "LABELS", "Labels that a worker must have, with commas between; repeatable.")
MODEL = Option("model", "SPEC", "The model of the agent, such as provider:name.")
ALLOW = Option("allow", "PATTERN", "Of the commands that a worker permits, only matching ones; repeatable.")
PRIORITY = Option("priority", "N", "Runs with a lower number are taken first (default: 0).")
RUN = "RUN is the name of a run, or the beginning of it."
HAND = f"{RUN} RUN/2 is its second hand, if several agents work on it."

SCHEDULES: VerbTable = Registry(
    __name__,
    "run",
    {
        "adding:list_schedules": Verb(
            "list",
            "List the plans that are run again and again.",
            options=(JSON,),
            examples=("tildone fleet schedule list",),
            aliases=("ls",),
        ),
        "adding:add_schedule": Verb(
            "add CRON PLAN",
            "Run a plan again and again, or change when.",
            description=(
                'CRON has five fields, as cron has them: minute, hour, day of the month, month, day of the week; "0 3 '
                '* * *" is every night at three. PLAN is a file. Its content is stored: change the schedule after you '
                "change the file. Workers queue the runs. However many times were missed, one run is queued; none "
                "while the last one has not ended."
            ),
            options=(
                Option("name", "NAME", "The name of the schedule; default: that of the file."),
                Option("zone", "ZONE", "The time zone of the times, such as Europe/Berlin (default: UTC)."),
                REPO,
                REF,
                Option("agent", "AGENT", "The agent that works on the plan; default: run with --model, else shell."),
                MODEL,
                LABELS,
                ALLOW,
                PRIORITY,
                JSON,
            ),
            examples=(
                'tildone fleet schedule add "0 3 * * *" nightly.md',
                'tildone fleet schedule add "30 8 * * mon-fri" triage.md --zone Europe/Berlin --agent claude',
            ),
        ),
        "adding:remove_schedules": Verb(
            "remove NAME…",
            "Do not run plans again. Runs that are queued stay.",
            options=(JSON,),
            examples=("tildone fleet schedule remove nightly",),
            aliases=("rm",),
        ),
    },
)

FLEET_VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "doctor:up": Verb(
            "up",
            "Prepare the store for a fleet, and check it.",
            description=(
                "Creates the tables that are missing, and stores the settings that all workers share. Then it checks "
                "the store and its workers. The exit code is 5 if there is a problem. Workers that run may go on."
            ),
            options=(
                Option("check", "", "Only check, and say what is missing; change nothing."),
                Option("lease", "SECONDS", "How long a run stays with a worker that is silent (default: 60)."),
                Option(
                    "limit",
                    "PROVIDER=RUNS[/REQUESTS]",
                    "How many runs may use a provider at once, and how many requests it gets a minute; 0 is no limit. "
                    "Repeatable.",
                ),
                Option(
                    "rebuild", "", "Add the runs that the logs of plans tell of and the list lacks: after a restore."
                ),
                JSON,
            ),
            examples=("tildone fleet up", "tildone fleet up --limit anthropic=4/50", "tildone fleet up --check"),
        ),
        "adding:add": Verb(
            "add PLAN…",
            "Queue plans, for workers to run.",
            description=(
                "PLAN is a file that tildone import reads, or the name of a session. All plans are queued, or none. A "
                "plan whose last run has not ended is refused. A file that was run before continues where it stopped. "
                "If the database cannot be reached, waits for it for 30 seconds; the exit code is 5 then.\n"
                "Agents: shell (runs the check of each task, without a model), run (tildone run), claude, codex, "
                "gemini, opencode, pi."
            ),
            options=(
                REPO,
                REF,
                Option("agent", "AGENT", "The agent that works on the plans; default: run with --model, else shell."),
                MODEL,
                LABELS,
                Option("hands", "N", "How many agents work on a plan at once (default: 1)."),
                ALLOW,
                PRIORITY,
                Option("restart", "", "Take the statuses of tasks from the file, also of those that were done."),
                JSON,
            ),
            examples=(
                "tildone fleet add a.md b.md",
                "tildone fleet add fix.md --repo git@example.org:app.git --agent claude",
                "tildone fleet add train.md --labels gpu,linux --hands 2",
            ),
        ),
        "work:work": Verb(
            "work",
            "Be a worker: take runs, and let agents work on them.",
            description=(
                "Each run gets a git worktree of its own. Only commands that --allow matches are run, whatever a plan "
                "says, and those that --ask matches once a person has approved them: tildone fleet approve. SIGTERM or "
                "Ctrl-C once: takes nothing more, and ends when the runs have ended; twice: stops the agents, and "
                "gives the runs back."
            ),
            options=(
                Option("slots", "N", "How many runs at once (default: 1)."),
                Option("labels", "LABELS", "What this worker offers, with commas between; repeatable."),
                Option("allow", "PATTERN", "Commands that may run, such as 'make *'; '*' is every one. Repeatable."),
                Option(
                    "ask",
                    "PATTERN",
                    "Commands that may run once a person has approved them; repeatable. Default: every one if the "
                    "store is a file, none if it is a server.",
                ),
                Option("no-ask", "", "Let persons approve nothing: what --allow does not match never runs."),
                Option("agents", "AGENTS", "Agents that may run here, with commas between (default: all)."),
                Option("retries", "N", "How often an attempt is repeated that has failed (default: 4)."),
                Option("until-idle", "", "End when no run that it could take is left."),
                Option("grace", "SECONDS", "How long an agent that is stopped has to end by itself (default: 10)."),
            ),
            examples=(
                "tildone fleet work --slots 2 --allow '*'",
                "tildone fleet work --labels gpu --agents claude,run",
            ),
        ),
        "lists:list_runs": Verb(
            "ls",
            "List the runs: state, worker, task, progress, cost, since when.",
            description=(
                "What waits for a person is first. Without --all, runs that have not ended, and those that ended "
                "within a day."
            ),
            options=(ALL, RUNS_SHOWN, JSON),
            examples=("tildone fleet ls", "tildone fleet ls --all --json"),
            aliases=("list",),
        ),
        "results:results": Verb(
            "results",
            "Show what has become of the runs: what needs you, what is done, and what failed and why.",
            description=(
                "What needs you is always shown: what failed, waits for an answer, or conflicts. Of the others, those "
                "that changed since a time: of a clock, such as 18:00, a date, or an age, such as 12h or 2d. The runs "
                "of a schedule are one row."
            ),
            options=(
                Option("since", "TIME", "Since when (default: 24h)."),
                Option("markdown", "", "As Markdown."),
                JSON,
            ),
            examples=("tildone fleet results --since 18:00", "tildone fleet results --markdown"),
        ),
        "lists:watch": Verb(
            "watch",
            "List the runs, live, until Ctrl-C.",
            description="With --json, prints an object on a line whenever something has changed.",
            options=(ALL, JSON),
            examples=("tildone fleet watch", "tildone fleet watch --json"),
        ),
        "lists:show": Verb(
            "show RUN",
            "Show a run: its plan, its questions, and what happened to it.",
            description=HAND,
            options=(JSON,),
            examples=("tildone fleet show docs-4f2a1c",),
        ),
        "transcripts:transcript": Verb(
            "transcript RUN[/N]",
            "Print what the agents of a run said and did.",
            description=(
                f"{HAND} It is printed on the machine whose worker ran the agent. Of a run that was tried several "
                "times, the newest attempt there is meant."
            ),
            options=(JSON,),
            examples=("tildone fleet transcript docs-4f2a1c", "tildone fleet transcript docs-4f2a1c/2 --json"),
        ),
        "lists:approve": Verb(
            "approve [RUN…]",
            "Permit the commands and checks that runs wait for.",
            description=(f"Without RUN, lists what waits for approval. {RUN} In the shell of an agent it is refused."),
            options=(
                QUESTION,
                Option("deny", "", "Do not permit it."),
                Option("reason", "TEXT", "With --deny: why, for the agent."),
                JSON,
            ),
            examples=(
                "tildone fleet approve",
                "tildone fleet approve docs-4f2a1c",
                "tildone fleet approve docs-4f2a1c --deny --reason 'use the test database'",
            ),
        ),
        "lists:answer": Verb(
            "answer [RUN [TEXT…]]",
            "Answer the question that a run waits for.",
            description=(
                f"Without TEXT, lists the open questions. {RUN} The words of TEXT are joined by spaces. In the shell "
                "of an agent it is refused."
            ),
            options=(QUESTION, JSON),
            examples=("tildone fleet answer", "tildone fleet answer docs-4f2a1c Use the second one"),
        ),
        "lists:cancel": Verb(
            "cancel RUN…",
            "End runs for good.",
            description=f"{RUN} A run that a worker has ends when its next task is done. Its branch and plan are kept.",
            options=(NOW, JSON),
            examples=("tildone fleet cancel docs-4f2a1c", "tildone fleet cancel docs-4f2a1c --now"),
        ),
        "lists:pause": Verb(
            "pause RUN…",
            "Let runs rest, until they are resumed.",
            description=f"{RUN} A run that a worker has rests when its next task is done. Its slot is free then.",
            options=(NOW, JSON),
            examples=("tildone fleet pause docs-4f2a1c",),
        ),
        "lists:resume": Verb(
            "resume RUN…",
            "Queue paused runs again.",
            description=f"{RUN} In the shell of an agent it is refused.",
            options=(JSON,),
            examples=("tildone fleet resume docs-4f2a1c",),
        ),
        "lists:retry": Verb(
            "retry RUN…",
            "Queue runs again that failed or were cancelled.",
            description=f"{RUN} It continues where the plan stands. In the shell of an agent it is refused.",
            options=(JSON,),
            examples=("tildone fleet retry docs-4f2a1c",),
        ),
        "schedule": Verb(
            "schedule [CRON PLAN | VERB …]",
            "Run a plan again and again, list such plans, or remove one.",
            description="With times as cron has them and a plan, the same as add. Without anything, they are listed.",
            options=(JSON,),
            examples=('tildone fleet schedule "0 3 * * *" nightly.md', "tildone fleet schedule remove nightly"),
            groups=(Group("", lambda: SCHEDULES),),
            default="list",
            for_text="add",
        ),
        "lists:drain": Verb(
            "drain [WORKER…]",
            "Let workers finish what they have, and end.",
            description="WORKER is an id, the beginning of one, or a machine. Without it, the workers are listed.",
            options=(Option("all", "", "All workers."), JSON),
            examples=("tildone fleet drain", "tildone fleet drain build-7", "tildone fleet drain --all"),
        ),
        "doctor:doctor": Verb(
            "doctor",
            "Find what is stuck, and why.",
            description=(
                "Looks for lapsed leases, runs that no worker can take, silent workers, and processes on this machine "
                "whose run has passed to another worker. Changes nothing. The exit code is 5 if the store has a "
                "problem, 1 if something else is wrong, such as queued runs without a worker."
            ),
            options=(JSON,),
            examples=("tildone fleet doctor", "tildone fleet doctor --json"),
        ),
        "doctor:gc": Verb(
            "gc",
            "Turn old runs into reports, and remove them from the list.",
            description=(
                "For each run that ended long ago, writes a Markdown report, and removes its row, its working tree on "
                "this machine and its checkpoints. Its plan and its branch are kept. Workers that were silent for as "
                "long are removed from the list, too."
            ),
            options=(
                Option("older-than", "AGE", "How long ago they ended: 30d, 12w, 6m, 1y (default: 30d)."),
                Option("reports", "DIR", "The folder of the reports; default: in the folder of tildone's own data."),
                DRY_RUN,
                JSON,
            ),
            examples=("tildone fleet gc --dry-run", "tildone fleet gc --older-than 7d"),
        ),
    },
)

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "fleet": Verb(
            "fleet [VERB …]",
            "Run many plans at once, on one machine or on many.",
            description=(
                "Plans are queued, and workers run them. The store has the queue: a SQLite file for the workers of one "
                "machine, a PostgreSQL database for those of many. Without a verb, the runs are listed."
            ),
            options=(ALL, RUNS_SHOWN, JSON),
            examples=(
                "tildone fleet up",
                "tildone fleet add a.md b.md",
                "tildone fleet work --slots 2 --allow '*'",
                "tildone fleet",
            ),
            groups=(Group("", lambda: FLEET_VERBS),),
            default="ls",
        ),
    },
)
