"""Completion in shells: the scripts that `tildone completion` prints, and `tildone complete-words`, which they call.

A script calls `complete-words` at every press of the Tab key. The first line of the output is `files` if file names are
candidates too, else `none`. Each following line is a candidate: for bash, the text to insert; for zsh and fish, the
text, a tab and its meaning. Candidates are texts of agents as well: no line contains a control character, and what bash
inserts is quoted. A store or a setting that cannot be read is not reported, and the exit code is 0: the person is
typing.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from tildone.agents.integrations import INTEGRATIONS, names_with_hooks
from tildone.app.opening import run_leases
from tildone.app.values import THEMES
from tildone.base import TildoneError, UsageError, nearest, replace, value
from tildone.base.ids import local_time
from tildone.cli.fleet.opening import fleet_settings
from tildone.cli.opening import open_to_read, settings_for, with_session
from tildone.cli.output import put
from tildone.cli.output.titles import titled_sessions
from tildone.cli.parsing import SHORT
from tildone.cli.run import MODES
from tildone.cli.table import UNLIMITED, Option, ParsedArgs, Verb
from tildone.cli.transfer.export import EXPORT_FORMATS
from tildone.fleet.drivers import AGENTS
from tildone.log.store import Store
from tildone.plan.dialects import DIALECTS
from tildone.plan.events import latest_state
from tildone.plan.formats.detection import FORMATS
from tildone.plan.history.refs import SHORT_ID_LENGTH, events_by_label
from tildone.plan.model import Plan, Status
from tildone.plan.text.safe import printable
from tildone.stores.leasing import RunLeases

Provider = Callable[[ParsedArgs, str], Iterable["Candidate"]]

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")
_QUOTES = "'\""
_ESCAPED_IN_DOUBLE_QUOTES = '\\"$`'


@value
class BashLine:
    """The words of a line up to the cursor, without their quotes; the last one is being completed.

    bash completes the text after the last word break, and inserts a completion as it is. `COMP_WORDBREAKS` contains `:`
    and `=` by default, so only the rest of `jsonl:FOLDER` or `--option=VALUE` is inserted. Inside an open quotation
    mark, nothing breaks words, and readline closes the quotation itself.

    `before_break` is the part of the last word up to its last word break; `quote` is a quotation mark that is open.
    """

    words: tuple[str, ...]
    before_break: str = ""
    quote: str = ""

    def insertion(self, completed: str) -> str:
        """What bash has to insert to complete the last word; empty if it cannot be inserted."""
        if self.quote == "'":
            return completed.replace("'", "'\\''")
        if self.quote:
            return "".join(_in_double_quotes(char) for char in completed)
        if not completed.startswith(self.before_break):
            return ""
        return "".join(map(_escaped, completed.removeprefix(self.before_break)))


def split_line(line: str, breaks: str) -> BashLine:
    """Split a line as bash does, up to quotes and backslashes; substitutions are left as they are written."""
    words: list[str] = []
    word: str | None = None
    before_break = quote = ""
    pending = iter(line)
    for char in pending:
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"':
                word = f"{word}{next(pending, '')}"
            else:
                word = f"{word}{char}"
        elif char in " \t\n":
            if word is not None:
                words.append(word)
            word, before_break = None, ""
        else:
            word = word or ""
            if char in _QUOTES:
                quote = char
            else:
                word += next(pending, "") if char == "\\" else char
                before_break = word if char in breaks else before_break
    return BashLine((*words, word or ""), before_break, quote)


def _escaped(char: str) -> str:
    return char if char in _SAFE or not char.isascii() else f"\\{char}"


def _in_double_quotes(char: str) -> str:
    if char == "!":
        # A backslash would not keep it from being a history expansion.
        return "\"'!'\""
    return f"\\{char}" if char in _ESCAPED_IN_DOUBLE_QUOTES else char


STORE_TIMEOUT_SECONDS = 0.5
MAX_EVENTS = 50
MAX_SESSIONS = 200
NUMBER_MARKS = "#[]"
SHELLS = ("bash", "zsh", "fish")


@value
class Candidate:
    text: str
    meaning: str = ""


def tasks(args: ParsedArgs, current: str) -> Iterable[Candidate]:
    """Numbers of tasks, or texts once letters are typed; after a text, no further task can follow."""
    if not all(_is_number(word) for word in args.positional):
        return
    plan = _plan(args)
    wants_open = args.verb.name in ("done", "start", "drop", "block")
    for task in plan.tasks:
        if wants_open and not task.status.is_open:
            continue
        if current and not _is_number(current):
            yield Candidate(task.text, f"#{task.number} {_word(task.status)}")
        else:
            mark = "#" if current.startswith("#") else ""
            yield Candidate(f"{mark}{task.number}", f"{task.text} ({_word(task.status)})")


def phases(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    for phase in _plan(args).phases:
        if phase.name:
            open_ones = sum(task.status.is_open for task in phase.tasks)
            yield Candidate(phase.name, f"{open_ones} of {len(phase.tasks)} tasks open")


def sessions(args: ParsedArgs, current: str) -> Iterable[Candidate]:
    """The titles of sessions, or their names where titles are not unique or names are being typed."""
    options = {name: given for name, given in args.options.items() if name != "session"}
    settings = settings_for(replace(args, options=options))
    found = titled_sessions(open_to_read(settings, STORE_TIMEOUT_SECONDS))[:MAX_SESSIONS]
    titles = [each.title for each in found]
    for each in found:
        if titles.count(each.title) == 1:
            yield Candidate(each.title, each.info.name)
        if current or titles.count(each.title) > 1:
            yield Candidate(each.info.name, each.title)


def events(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    store, session = _opened(args)
    yield from (Candidate("head", "the current state"), Candidate("root", "before the first change"))
    recent = list(islice(store.history(session), MAX_EVENTS))
    yield from (Candidate(label, "a label") for label in events_by_label(reversed(recent)))
    yield from (Candidate(event.id[:SHORT_ID_LENGTH], local_time(event.at)) for event in recent)


def modes(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    return map(Candidate, MODES)


def questions(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    store, _ = _opened(args)
    return (Candidate(need.id, need.text) for need in store.records.needs())


def answers(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    store, _ = _opened(args)
    return (
        Candidate(option) for need in store.records.needs() if need.id in args.positional for option in need.options
    )


def runs(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    states = {view.lease.run: view.lease.state.value for view in _leases(args).look()}
    return (Candidate(run, state) for run, state in states.items() if run not in args.positional)


_STORES = (Candidate("jsonl:", "a folder of session files"), Candidate("postgresql://", "a PostgreSQL database"))

PROVIDERS: dict[str, Provider] = {
    "AGENT": lambda args, _: (Candidate(name) for name in (*INTEGRATIONS, "all") if name not in args.positional),
    "AGENT_WITH_HOOKS": lambda *_: map(Candidate, names_with_hooks()),
    "ANSWER": answers,
    "DIALECT": lambda *_: (Candidate(name, ", ".join(entry.tools)) for name, entry in DIALECTS.entries.items()),
    "EVENT": events,
    "EXPORT_FORMAT": lambda *_: map(Candidate, EXPORT_FORMATS),
    "FLEET_AGENT": lambda *_: map(Candidate, AGENTS),
    "FORMAT": lambda *_: map(Candidate, FORMATS),
    "MODE": modes,
    "PHASE": phases,
    "QUESTION": questions,
    "RUN": runs,
    "SCHEDULE": lambda args, _: (Candidate(each.name, each.cron) for each in _leases(args).schedules()),
    "SCOPE": lambda *_: (
        Candidate("user", "all your projects"),
        Candidate("project", "this project, in files to share"),
    ),
    "SESSION": sessions,
    "SHELL": lambda *_: map(Candidate, SHELLS),
    "STATE": lambda *_: (
        Candidate("on", "all agents work on one plan"),
        Candidate("off", "each agent has a plan of its own"),
    ),
    "STATUS": lambda *_: (Candidate(status.value) for status in Status),
    "STORE": lambda *_: _STORES,
    "TASK": tasks,
    "THEME": lambda *_: map(Candidate, THEMES),
    "TO": lambda *_: _STORES,
    "TOOL": lambda *_: (Candidate(tool, name) for name, entry in DIALECTS.entries.items() for tool in entry.tools),
    "WORKER": lambda args, _: (Candidate(each.id, each.version) for each in _leases(args).workers()),
}
"""Where the values come from, by the words in capitals that help texts use."""


def _plan(args: ParsedArgs) -> Plan:
    store, session = _opened(args)
    return latest_state(store.history(session)).plan


def _leases(args: ParsedArgs) -> RunLeases:
    return run_leases(open_to_read(fleet_settings(args), STORE_TIMEOUT_SECONDS))


def _opened(args: ParsedArgs) -> tuple[Store, str]:
    settings = settings_for(args)
    store = open_to_read(settings, STORE_TIMEOUT_SECONDS)
    return store, with_session(args, settings, store).session


def _is_number(word: str) -> bool:
    return word.strip(NUMBER_MARKS).isdecimal() or word in NUMBER_MARKS


def _word(status: Status) -> str:
    return str(status.value).replace("_", " ")


FILES = frozenset({"FILE", "DIR", "PLAN", "TO", "STORE"})
"""Words for arguments that may be a file or a folder, which the shell completes itself."""

BY_OPTION = {
    "agent": "FLEET_AGENT",
    "agents": "FLEET_AGENT",
    "as": "EXPORT_FORMAT",
    "at": "EVENT",
    "dialect": "DIALECT",
    "into": "SESSION",
    "mode": "MODE",
    "phase": "PHASE",
    "scope": "SCOPE",
    "session": "SESSION",
    "status": "STATUS",
    "store": "STORE",
}
"""What an option takes whose metavar does not tell it."""

BY_VERB = {
    ("hook", "EVENT"): "",
    ("hook", "AGENT"): "AGENT_WITH_HOOKS",
    ("run", "TASK"): "",
    ("remove", "NAME"): "SCHEDULE",
}
"""Words that mean something else for one verb."""


@value
class Completions:
    """The candidates for the last word, and whether file names are candidates too."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False


