"""`docs/reference/api.md`, generated from the signatures and docstrings of the names that `tildone` exports."""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import partial

import tildone
from tests.project.source import ROOT, modules

PAGE = ROOT / "docs" / "reference" / "api.md"
OPENING = """\
# API reference

Everything on this page is imported from `tildone`; names that are not listed may change in any release. Modules are
loaded when a name is first used, so `import tildone` takes almost no time. [Use tildone in your own
agent](../how-to/use-in-your-own-agent.md) shows the names at work. This page is generated from the docstrings by
`python3 do.py docs`.
"""
SECTIONS = {
    "Sessions and stores": "session_in Session Verdict store_at Store MemoryStore SqliteStore __version__",
    "Dialects": "BRIEF INDEXED PHASED DECLARED Dialect Tool Reply anthropic_tools openai_tools tool_instructions",
    "Continuing an agent": "Patience Turn Asks StopFingerprint Decision GoOn Rest RestReason GiveUp Bound Directive",
    "Plans": "Plan Phase Task Status flat open_tasks next_task",
    "Changes": "Write Append Insert Mark StartNext Move Rename Remove Note SetCheck Order Touch Outcome Actor Author",
    "Selectors": "Named Numbered At InPhase Everything",
    "Errors": "TildoneError UsageError Refused NotFound UnknownEvent UnknownNeed StoreError HeadMoved StoreBusy"
    " StoreDamaged StoreTooNew StoreUnreachable RunFenced",
}
STORES = {"MemoryStore", "SqliteStore"}
"""Their methods are those of `Store`."""

PARTS = {"Store": ("records", "Records")}
"""Attributes of classes, with the class in the same module whose methods are listed, too."""

MAX_COLUMNS = 100
_filled = partial(textwrap.fill, width=120, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """Return the whole page. A name that no section lists is at the end."""
    listed = {name for names in SECTIONS.values() for name in names.split()}
    others = " ".join(sorted(set(tildone.__all__) - listed))
    sections = SECTIONS | ({"Other names": others} if others else {})
    return OPENING + "".join(
        f"\n## {title}\n" + "".join(f"\n{_entry(name)}" for name in names.split()) for title, names in sections.items()
    )


def _entry(public_name: str) -> str:
    home, name = vars(tildone)["_HOME"][public_name]
    body = modules()[home].tree.body
    for node, following in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.FunctionDef() if node.name == name:
                return _section(public_name, signature(node), ast.get_docstring(node) or "")
            case ast.ClassDef() if node.name == name:
                members = [] if name in STORES else [*_members(node)]
                attribute, part = PARTS.get(name, ("", ""))
                for other in body:
                    if isinstance(other, ast.ClassDef) and other.name == part:
                        members += _members(other, f"{attribute}.")
                return _section(public_name, class_signature(node), ast.get_docstring(node) or "", *members)
            case ast.Assign(targets=[ast.Name(id=found)]) if found == name:
                is_union = isinstance(node.value, ast.BinOp)
                code = f"{public_name} = {ast.unparse(node.value)}" if is_union else ""
                text = _docstring_of(following) or ast.get_docstring(modules()[home].tree) or ""
                return _section(public_name, code, text)
            case _:
                pass
    raise AssertionError(f"{home} does not define {name}")


def _section(name: str, code: str, text: str, *members: str) -> str:
    assert text, f"{name} is public and has no docstring"
    block = f"```text\n{code}\n```\n\n" if code else ""
    listing = "\n" + "\n".join(members) + "\n" if members else ""
    return f"### `{name}`\n\n{block}{prose(text)}\n{listing}"


def _docstring_of(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""


def class_signature(node: ast.ClassDef) -> str:
    """Return a record with its fields, an enum with its members, an error with its base, or a call of the class."""
    bases = [ast.unparse(base) for base in node.bases]
    if "Enum" in bases:
        assigned = [ast.unparse(member.targets[0]) for member in node.body if isinstance(member, ast.Assign)]
        return "\n".join(f"{node.name}.{member}" for member in assigned if not member.startswith("_"))
    fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
    init = [found for found in node.body if isinstance(found, ast.FunctionDef) and found.name == "__init__"]
    if "Protocol" in bases:
        return f"class {node.name}(Protocol)"
    if init:
        return signature(init[0], node.name)
    if fields:
        return _wrapped(node.name, [ast.unparse(field) for field in fields], "")
    return f"class {node.name}({', '.join(bases)})" if bases else f"{node.name}()"


def signature(node: ast.FunctionDef, name: str = "", columns: int = MAX_COLUMNS) -> str:
    """Return the signature of a function, without `self`; that of `__init__` has the name of its class."""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not name else ""
    return _wrapped(name or node.name, _split(arguments), returns, columns)


def _split(arguments: str) -> list[str]:
    """Split arguments at the commas that are outside of brackets."""
    parts = re.split(r",(?![^\[\]()]*[\])])", arguments)
    return [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", part.strip()) for part in parts if part.strip()]


def _wrapped(name: str, arguments: list[str], returns: str, columns: int = MAX_COLUMNS) -> str:
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= columns:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returns}"


def _members(node: ast.ClassDef, prefix: str = "") -> Iterator[str]:
    """Yield a line for each documented public method and property, and for each documented member of an enum."""
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        match statement:
            case ast.FunctionDef() if not statement.name.startswith("_") and ast.get_docstring(statement):
                is_property = any(ast.unparse(decorator) == "property" for decorator in statement.decorator_list)
                shown = statement.name if is_property else signature(statement, columns=sys.maxsize)
                text = " ".join(_with_errors(ast.get_docstring(statement) or "").split())
                yield _filled(f"- `{prefix}{shown}`: {text}", subsequent_indent="  ")
            case ast.Assign(targets=[ast.Name(id=name)]) if text := _docstring_of(following):
                yield f"- `{name}`: {' '.join(text.split())}"
            case _:
                pass


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: an indented block is shown as it is, and errors become sentences."""
    paragraphs = _with_errors(docstring).split("\n\n")
    return "\n\n".join(
        f"```text\n{textwrap.dedent(paragraph)}\n```"
        if paragraph.startswith("    ")
        else _filled(" ".join(paragraph.split()))
        for paragraph in paragraphs
        if paragraph.strip()
    )


def _with_errors(docstring: str) -> str:
    text, _, raises = docstring.partition("\nRaises:\n")
    entries = re.findall(r"^ {4}(\w+): (.+(?:\n {5,}.+)*)", raises, re.MULTILINE)
    return text + "".join(f"\n\nRaises `{name}`: {' '.join(why.split())}" for name, why in entries)
