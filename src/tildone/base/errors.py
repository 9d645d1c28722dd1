"""The errors that a caller or an operator has to act on.

    TildoneError            1
    ├── UsageError          2   invalid command line or setting
    ├── Refused             3   the request cannot be applied to this plan; also if a check did not pass
    ├── NotFound            4
    │   ├── UnknownEvent
    │   └── UnknownNeed
    └── StoreError          5   a store failed
        ├── RunFenced       6   the run has passed to another worker: stop
        ├── HeadMoved           another writer was faster: decide again
        ├── StoreBusy           locked for longer than the timeout
        ├── StoreUnreachable    its server does not answer; a later attempt may succeed
        ├── StoreDamaged        not a tildone store, or corrupt
        └── StoreTooNew         written by a newer tildone

The number is the exit code of a command that ends with that error. The other exit codes:

    0     success; `tildone hook` ends so after an error, too
    130   interrupted with Ctrl-C
    141   the reader of standard output ended early

`tildone help exit-codes` shows this table.
"""

MAX_SUGGESTIONS = 3
MAX_LISTED = 12
"""How many known words are listed if none is close to the unknown one."""

MIN_PREFIX = 2
MAX_ERRORS, CHARACTERS_PER_ERROR = 3, 3
"""Words are close if they differ by at most three typing errors, and by at most one in three characters."""

MAX_DIGITS, MAX_SHOWN = 15, 40
"""How many digits a number of a person may have, and how many characters of an invalid value are shown."""


class TildoneError(Exception):
    """An error that the caller or the operator has to act on."""

    exit_code = 1


class UsageError(TildoneError):
    """The command line or a setting is invalid."""

    exit_code = 2


class Refused(TildoneError):
    """The request cannot be applied to this plan; nothing changed. Surfaces may show `facts` beside the message."""

    exit_code = 3

    def __init__(self, *message: str, **facts: object) -> None:
        super().__init__(*message)
        self.facts = facts


class NotFound(TildoneError):
    """A named thing does not exist."""

    exit_code = 4


class UnknownEvent(NotFound):
    """The session has no event with that id."""


class UnknownNeed(NotFound):
    """The store has no question with that id."""


class StoreError(TildoneError):
    """A store failed."""

    exit_code = 5


class RunFenced(StoreError):
    """This process works for a run that has passed to another worker, or has ended. Nothing was changed."""

    exit_code = 6

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run} has passed to another worker or has ended; this process must stop")


class HeadMoved(StoreError):
    """The head is no longer the one that the writer read."""


class StoreBusy(StoreError):
    """Another process held the store's lock for longer than the timeout."""


class StoreUnreachable(StoreError):
    """The server of the store does not answer, or the connection to it was lost."""


class StoreDamaged(StoreError):
    """The file is not a tildone store, or it is corrupt."""


class StoreTooNew(StoreError):
    """The store was written by a newer tildone than this one."""


def shortened(given: str) -> str:
    """Return an invalid value as a message shows it: its beginning, if it is long."""
    return given if len(given) <= MAX_SHOWN else f"{given[:MAX_SHOWN]}…"


def nearest(word: str, known: tuple[str, ...], otherwise: str = "") -> str:
    """Return a hint for an unknown word: the closest known ones; if none is close, `otherwise` or a short list."""
    close = closest(word, known)
    if close:
        return did_you_mean(close)
    if otherwise or len(known) > MAX_LISTED:
        return otherwise or "see tildone --help"
    return f"known are {', '.join(known)}"


def did_you_mean(names: list[str]) -> str:
    """Return the suggestions as a question."""
    *others, last = map(repr, names)
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def closest(word: str, known: tuple[str, ...]) -> list[str]:
    """Return up to three known words that differ from `word` by a typing error or that it begins, closest first."""
    if len(word) > MAX_SHOWN:
        return []
    typed = word.lower().lstrip("-")
    ranked = []
    for name in known:
        bare = name.lower().lstrip("-")
        distance = _edit_distance(typed, bare)
        if len(typed) >= MIN_PREFIX and bare.startswith(typed):
            distance = min(distance, 1)
        if distance <= min(MAX_ERRORS, max(len(typed), len(bare)) // CHARACTERS_PER_ERROR):
            ranked.append((distance, name))
    least = min((distance for distance, _ in ranked), default=0)
    # Beside a word with a single typing error, others are unlikely.
    likely = [pair for pair in ranked if pair[0] <= (1 if least <= 1 else least + 1)]
    return [name for _, name in sorted(likely, key=lambda pair: pair[0])][:MAX_SUGGESTIONS]


def _edit_distance(one: str, other: str) -> int:
    """Return how many insertions, deletions, substitutions and swaps of neighbours separate two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, theirs in enumerate(other):
            cost = min(before[j] + (letter != theirs), before[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and theirs == one[i - 1]:
                cost = min(cost, earlier[j - 1] + 1)
            row.append(cost)
    return row[-1]