@value
class _Position:
    """What is known of a command line before its last word. `awaiting` is an option whose value comes next."""

    args: ParsedArgs
    awaiting: Option | None = None
    options_ended: bool = False


def completions(root: Verb, words: Sequence[str]) -> Completions:
    """What can complete the last of `words`, which follow the name of the program."""
    *before, current = words or [""]
    at = _position(root, before)
    if at.awaiting is not None:
        return _of_kinds(_kinds_of_option(at, at.awaiting), at, current)
    if current.startswith("-") and not at.options_ended:
        return _options(at, current)
    verb = at.args.verb
    if at.options_ended and verb.takes_command:
        # A command of another program.
        return Completions(files=True)
    if "VERB" in verb.arguments and not verb.groups:
        # The arguments of help are verbs.
        above = _position(at.args.path[0], at.args.positional).args
        return Completions(() if above.positional else _matching(_verbs(above.verb, current), current))
    if verb.groups and not at.args.positional:
        return Completions(_matching(_verbs(verb, current), current))
    return _of_kinds(_kinds_of_argument(verb, len(at.args.positional)), at, current)


def _position(root: Verb, before: Sequence[str]) -> _Position:
    """Read the words before the last one as far as they can be understood."""
    path, positional, options = [root], list[str](), dict[str, str]()
    awaiting, ended = None, False
    for word in before:
        if awaiting is not None:
            options[awaiting.name], awaiting = word, None
        elif ended or not word.startswith("-") or word == "-":
            verb = None if positional else path[-1].verb(word)
            if verb is None:
                positional.append(word)
            else:
                path.append(verb)
        elif word == "--":
            ended = True
        else:
            name, equals, given = word.partition("=")
            option = _known_options(path).get(SHORT.get(name, name))
            if option is not None:
                awaiting = option if option.metavar and not equals else None
                options[option.name] = given
    return _Position(ParsedArgs(tuple(path), tuple(positional), options), awaiting, ended)


