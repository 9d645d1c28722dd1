"""Verbs that run agents, connect coding agents to the plan, and steer them."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import DRY_RUN, JSON, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable

SCOPE = Option("scope", "SCOPE", "user (all your projects) or project (this one, in files to share).")
SHOW_LINES = Option("verbose", "", "Show the lines that are added to the files, and removed.")
FORM = "FILE.py or MODULE; after a colon, the function in it (default: extension). Repeatable."
NO_EXTENSIONS = Option("no-extensions", "", "Load no extensions but those of --extension.")
CODING_AGENTS = "Agents: {agents}; all means those that are found here."

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "run": Verb(
            "run [TASK|PLAN.md]",
            "Let an agent work through the plan.",
            description=(
                "Without an argument, works through this project's plan, the one that tildone todo shows, from where "
                "it stands. PLAN.md is a checklist that becomes the plan. TASK is a prompt for a model, which plans "
                "first; - reads it from standard input. Without a model, tildone itself runs the command in backticks "
                "at the end of each task. At a terminal you are asked to confirm each command and each change of a "
                "file, which is shown as a diff; elsewhere only commands that --allow matches run, and only files that "
                "--allow-write matches are changed. A pattern such as 'git diff *' matches word by word, and its last "
                "* any number of arguments, except those that run other programs or write other files: name these. "
                "'*' is every command, or every file in the working folder except in .git.\n"
                "Exit codes: 0 every task is done, 1 tasks are open or the work failed, 2 to 5 the run could not "
                "start, 130 interrupted by Ctrl-C, 143 ended by SIGTERM."
            ),
            options=(
                Option("model", "SPEC", "provider:name, or shell; default: $TILDONE_MODEL."),
                Option("mode", "MODE", "terminal, print (the last answer), json (events) or rpc."),
                Option("plain", "", "At a terminal, print line by line; without it, the screen is drawn (extra tui)."),
                Option("continue", "", "Continue the newest conversation of this folder, with its options."),
                Option("resume", "ID|FILE", "Continue this conversation, with its options."),
                Option("restart", "", "Take PLAN.md over again, even if the plan consists of its tasks."),
                Option("fork", "ENTRY", "Branch off at one of your messages."),
                Option("session-dir", "DIR", "The folder of the conversations; default: $TILDONE_SESSION_DIR."),
                Option("no-session", "", "Store neither the conversation nor changes of the plan."),
                Option("max-nudges", "N", "Limit of consecutive nudges without progress (default: 20)."),
                Option("allow", "PATTERN", "Run matching commands without asking ('git diff *'); repeatable."),
                Option("allow-write", "PATTERN", "Change matching files without asking ('src/*', '*'); repeatable."),
                Option("pass-env", "NAME", "Give commands this secret environment variable; repeatable."),
                Option("outside", "", "Allow reading and writing files outside the working folder."),
                Option("no-builtin-tools", "", "Disable the tools read, write, edit, bash and task."),
                Option(
                    "extension",
                    "FILE|MODULE",
                    f"Load this extension: {FORM} Not stored: name it again with --continue.",
                ),
                NO_EXTENSIONS,
            ),
            examples=(
                "tildone run",
                "tildone run examples/hello.md --allow '*'",
                'tildone run "Add a --version flag, with a test" --model anthropic:claude-sonnet-5-5',
                "tildone run --continue",
            ),
        ),
        "extensions": Verb(
            "extensions",
            "List the extensions of tildone run.",
            description=(
                "An extension adds tools, commands and event handlers to tildone run. They are provided by installed "
                "packages (entry points of the group tildone.extensions), and named by extensions = […] in settings "
                "files and by --extension. Each is loaded, so its code runs, and shown with its tools and commands, or "
                "with the error and its place. The exit code is 1 if one of them cannot be loaded."
            ),
            options=(Option("extension", "FILE|MODULE", f"List this one, too: {FORM}"), NO_EXTENSIONS, JSON),
            examples=("tildone extensions", "tildone extensions --extension counting.py --json"),
        ),
        "install:run_install": Verb(
            "install [AGENT …]",
            "Install the plan's tools and hooks into a coding agent.",
            description=(
                "Adds the MCP server and the hooks to the agent's own settings files, then starts both as the agent "
                "does, to check that they answer; the exit code is 1 if they do not. Everything else in the files "
                "stays as it is, and a copy is kept beside each. Without AGENT, lists the supported agents.\n"
                f"{CODING_AGENTS}"
            ),
            options=(
                SCOPE,
                DRY_RUN,
                SHOW_LINES,
                Option("no-hooks", "", "Install only the MCP server."),
                Option("no-mcp", "", "Install only the hooks; the agent's own todo list is mirrored."),
                Option("no-check", "", "Do not start what was installed."),
                Option("share", "", "Let all agents in this project work on one plan, like tildone share on."),
                Option("as-plugin", "DIR", "For claude: write a plugin folder instead."),
            ),
            examples=(
                "tildone install",
                "tildone install claude --dry-run",
                "tildone install codex gemini --scope project",
            ),
        ),
        "install:run_uninstall": Verb(
            "uninstall AGENT …",
            "Remove the plan's tools and hooks from a coding agent.",
            description=(
                "Settings files that nobody else has changed are restored exactly. Plans are kept. In the shell of an "
                f"agent it is refused.\n{CODING_AGENTS}"
            ),
            options=(SCOPE, DRY_RUN, SHOW_LINES),
            examples=("tildone uninstall claude",),
        ),
        "mcp": Verb(
            "mcp",
            "Serve the plan over the Model Context Protocol.",
            description=(
                "Agents start the server themselves and talk to it on standard input and output; with --http it "
                "listens for them. Each agent works on its own plan: the first in a project on the project's, every "
                "other on a plan of its own, unless --session names one for all. HTTP clients name it in the header "
                "Tildone-Session."
            ),
            options=(
                Option("dialect", "NAME", "{dialects} (default: {default_dialect})."),
                Option("http", "", "Serve many agents over HTTP."),
                Option("host", "HOST", "The address to listen on (default: 127.0.0.1)."),
                Option("port", "N", "The port to listen on (default: 8633); 0 chooses a free one."),
                Option("token-file", "FILE", "The token of the clients; default: $TILDONE_TOKEN, else generated."),
                Option("no-token", "", "Require no token; only on the loopback interface."),
            ),
            examples=("tildone mcp", "tildone mcp --http --port 8633"),
        ),
        "mcp:hook": Verb(
            "hook AGENT [EVENT]",
            "Answer a hook of a coding agent: keep the agent on its plan.",
            description=(
                "AGENT is one of {agents_with_hooks}. EVENT is the agent's own name "
                "for the event, needed unless the JSON on standard input has it. An agent that stops with tasks left "
                "is told to go on, within limits; after a restart it receives the plan again; it is told what "
                "others changed. On any error the exit code is 0 and the agent is not held up. Options follow AGENT."
            ),
            examples=(
                "tildone hook claude < event.json",
                "tildone hook cursor stop < event.json",
                "tildone hook claude StatusLine < status.json",
            ),
        ),
        "steering:pause": Verb(
            "pause",
            "Let the agents here rest at the end of their turn.",
            description="Applies to the agents of this project, now and later; with --session, to those on that plan.",
            examples=("tildone pause",),
        ),
        "steering:resume": Verb(
            "resume",
            "Keep the agents here on their plan again.",
            description="Use it after pause or stop, or after a limit was reached. All counters start again at 0.",
            examples=("tildone resume",),
        ),
        "steering:stop": Verb(
            "stop",
            "Make the agents here end their turn before the next tool call.",
            description="No process is killed. A new prompt does not lift it; tildone resume does.",
            examples=("tildone stop",),
        ),
        "answer": Verb(
            "answer [QUESTION] [ANSWER]",
            "List the questions that agents of tildone run wait for, and answer them.",
            description=(
                "While tildone run asks whether a command may run or a file may be changed, anybody with this "
                "store may answer: the first one counts. QUESTION is the id of the question, or its beginning. Without "
                "ANSWER, the question is shown whole. A no may give the model a reason: 'no: use rg instead'. Only a "
                "person can answer: in the shell of an agent the command is refused."
            ),
            options=(JSON,),
            examples=("tildone answer", "tildone answer 4f0c once", "tildone answer 4f0c 'no: use rg instead'"),
        ),
        "steering:run_share": Verb(
            "share [STATE]",
            "Let all agents in this project work on one plan.",
            description=(
                "STATE is on or off. Without sharing, the first agent in a project works on the project's plan, and "
                "every other one that is at work at the same time on a plan of its own. With sharing, all work on the "
                "project's plan. A task in progress belongs to the agent that started it until that agent ends: no "
                "other agent is held to it. Agents that are at work keep the plan they have. Without STATE, tells "
                "which applies here."
            ),
            options=(JSON,),
            examples=("tildone share on", "tildone share", "tildone share off"),
        ),
        "steering:status": Verb(
            "status",
            "Show the plan in one line, and the agents and subagents that work on it.",
            options=(Option("line", "", "Print only the line, for a status bar."), JSON),
            examples=("tildone status", "tildone status --line"),
        ),
        "screens:watch": Verb(
            "watch [SESSION]",
            "Watch the plans of all agents live, and edit them, in a full-screen view.",
            description=(
                "Lists all sessions of the store, those that need you first, and shows the plan of one of them: who "
                "works on what and since when, how often the agent was told to go on, and which bounds are left. "
                "Changes by others appear within a second. With SESSION, opens that plan. ? lists the keys, q leaves.\n"
                "Themes: dark, light, safe-dark and safe-light, which can be told apart with every kind of colour "
                "blindness, and terminal, which has the terminal's own colours. Without --theme, the setting theme "
                "decides; else terminal, if the terminal is not known to have all colours; else light or dark, by "
                "$COLORFGBG. With $NO_COLOR, there are no colours.\n"
                'Keys are changed in config.toml: keys."task.toggle" = "f6". ctrl+x lists the names of the actions.'
            ),
            options=(Option("theme", "THEME", "The colours: dark, light, safe-dark, safe-light or terminal."),),
            examples=("tildone watch", "tildone watch grammar-parser", "tildone watch --theme light"),
        ),
        "screens:board": Verb(
            "board [token [add|remove NAME]]",
            "Show the plans of all agents as web pages, live and editable.",
            description=(
                "Serves this machine and opens the browser, by a link that works once; over SSH, the link is printed "
                "only. If the board of this store runs already, makes a new link for it. Ctrl-C ends it.\n"
                "For a team, each person gets a token (tildone board token add NAME), or a proxy signs them in and "
                "names them in a header; the history says who changed what. tildone board token lists the tokens. "
                "Other machines can only be served with either."
            ),
            options=(
                Option("host", "HOST", "The address to listen on (default: 127.0.0.1)."),
                Option("port", "N", "The port (default: the first free one from 4747 on); 0 chooses any."),
                Option("no-open", "", "Print the link, and open no browser."),
                Option("read-only", "", "Allow no changes from the board."),
                Option("new-key", "", "Sign everybody out first, and make all links invalid."),
                Option("base-path", "PATH", "The path before all addresses, such as /plans, behind a proxy."),
                Option("public-url", "URL", "The address behind a proxy, such as https://plans.example.org."),
                Option("trusted-proxy", "ADDRESS", "Believe the headers of this proxy; repeatable."),
                Option("user-header", "NAME", "The header in which the proxy names the person."),
                Option("metrics", "", "With token: those that may read /metrics, and nothing else."),
                JSON,
            ),
            examples=("tildone board", "tildone board --read-only --port 8080", "tildone board token add Mara"),
        ),
    },
)
