"""The conversation as a tree (F3): go to another branch, fork, label, and see the plan as it was."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tildone.core.plan import Plan
from tildone.host.transcript import Transcript
from tildone.ids import local_time
from tildone.kit.formatting import format_count
from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.kit.theme import Role, Span
from tildone.tui.palette import Palette
from tildone.tui.plan_rows import PlanOptions, plan_rows
from tildone.tui.prompt import Prompt
from tildone.tui.row_list import Line, Lines, ListRow, RowList
from tildone.tui.run.conversation_tree import TreeNode, conversation_tree, find_node, plan_then, tree_rows
from tildone.tui.run.keys import TREE_KEYS
from tildone.tui.screen_keys import first_key, key_bindings
from tildone.value import value
from tildone.views.sanitize import printable
from tildone.views.strip import count_text

MOVES = {"row.down": 1, "row.up": -1, "row.pageDown": 10, "row.pageUp": -10}
FORK_HINT = "A fork begins a new conversation from before this message; files stay as they are."


@value
class TreeChoice:
    """What the person chose: `go` to a message, `fork` before it, or `label` it."""

    what: str
    node: TreeNode
    label: str = ""


class TreeScreen(ModalScreen[TreeChoice | None]):
    """The tree of one conversation."""

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
            self.prompt.ask("Label:", node.label, lambda text: self._labelled(node, text), self._rows.focus)

    def action_plan(self) -> None:
        """Show the plan as it was after the message, or the tree again."""
        self._shows_plan = not self._shows_plan
        self._draw()

    def _labelled(self, node: TreeNode, text: str) -> None:
        self.dismiss(TreeChoice("label", node, text.strip()))

    @property
    def _node(self) -> TreeNode | None:
        return find_node(self._roots, self._rows.key)

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