def _known_options(path: Sequence[Verb]) -> dict[str, Option]:
    return {f"--{option.name}": option for option in (*path[-1].options, *path[0].options)}


def _options(at: _Position, current: str) -> Completions:
    known = _known_options(at.args.path)
    name, equals, given = current.partition("=")
    if equals:
        option = known.get(name)
        found = _of_kinds(_kinds_of_option(at, option), at, given) if option else Completions()
        return Completions(tuple(Candidate(f"{name}={each.text}", each.meaning) for each in found.candidates))
    # The help of some options has placeholders, which are slow to fill.
    rows = (Candidate(name, "" if "{" in option.help else option.help) for name, option in known.items())
    return Completions(_matching(rows, current))


def _verbs(parent: Verb, current: str) -> Iterable[Candidate]:
    """The verbs below a verb; other names of a verb only if they are being typed."""
    for verb in parent.verbs:
        if not verb.hidden:
            yield Candidate(verb.name, verb.summary)
            yield from (Candidate(alias, verb.summary) for alias in verb.aliases if current)


def _kinds_of_option(at: _Position, option: Option) -> list[str]:
    if at.args.verb.name == "run" and option.name in ("session", "resume"):
        return ["FILE"]
    if option.name == "from":
        return ["STORE" if at.args.verb.name == "migrate" else "FORMAT"]
    return [BY_OPTION[option.name]] if option.name in BY_OPTION else _capitals(option.metavar)


