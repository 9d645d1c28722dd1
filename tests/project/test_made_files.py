"""One module makes files and folders, so that their modes are decided in one place."""

import ast
from collections.abc import Iterator

from tests.project.source import PACKAGE, modules

MAKER = "base/private.py"
WRITING = set("wax+")
MAKING = {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "mkfifo", "mknod", "copy", "copy2", "copyfile"}
"""Methods of paths, and functions of `os` and `shutil`, that make files or folders."""

EXCEPTIONS = {
    "cli/__init__.py open": "the null device in place of a closed standard stream",
    "fleet/process_tree.py mkdir": "a control group is a folder of the kernel",
    "fleet/worktrees.py copy2": "to a folder of `tempfile`, which is private; the copy has to keep its time",
}


def test_only_one_module_makes_files_and_folders() -> None:
    trees = {module.path.relative_to(PACKAGE).as_posix(): module.tree for module in modules().values()}
    del trees[MAKER]
    found = {f"{name} {called}": line for name, tree in trees.items() for called, line in made_in(tree)}

    assert {where: line for where, line in found.items() if where not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) <= set(found)


MADE = """\
open(path, 'w')
open(path, mode='ab')
open(path, mode)
with open('x', 'r+b') as file: pass
os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
os.makedirs(path)
Path(path).write_text('')
path.touch()
shutil.copy(a, b)"""
OTHERS = """\
open(path)
open(path, 'rb')
open(path, encoding='utf-8')
os.fdopen(open_private(path, REPLACED), 'w')
os.open(path, os.O_RDONLY)
write_text(path, text)
attributes.touch(plan, 1)
data.copy()"""


def test_every_way_to_make_a_file_is_noticed() -> None:
    assert sorted(line for _, line in made_in(ast.parse(MADE))) == list(range(1, 10))
    assert list(made_in(ast.parse(OTHERS))) == []


def made_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield what is called to make a file or a folder, and in which line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open") if _writes(node):
                yield "open", node.lineno
            case ast.Attribute(value=ast.Name(id="os"), attr="open") if "O_CREAT" in ast.dump(node):
                yield "os.open", node.lineno
            case ast.Attribute(attr=name) if name in MAKING and _makes(node.func, node):
                yield name, node.lineno


def _writes(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
    return any(not isinstance(mode, ast.Constant) or bool(WRITING & set(str(mode.value))) for mode in modes)


def _makes(called: ast.Attribute, call: ast.Call) -> bool:
    """Whether it is not a method of another kind of the same name: a copy of data, or an edit of a plan."""
    if called.attr in ("copy", "copy2", "copyfile"):
        return isinstance(called.value, ast.Name) and called.value.id == "shutil"
    return called.attr != "touch" or not call.args
