"""The tree of a conversation: the person's messages, and which of them branch off where."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tildone.core.plan import Plan
from tildone.dialects import dialect_named, dialect_of_tool
from tildone.host.entries import Entry, LabelEntry, MessageEntry
from tildone.host.messages import ToolResultMessage, UserMessage, text_of
from tildone.host.transcript import Transcript
from tildone.kit.theme import Role, Span
from tildone.tui.painting import spread
from tildone.tui.row_list import ListRow
from tildone.value import value
from tildone.views.sanitize import printable
from tildone.views.strip import count_text, strip_spans

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


def find_node(roots: tuple[TreeNode, ...], entry_id: str) -> TreeNode | None:
    for node in roots:
        found = node if node.id == entry_id else find_node(node.children, entry_id)
        if found is not None:
            return found
    return None


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