def _kinds_of_argument(verb: Verb, index: int) -> list[str]:
    """The words in capitals that describe the positional argument at an index; the last one may be repeated."""
    slots = [slot for slot in verb.arguments.split() if slot.strip("[]…")]
    if index >= len(slots) and verb.max_args < UNLIMITED:
        return []
    slot = slots[min(index, len(slots) - 1)] if slots else ""
    kinds = [BY_VERB.get((verb.name, word), word) for word in _capitals(slot)]
    # Several tasks may be named by their numbers, but only one phase.
    return [kind for kind in kinds if kind != "PHASE" or not index or "TASK" not in kinds]


def _capitals(text: str) -> list[str]:
    letters = "".join(char if "A" <= char <= "Z" or char == "_" else " " for char in text)
    return [word for word in letters.split() if len(word) > 1]


def _of_kinds(kinds: Sequence[str], at: _Position, current: str) -> Completions:
    found = [each for kind in kinds if kind in PROVIDERS for each in PROVIDERS[kind](at.args, current)]
    return Completions(_matching(found, current), files=not FILES.isdisjoint(kinds))


def _matching(candidates: Iterable[Candidate], current: str) -> tuple[Candidate, ...]:
    """The candidates that begin with what was typed. One that could not be typed as it is shown is left out."""
    typed = current.casefold()
    fitting = (each for each in candidates if each.text.casefold().startswith(typed))
    return tuple(dict.fromkeys(each for each in fitting if each.text and printable(each.text) == each.text))


LISTING = "63"
"""The `COMP_TYPE` of bash when it lists the candidates and inserts nothing."""

MAX_MEANING_CHARACTERS = 60
MAX_NAME_COLUMNS = 24


def run_complete_words(args: ParsedArgs) -> int:
    shell, *words = args.positional
    try:
        lines = _bash_lines(args.path[0], words) if shell == "bash" else _described_lines(args.path[0], words)
    except (TildoneError, OSError, ValueError):
        lines = ["none"]
    put("\n".join(lines))
    return 0


