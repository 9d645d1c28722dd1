"""The conversation as a tree (F3): go to another branch, fork, label, and see the plan as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tildone.base import TildoneError, value
from tildone.base.ids import local_time
from tildone.base.keys import ALL_BINDINGS, KeyBindings
from tildone.plan.dialects import dialect_named, dialect_of_tool
from tildone.plan.model import Plan
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable
from tildone.plan.text.state import count_text, strip_spans
from tildone.plan.text.styles import Role, Span
from tildone.run.events import Entry, LabelEntry, MessageEntry
from tildone.run.messages import ToolResultMessage, UserMessage, text_of
from tildone.run.transcript import Conversations, Transcript
from tildone.screens.run import TREE_KEYS
from tildone.screens.watch.find_screen import Choice, FindScreen
from tildone.screens.widgets.keys import Line, Palette, spread
from tildone.screens.widgets.plan import PlanOptions, plan_rows
from tildone.screens.widgets.prompt import Prompt, first_key, key_bindings
from tildone.screens.widgets.rows import Lines, ListRow, RowList

HERE = "you are here"


@value
class TreeNode:
    """A message of the person. `tip` is the last entry before their next message; `is_here` if the leaf is there."""

    id: str
    parent: str | None
    text: str
    timestamp: int | None
    tip: str
    label: str = ""
    children: tuple[TreeNode, ...] = ()
    is_on_branch: bool = False
    is_here: bool = False


def conversation_tree(transcript: Transcript) -> tuple[TreeNode, ...]:
    """Return the first messages of a conversation, each with those that follow it; the branch in use comes last."""
    below: dict[str | None, list[Entry]] = {}
    for entry in transcript.entries:
        below.setdefault(entry.parent_id, []).append(entry)
    bodies = [entry.body for entry in transcript.entries]
    labels = {body.target_id: body.label or "" for body in bodies if isinstance(body, LabelEntry)}
    on_branch = {entry.id for entry in transcript.branch()}

    def nodes(parent: str | None) -> Iterator[TreeNode]:
        """The messages below an entry that follow no other message of the person."""
        stack = list(reversed(below.get(parent, ())))
        while stack:
            entry = stack.pop()
            if _person_text(entry) is None:
                stack += reversed(below.get(entry.id, ()))
                continue
            children = sorted(nodes(entry.id), key=lambda node: node.is_on_branch)
            is_on_branch = entry.id in on_branch
            yield TreeNode(
                entry.id,
                entry.parent_id,
                _person_text(entry) or "",
                entry.timestamp,
                _tip(entry, below, on_branch),
                labels.get(entry.id, ""),
                tuple(children),
                is_on_branch=is_on_branch,
                is_here=is_on_branch and not any(child.is_on_branch for child in children),
            )

    return tuple(sorted(nodes(None), key=lambda node: node.is_on_branch))


def tree_rows(
    roots: tuple[TreeNode, ...], plan_at: Callable[[str], Plan | None], when: Callable[[int | None], str], columns: int
) -> list[ListRow]:
    """Return the tree as rows: the branch in use is straight, others are to the right of where they leave it."""
    rows: list[ListRow] = []

    def add(node: TreeNode, lead: str) -> None:
        sign = Span("● ", Role.ACCENT) if node.is_here else Span("○ ", Role.DIM)
        here = Span(f"   {HERE}", Role.ACCENT, bold=True) if node.is_here else Span("")
        label = Span(f"  “{printable(node.label)}”" if node.label else "", Role.MUTED)
        text = Span(printable(node.text.strip().partition("\n")[0]), bold=node.is_here)
        line = (Span(f" {lead}", Role.DIM), sign, text, here, label)
        rows.append(ListRow(spread(line, (Span(f"  {when(node.timestamp)} ", Role.DIM),), columns), node.id))
        if not node.children:
            plan = plan_at(node.tip)
            end = (*strip_spans(plan, 24), Span(f"  {count_text(plan)}", Role.MUTED)) if plan and plan.tasks else ()
            rows.append(ListRow((Span(f" {lead}╰─ ", Role.DIM), *end)))
            return
        *others, last = node.children
        for other in others:
            rows.append(ListRow((Span(f" {lead}├─╮", Role.DIM),)))
            add(other, f"{lead}│ ")
        rows.extend([ListRow((Span(f" {lead}│", Role.DIM),))] if not others else [])
        add(last, lead)

    for root in roots:
        add(root, "")
    return rows


def plan_then(transcript: Transcript, entry_id: str) -> Plan | None:
    """Return the plan as it was after an entry; None if no result up to there contains one."""
    leaf = transcript.leaf
    transcript.move(entry_id)
    path = transcript.branch()
    transcript.move(leaf)
    for entry in reversed(path):
        message = entry.body.message if isinstance(entry.body, MessageEntry) else None
        name = dialect_of_tool(message.tool_name) if isinstance(message, ToolResultMessage) else None
        if name:
            return dialect_named(name).recover([each.record for each in path])
    return None


def _person_text(entry: Entry) -> str | None:
    body = entry.body
    if isinstance(body, MessageEntry) and isinstance(body.message, UserMessage):
        return text_of(body.message)
    return None


def _tip(entry: Entry, below: dict[str | None, list[Entry]], on_branch: set[str]) -> str:
    """The last entry of the answer to a message: on the branch in use if the message is, else the newest."""
    at = entry
    while True:
        following = [each for each in below.get(at.id, ()) if _person_text(each) is None]
        if not following:
            return at.id
        at = next((each for each in following if each.id in on_branch), following[-1])


MAX_LISTED = 200


@value
class ListedConversation:
    """A conversation: its file, what it is called, how many messages it has, when it was begun, and its text."""

    file: str
    title: str
    messages: int
    began: int
    searched: str


def list_conversations(conversations: Conversations) -> list[ListedConversation]:
    """Read the newest conversations, in a thread. A file that cannot be read is left out."""
    found: list[ListedConversation] = []
    try:
        for transcript in conversations.newest_first():
            messages = transcript.messages()
            said = [text_of(message) for message in messages if isinstance(message, UserMessage)]
            title = transcript.name or next((text.strip().partition("\n")[0] for text in said), "")
            began = next((entry.timestamp for entry in transcript.entries if entry.timestamp), 0) or 0
            if transcript.file and title:
                searched = " ".join([title, *said]).casefold()
                found.append(ListedConversation(transcript.file, title, len(messages), began, searched))
            if len(found) >= MAX_LISTED:
                break
    except (TildoneError, OSError):
        pass
    return found


def sessions_screen(found: list[ListedConversation], here: str | None, palette: Palette) -> FindScreen:
    """Return the list. It is dismissed with the file of the conversation that was chosen."""
    title = Span(" Conversations  ", bold=True), Span(f"{len(found)} in this folder", Role.MUTED)
    footer = (Span(" ↑↓ move  enter go on with it  type to find  esc back", Role.MUTED),)
    choices = [Choice(each.file, each.searched, partial(_line, each, is_here=each.file == here)) for each in found]

    def nothing(words: str) -> Line:
        return (Span("  Nothing matches." if words else "  No conversation to go back to.", Role.MUTED),)

    return FindScreen(palette, choices, title, nothing, footer)


def _line(each: ListedConversation, columns: int, *, is_here: bool) -> tuple[Span, ...]:
    when = local_time(each.began) if each.began else ""
    sign = Span("● ", Role.ACCENT) if is_here else Span("  ")
    right = (Span(f"  {each.messages} messages  {when} ", Role.DIM),)
    return spread((sign, Span(printable(each.title), bold=is_here)), right, columns)


MOVES = {"row.down": 1, "row.up": -1, "row.pageDown": 10, "row.pageUp": -10}
FORK_HINT = "A fork begins a new conversation from before this message; files stay as they are."


@value
class TreeChoice:
    """What the person chose: `go` to a message, `fork` before it, or `label` it."""

    what: str
    node: TreeNode
    label: str = ""


class TreeScreen(ModalScreen[TreeChoice | None]):
    DEFAULT_CSS = """
    TreeScreen { background: $background; }
    #tree-about { height: 3; }
    #prompt-field, #prompt-field:focus { background: $surface; color: $foreground; width: 1fr; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *key_bindings(TREE_KEYS),
        *(Binding(ALL_BINDINGS[name], f"move({rows})", show=False, id=name) for name, rows in MOVES.items()),
    ]

    def __init__(self, transcript: Transcript, palette: Palette, title: str, keys: KeyBindings = ALL_BINDINGS) -> None:
        super().__init__()
        self._transcript, self._title, self._keys = transcript, title, keys
        self._roots = conversation_tree(transcript)
        self._shows_plan = False
        self._plans: dict[str, Plan | None] = {}
        self._rows = RowList(palette, id="tree")
        self._texts = {name: Lines(palette, raised=True, id=f"tree-{name}") for name in ("title", "about", "footer")}
        self.prompt = Prompt(palette)

    def compose(self) -> ComposeResult:
        yield from (self._texts["title"], self._rows, self._texts["about"], self.prompt, self._texts["footer"])

    def on_mount(self) -> None:
        branches = sum(1 for node in _all(self._roots) if not node.children)
        about = f"{printable(self._title)} · {format_count(branches, 'branch', 'branches')}"
        self._texts["title"].show(lambda _: [(Span(" Conversation  ", bold=True), Span(about, Role.MUTED))])
        words = {"go": "go there", "fork": "fork", "label": "label", "plan": "plan then", "close": "back"}
        own = "  ".join(f"{first_key(self._keys, f'tree.{name}')} {word}" for name, word in words.items())
        keys = f" {first_key(self._keys, 'row.down')} {first_key(self._keys, 'row.up')} move  {own}"
        self._texts["footer"].show(lambda _: [(Span(keys, Role.MUTED),)])
        self._draw()
        here = next((node.id for node in _all(self._roots) if node.is_here), "")
        self._rows.select(here)
        self._rows.focus()

    def on_row_list_cursor_moved(self) -> None:
        self._draw()

    def action_move(self, rows: int) -> None:
        self._rows.action_move(rows)

    def action_close(self) -> None:
        if self._shows_plan:
            self._shows_plan = False
            self._draw()
        else:
            self.dismiss(None)

    def action_choose(self, what: str) -> None:
        node = self._node
        if node is not None:
            self.dismiss(TreeChoice(what, node))

    def action_label(self) -> None:
        node = self._node
        if node is not None:

            def labelled(text: str) -> None:
                self.dismiss(TreeChoice("label", node, text.strip()))

            self.prompt.ask("Label:", node.label, labelled, self._rows.focus)

    def action_plan(self) -> None:
        """Show the plan as it was after the message, or the tree again."""
        self._shows_plan = not self._shows_plan
        self._draw()

    @property
    def _node(self) -> TreeNode | None:
        return next((node for node in _all(self._roots) if node.id == self._rows.key), None)

    def _plan_at(self, entry_id: str) -> Plan | None:
        if entry_id not in self._plans:
            self._plans[entry_id] = plan_then(self._transcript, entry_id)
        return self._plans[entry_id]

    def _draw(self) -> None:
        node = self._node
        plan = self._plan_at(node.tip) if node else None
        count = f"plan {count_text(plan)}" if plan and plan.tasks else "no plan"
        lines: list[Line] = [(), (Span(f"  Here: {count}"),), (Span(f"  {FORK_HINT}", Role.DIM),)]
        self._texts["about"].show(lambda _: lines)
        if self._shows_plan and node is not None:
            shown = plan or Plan()
            key = node.id
            self._rows.show(
                lambda columns: [
                    ListRow((Span("  The plan as it was:", Role.DIM),), key),
                    *(ListRow(row.line) for row in plan_rows(shown, {}, PlanOptions(all_notes=True), 0, columns)),
                ]
            )
        else:
            self._rows.show(self._tree)

    def _tree(self, columns: int) -> list[ListRow]:
        rows = tree_rows(self._roots, self._plan_at, _when, columns)
        return rows or [ListRow((Span("  No conversation to go back to.", Role.MUTED),))]


def _all(nodes: tuple[TreeNode, ...]) -> list[TreeNode]:
    return [each for node in nodes for each in (node, *_all(node.children))]


def _when(milliseconds: int | None) -> str:
    return local_time(milliseconds, "%H:%M") if milliseconds else ""
