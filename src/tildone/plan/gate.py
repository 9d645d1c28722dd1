"""Decide whether an agent that ended its turn is told to go on.

An agent that stops while its plan has actionable tasks is nudged: it is told to go on. This module has no side
effects; `decide` is a function of the session's state, the bounds (`Patience`) and the facts about the turn.

Guaranteed: every chain of nudges ends. Since a person last spoke there are at most `Patience.total` nudges, and none
after `Patience.hours`. A chain without progress (see `changing.progress_of`) ends sooner: each nudge adds one to
`drift`, which only progress or a person resets, so at most `Patience.drift` nudges follow the last progress, and none
comes later than `Patience.minutes` after the first of them. Two tighter bounds end hopeless chains: `nudges` counts
since the plan or the files last changed, `repeats` counts stops in a row at which nothing at all changed. Budgets, of
the whole plan and of the task in progress, apply as far as it is known what was used. A coding agent that itself limits
how often it goes on drops the nudge after the last one; the agent is let go before that. The person can pause or stop
the agent at any time.

The counts are part of the session's events, not of a process, so that a hook, which is a new process at each stop,
and a second process on the same session count the same nudges. A bound that is reached is recorded once, as
`Tripped`.
"""

from __future__ import annotations

from enum import Enum

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import Bound, Directive, Nudged, StopFingerprint, Tripped
from tildone.plan.model import Task, next_task, open_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tildone.plan.events import State


@value
class Tick:
    """A tick at `at` milliseconds with `left` seconds left. At 0, the agent is told to go on."""

    at: int
    left: int

    @property
    def fires(self) -> bool:
        return self.left == 0


def countdown(seconds: int = 3) -> tuple[Tick, ...]:
    """Return one tick per second, for a person to watch and interrupt; without a screen, only the last one matters."""
    return tuple(Tick((seconds - left) * 1000, left) for left in range(seconds, -1, -1))


MS_PER_MINUTE = 60_000
MS_PER_HOUR = 60 * MS_PER_MINUTE


class RestReason(Enum):
    """Why an agent is left alone."""

    NO_PLAN = "there is no plan"
    ABORTED = "the turn was interrupted"
    ALL_DONE = "nothing is left to do"
    ERRORED = "the turn ended with an error"
    BLOCKED = "what is left waits for somebody else"
    PAUSED = "the person wants it left alone"
    ASKED = "it asked the person something"
    BUSY = "something it started is still running"


@value
class Patience:
    """The bounds on a chain of nudges.

    `nudges` limits the nudges since the plan or the files last changed. `drift` limits the nudges since the last
    progress: it ends chains in which statuses or files keep changing without progress. `minutes` limits the duration of
    such a chain. `repeats` limits how many times in a row the agent may stop with the same message and the same files.
    `total` and `hours` limit the nudges since a person last spoke, whatever the agent does. `requests` limits the
    requests to the model in a run since then, and `idle_requests` those since the last progress. `cost`, in dollars,
    and `tokens` limit the conversations of all agents of the plan, as far as they are known. `task_cost`, `task_tokens`
    and `task_minutes` limit the task in progress, since it was started or a person last spoke. None means no limit.
    """

    nudges: int = 20
    drift: int = 60
    repeats: int = 3
    minutes: int = 240
    cost: float | None = None
    total: int = 1000
    hours: int = 168
    requests: int = 10_000
    idle_requests: int = 400
    tokens: int | None = None
    task_cost: float | None = None
    task_tokens: int | None = None
    task_minutes: int | None = None

    @property
    def has_budget(self) -> bool:
        """Whether there is a limit for the plan or for the task in progress."""
        return self.has_task_budget or self.has_plan_budget

    @property
    def has_plan_budget(self) -> bool:
        """Whether there is a limit for all agents of the plan together."""
        return (self.cost, self.tokens) != (None, None)

    @property
    def has_task_budget(self) -> bool:
        """Whether there is a limit for the task in progress."""
        return (self.task_cost, self.task_tokens, self.task_minutes) != (None, None, None)


@value
class Spent:
    """What the task in progress has taken: dollars, tokens and milliseconds, as far as they are known."""

    cost: float = 0
    tokens: int = 0
    ms: int = 0


@value
class Turn:
    """The facts about a turn that ended.

    `asked` means that its last message ends with a question to the person; `busy`, that something it started is still
    running. `cost` is what the agents of the plan have cost so far, in dollars, and `tokens` are those they have used;
    `task` is what the task in progress has taken. `at` is the current time, in milliseconds. `continued` is how often
    in a row the coding agent has gone on, as it counts, and `max_continued` is how often it does, if it has a limit.
    """

    aborted: bool = False
    errored: bool = False
    asked: bool = False
    busy: bool = False
    fingerprint: StopFingerprint = StopFingerprint()
    cost: float = 0
    at: int = 0
    tokens: int = 0
    task: Spent = Spent()
    continued: int = 0
    max_continued: int | None = None