def _described_lines(root: Verb, words: list[str]) -> list[str]:
    """The candidates for zsh and fish, which quote what they insert; an opening quotation mark is not part of it."""
    *before, current = words or [""]
    found = completions(root, [*before, current.lstrip("'\"")])
    return [_kind(found), *(f"{each.text}\t{_meaning(each.meaning)}" for each in found.candidates)]


def _bash_lines(root: Verb, words: list[str]) -> list[str]:
    """The candidates for bash: `words` are the line up to the cursor, the word breaks, and the kind of completion."""
    text, breaks, kind = (*words, "", "")[:3]
    line = split_line(text, breaks)
    found = completions(root, line.words[1:])
    candidates = [(line.insertion(each.text), each.meaning) for each in found.candidates]
    usable = [(insertion, meaning) for insertion, meaning in candidates if insertion]
    if found.files and not line.words[-1]:
        # bash completes file names only if there are no other candidates.
        return ["files"]
    if kind == LISTING and len(usable) > 1:
        width = min(MAX_NAME_COLUMNS, max(len(insertion) for insertion, _ in usable))
        return [_kind(found), *(f"{name.ljust(width)}  {_meaning(meaning)}".rstrip() for name, meaning in usable)]
    return [_kind(found), *(insertion for insertion, _ in usable)]


def _kind(found: Completions) -> str:
    return "files" if found.files else "none"


def _meaning(text: str) -> str:
    line = printable(text.partition("\n")[0])
    return line if len(line) <= MAX_MEANING_CHARACTERS else f"{line[: MAX_MEANING_CHARACTERS - 1]}…"


BASH = r"""# Completion of tildone for bash. Put this line into ~/.bashrc:
#     eval "$(tildone completion bash)"
_tildone() {
    local kind line program=tildone
    [[ $1 == */* && -x $1 ]] && program=$1
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done
    } < <("$program" complete-words bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "$COMP_TYPE" 2>/dev/null)
    [[ $kind == files ]] || compopt +o default 2>/dev/null
}
complete -o default -o nosort -F _tildone tildone 2>/dev/null || complete -o default -F _tildone tildone
"""

ZSH = r"""#compdef tildone
# Completion of tildone for zsh. Put this line into ~/.zshrc, after compinit:
#     eval "$(tildone completion zsh)"
_tildone() {
    local kind line program=tildone
    local -a values shown
    [[ $words[1] == */* && -x $words[1] ]] && program=$words[1]
    {
        IFS= read -r kind
        while IFS= read -r line; do
            values+=("${line%%$'\t'*}")
            shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
        done
    } < <("$program" complete-words zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#values )) && compadd -V tildone -l -d shown -a values
    [[ $kind == files ]] && _files
    (( $#values ))
}
if [[ $funcstack[1] == _tildone ]]; then
    _tildone "$@"
else
    compdef _tildone tildone
fi
"""

FISH = r"""# Completion of tildone for fish. Put this line into ~/.config/fish/config.fish:
#     tildone completion fish | source
function __tildone_complete
    set -l words (commandline -opc)
    set -l program tildone
    if string match -q '*/*' -- $words[1]; and test -x $words[1]
        set program $words[1]
    end
    set -e words[1]
    set -l current (commandline -ct)
    set -l bare (string unescape -- "$current")
    or set bare $current
    set -l lines ($program complete-words fish -- $words "$bare" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    end
    set -e lines[1]
    for line in $lines
        echo -- $line
    end
end
complete -c tildone -e
complete -c tildone -f -k -a '(__tildone_complete)'
"""

SCRIPTS = dict(zip(SHELLS, (BASH, ZSH, FISH), strict=True))


def run_completion(args: ParsedArgs) -> int:
    shell = args.positional[0]
    if shell not in SCRIPTS:
        raise UsageError(f"there is no completion for {shell!r}; {nearest(shell, SHELLS)}")
    put(SCRIPTS[shell].removesuffix("\n"))
    return 0