@value
class Rest:
    """Leave the agent alone."""

    why: RestReason


@value
class GoOn:
    """Tell the agent to go on with a task: nudge `count` since the last change, after `repeats` equal stops."""

    position: int
    task: Task
    count: int = 1
    repeats: int = 0


@value
class GiveUp:
    """Let the agent stop although tasks are open, because a bound was reached."""

    bound: Bound
    limit: float


Decision = Rest | GoOn | GiveUp
"""What is decided when an agent ends its turn: leave it alone, continue it, or let it stop at a bound."""


@value
class Verdict:
    """The decision at the end of a turn, and the prompt for the agent, if it goes on."""

    decision: Decision
    prompt: str | None = None


def judge(
    state: State,
    patience: Patience,
    turn: Turn,
    prompt: Callable[[], str],
    complete: Callable[[Turn], Turn] = lambda turn: turn,
) -> tuple[Verdict, Nudged | Tripped | None]:
    """Return the verdict at the end of a turn, and the fact that records it: the nudge, or a bound that is new.

    `complete` returns the turn with what was used and changed, on which the decision depends unless the agent rests.
    """
    if reason_to_rest(state, turn) is None:
        turn = complete(turn)
    decision = decide(state, patience, turn)
    match decision:
        case GoOn(_, _, count, repeats):
            return Verdict(decision, prompt()), Nudged(count, state.drift + 1, turn.fingerprint, repeats)
        case GiveUp(bound, limit) if not state.tripped:
            return Verdict(decision), Tripped(bound, limit)
        case _:
            return Verdict(decision), None


def decide(state: State, patience: Patience, turn: Turn = Turn()) -> Decision:  # noqa: B008  frozen
    """Decide what to do after the agent ended its turn.

    The order of the checks is part of the contract: an interrupted agent is left alone even if a bound is reached, and
    a finished plan never reports that a bound was reached.
    """
    reason, upcoming = reason_to_rest(state, turn), next_task(state.plan)
    if reason is not None or upcoming is None:
        return Rest(reason or RestReason.ALL_DONE)
    nudges, repeats = _counts(state, turn.fingerprint)
    return _bound_reached(state, patience, turn, nudges, repeats) or GoOn(*upcoming, nudges + 1, repeats)


def reason_to_rest(state: State, turn: Turn) -> RestReason | None:
    """Return why the agent is left alone, for reasons other than a bound; None if it depends on the bounds."""
    if not state.plan.tasks:
        return RestReason.NO_PLAN
    if turn.aborted:
        return RestReason.ABORTED
    if next_task(state.plan) is None:
        return RestReason.BLOCKED if open_tasks(state.plan) else RestReason.ALL_DONE
    if state.directive is not Directive.GO:
        return RestReason.PAUSED
    if turn.errored:
        return RestReason.ERRORED
    if turn.busy:
        return RestReason.BUSY
    return RestReason.ASKED if turn.asked else None


def _counts(state: State, fingerprint: StopFingerprint) -> tuple[int, int]:
    """The number of nudges since the plan or the files last changed, and of stops in a row with this fingerprint."""
    last = state.fingerprint
    if fingerprint.files and last.files and fingerprint.files != last.files:
        return 0, 0
    is_same = fingerprint.message != "" and fingerprint == last
    return state.nudges, state.repeats + 1 if is_same else 0


def _bound_reached(state: State, patience: Patience, turn: Turn, nudges: int, repeats: int) -> GiveUp | None:
    if nudges >= patience.nudges:
        return GiveUp(Bound.NUDGES, patience.nudges)
    if state.drift >= patience.drift:
        return GiveUp(Bound.DRIFT, patience.drift)
    if repeats >= patience.repeats:
        return GiveUp(Bound.SAME, patience.repeats)
    if state.drift and turn.at - state.since >= patience.minutes * MS_PER_MINUTE:
        return GiveUp(Bound.TIME, patience.minutes)
    if state.ledger.continued >= patience.total:
        return GiveUp(Bound.TOTAL, patience.total)
    if state.ledger.began and turn.at - state.ledger.began >= patience.hours * MS_PER_HOUR:
        return GiveUp(Bound.HOURS, patience.hours)
    if turn.max_continued is not None and turn.continued >= turn.max_continued:
        return GiveUp(Bound.HOST, turn.max_continued)
    return budget_reached(patience, turn)


def budget_reached(patience: Patience, turn: Turn) -> GiveUp | None:
    budgets = (
        (Bound.COST, patience.cost, turn.cost),
        (Bound.TOKENS, patience.tokens, turn.tokens),
        (Bound.TASK_COST, patience.task_cost, turn.task.cost),
        (Bound.TASK_TOKENS, patience.task_tokens, turn.task.tokens),
        (Bound.TASK_TIME, patience.task_minutes, turn.task.ms // MS_PER_MINUTE),
    )
    return next((GiveUp(bound, limit) for bound, limit, used in budgets if limit is not None and used >= limit), None)


QUESTION_MARKS = "?？؟\u037e፧⁇⁈‽"
FULL_STOPS = ".!…。．！"

QUESTION_ENDINGS = ("か", "吗", "嗎", "까요", "나요")
"""Endings of questions in languages that often omit the question mark: Japanese, Chinese and Korean."""

REQUESTS = {
    "en": (
        "let me know which|let me know whether|let me know what|let me know how|let me know when|let me know where|"
        "let me know who|please confirm|please choose|please decide|please advise|please clarify|please tell me|"
        "please provide|awaiting your|waiting for your|i need your|i need you to"
    ),
    "de": "bitte bestätig|bitte wähl|bitte entscheid|sag mir|sagen sie mir|warte auf deine|warte auf ihre",
    "fr": "veuillez confirmer|merci de confirmer|dites-moi|dis-moi|j'attends votre|j'attends ta",
    "es": "por favor confirma|por favor, confirma|dime si|dime qué|dime cuál|dígame|espero tu|espero su",
    "pt": "por favor confirme|por favor, confirme|diga-me|me diga|aguardo sua|aguardo seu",
    "it": "per favore conferma|dimmi se|dimmi quale|fammi sapere se|fammi sapere quale|attendo la tua",
    "ru": "пожалуйста, подтвердите|скажите, как|дайте знать, как|жду вашего",
    "zh": "请确认|请选择|请决定|请告诉我|请提供|等待你的|等待您的",
    "ja": "教えてください|ご確認ください|お知らせください|ご指示ください|選んでください",
    "ko": "알려주세요|알려 주세요|확인해 주세요|선택해 주세요",
}
OFFERS = (
    "anything else|any questions|any other questions|any further questions|does that help|does this help|noch etwas|"
    "weitere fragen|autre chose|d'autres questions|algo más|alguna pregunta|mais alguma coisa|altro da|что-нибудь ещё|"
    "还有其他|还有什么|他に何か|다른 도움"
)

BULLETS = frozenset("-*+•|>")
FENCES = ("```", "~~~")
CJK_STOPS = "。！？"
MAX_ITEM_LABEL_LENGTH = 5
MAX_LINE_LENGTH = 2000

# No regular expressions: compiling them would exceed the time budget of a hook.


def ends_with_question(message: str) -> bool:
    """Return whether the message ends with a question, or with a question and a list of choices.

    A sentence is a question if it ends with a question mark or with an ending that marks questions in its language.
    Requests for a decision that are not questions are recognized by set phrases. An offer of further help is not a
    question, although it ends like one: an agent with tasks left does not wait for the answer.
    """
    return any(_is_question(sentence) for sentence in _last_sentences(_prose(message)))


def _prose(message: str) -> list[str]:
    """The lines that are neither empty nor in a code block."""
    lines, fence = [], ""
    for line in message.splitlines():
        start = line.strip()[:3]
        if fence:
            fence = "" if start == fence else fence
        elif start in FENCES:
            fence = start
        elif start:
            lines.append(line.strip())
    return lines


def _last_sentences(lines: list[str]) -> Iterator[str]:
    """The last sentence and, if it is in a list, also the last one before the list."""
    yield from map(_last_sentence, lines[-1:])
    items = 0
    while items < len(lines) and _is_item(lines[-1 - items]):
        items += 1
    if 0 < items < len(lines) and not lines[-1 - items].startswith("#"):
        yield _last_sentence(lines[-1 - items])


def _is_item(line: str) -> bool:
    label, space, _ = line.partition(" ")
    if not space or len(label) > MAX_ITEM_LABEL_LENGTH:
        return False
    name = label.strip("().")
    return label in BULLETS or (label.endswith((".", ")")) and (name.isdecimal() or len(name) == 1))


def _last_sentence(line: str) -> str:
    """The last sentence in the line that contains a letter or a digit. Only the end of a very long line is read."""
    line = line[-MAX_LINE_LENGTH:]
    sentences, begin = [], 0
    for index, char in enumerate(line):
        ends = char in CJK_STOPS or (char in FULL_STOPS + QUESTION_MARKS and line[index + 1 : index + 2].isspace())
        if ends or index == len(line) - 1:
            sentences.append(line[begin : index + 1])
            begin = index + 1
    return next((sentence for sentence in reversed(sentences) if any(char.isalnum() for char in sentence)), "")


def _is_question(sentence: str) -> bool:
    text = sentence.casefold().replace("’", "'")
    # Without quotes, brackets or emoji at the end.
    size = len(text)
    while size and not (text[size - 1].isalnum() or text[size - 1] in QUESTION_MARKS + FULL_STOPS):
        size -= 1
    end = text[:size]
    if end.endswith(tuple(QUESTION_MARKS)) or end.rstrip(FULL_STOPS).endswith(QUESTION_ENDINGS):
        return not _contains_any(text, OFFERS)
    return any(_contains_any(text, requests) for requests in REQUESTS.values())


def _contains_any(text: str, phrases: str) -> bool:
    return any(phrase in text for phrase in phrases.split("|"))
