"""This copy of tildone: how it was installed, how to call it, and how to add packages to it.

Hints are built from these functions, so that the command in a hint works for the copy that prints it:

    program()                 tildone, or a path if a shell would not find this copy under that name
    install_extra("run")      uv tool install 'tildone[mcp,run]'
    install_package("boto3")  pipx inject tildone boto3
    upgrade()                 /home/me/.venv/bin/python -m pip install --upgrade tildone

The module imports almost nothing: commands import it to phrase a hint, and must start fast.
"""

from __future__ import annotations

import os
import sys

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "tildone"
EXTRAS = {"mcp": "mcp", "run": "pydantic_ai", "postgres": "psycopg", "tui": "textual", "web": "starlette"}
"""The optional dependencies, each with a package that it installs."""

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_~")


class Method:
    """The methods of installation, as a sentence names them. Not an `Enum`: importing `enum` is slow."""

    UV_TOOL = "uv tool"
    UVX = "uvx"
    PIPX = "pipx"
    PIPX_RUN = "pipx run"
    CHECKOUT = "do.py in a source checkout"
    VENV = "pip in a virtual environment"
    USER = "pip --user"
    SYSTEM = "pip in the system's Python"

    TEMPORARY = (UVX, PIPX_RUN)
    """These install into a cache, which may be deleted at any time."""

    BY_PIP = (VENV, USER, SYSTEM)


def method() -> str:
    """Return how this copy was installed."""
    folder = os.path.dirname(os.path.realpath(sys.prefix))
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return Method.UV_TOOL
    if os.path.basename(folder).startswith("archive-v"):
        return Method.UVX
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return Method.PIPX if os.path.basename(folder) == "venvs" else Method.PIPX_RUN
    if checkout() is not None:
        return Method.CHECKOUT
    if sys.prefix != sys.base_prefix:
        return Method.VENV
    return Method.USER if _in_user_site() else Method.SYSTEM


def checkout() -> str | None:
    """Return the root of the source checkout whose `do.py` set up this copy; None if none did."""
    root = _sources()
    return root if root and os.path.realpath(sys.prefix).startswith(os.path.join(root, "")) else None


def _sources() -> str:
    """Return the root of the source checkout that this copy runs from; empty if there is none."""
    root = os.path.realpath(__file__)
    for _ in range(4):
        root = os.path.dirname(root)
    return root if os.path.exists(os.path.join(root, "do.py")) else ""


def script() -> str | None:
    """Return the absolute path of the `tildone` command of this copy; None if it has none."""
    return next((path for path in _scripts() if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def program() -> str:
    """Return how to call this copy in a hint, quoted for a shell: `tildone` if a shell finds this copy by that name."""
    own = script()
    if own is None:
        return f"{quoted(sys.executable)} -m {NAME}"
    found = on_path(NAME)
    return NAME if found is not None and _same_program(found, own) else quoted(own)


def install_extra(extra: str) -> str:
    """Return the command that adds an optional dependency to this copy."""
    how = method()
    if how == Method.CHECKOUT:
        return f"python3 {quoted(os.path.join(checkout() or '', 'do.py'))} setup"
    # uv installs a tool anew, with what the command names and nothing else.
    kept = _installed_extras() if how == Method.UV_TOOL else set()
    if how in Method.BY_PIP and _direct() is None and _sources():
        # Nothing is installed under the name, and an index need not have it.
        return _pip(f"-e {quoted(f'{_sources()}[{extra}]')}")
    return _command_with({extra, *kept}) or install_package(f"{NAME}[{extra}]")


def install_package(requirement: str) -> str:
    """Return the command that adds a package to the environment of this copy."""
    if method() == Method.PIPX:
        return f"pipx inject {NAME} {quoted(requirement)}"
    return _command_with(_installed_extras(), "--with", quoted(requirement)) or _pip(quoted(requirement))


def _command_with(extras: set[str], *added: str) -> str:
    """Return the command that installs or runs this copy again, with these extras; empty if pip or pipx adds them."""
    begin = {Method.UV_TOOL: "uv tool install", Method.UVX: "uvx --from", Method.PIPX_RUN: "pipx run --spec"}
    how = method()
    if how not in begin:
        return ""
    others = [*_with(), *added] if how == Method.UV_TOOL else [*added, NAME]
    return " ".join([begin[how], quoted(_requirement(extras)), *others])


def upgrade() -> str:
    """Return the command that upgrades this copy, from where it came."""
    how, source = method(), _requirement(set(), pinned=False)
    is_named = source == NAME
    match how:
        case Method.UV_TOOL:
            return f"uv tool upgrade {NAME}"
        case Method.UVX:
            return f"uvx {NAME}@latest" if is_named else f"uvx --refresh --from {quoted(source)} {NAME}"
        case Method.PIPX:
            return f"pipx upgrade {NAME}"
        case Method.PIPX_RUN:
            return f"pipx run --no-cache {NAME if is_named else f'--spec {quoted(source)} {NAME}'}"
        case Method.CHECKOUT:
            root = checkout() or ""
            return f"git -C {quoted(root)} pull && python3 {quoted(os.path.join(root, 'do.py'))} setup"
    folder = _folder() or (_sources() if _direct() is None else "")
    if not folder:
        return _pip(f"--upgrade {quoted(source)}")
    pull = f"git -C {quoted(folder)} pull"
    return pull if folder == _sources() else f"{pull} && {_pip(quoted(folder))}"


def install_permanently() -> str:
    """Return the command that installs a temporary copy for good."""
    tool = "pipx install" if method() == Method.PIPX_RUN else "uv tool install"
    return f"{tool} {quoted(_requirement(set()))}"


def install_anywhere() -> str:
    """Return how somebody else can install a copy, on another machine, as the end of a sentence."""
    if _folder() or _direct() is None:
        return "in a checkout, by: uv tool install ."
    return f"by: uv tool install {quoted(_requirement(set(), pinned=False))}"


def has_extra(extra: str) -> bool:
    """Return whether an optional dependency is installed."""
    # Late, because only few hints need it.
    from importlib.util import find_spec

    return find_spec(EXTRAS[extra]) is not None


def on_path(name: str) -> str | None:
    """Return the program that a shell runs for a name. `shutil.which` does the same, but importing it is slow."""
    endings = (".exe", ".cmd", ".bat") if sys.platform == "win32" else ("",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for ending in endings:
            path = os.path.join(folder or os.curdir, name + ending)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return os.path.abspath(path)
    return None


def quoted(word: str) -> str:
    """Quote a word for the platform's shell if it needs that. Not `shlex.quote`: importing `shlex` is slow."""
    if word and _SAFE.issuperset(word):
        return word
    if sys.platform == "win32":
        return f'"{word}"' if not word or " " in word else word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _scripts() -> Iterator[str]:
    """Yield the places where the command of this copy may be, the most certain first."""
    name = f"{NAME}.exe" if sys.platform == "win32" else NAME
    invoked = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.splitext(os.path.basename(invoked))[0] == NAME:
        yield invoked
        yield f"{invoked}.exe"
    yield os.path.join(os.path.dirname(sys.executable), name)
    if sys.prefix == sys.base_prefix:
        # Not imported: the interpreter imports it at its start, or was told not to.
        base = getattr(sys.modules.get("site"), "USER_BASE", None)
        if base and _in_user_site():
            yield os.path.join(base, "Scripts" if sys.platform == "win32" else "bin", name)
        yield os.path.join(sys.prefix, "Scripts" if sys.platform == "win32" else "bin", name)


def _same_program(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _in_user_site() -> bool:
    folder = getattr(sys.modules.get("site"), "USER_SITE", None)
    if not folder:
        return False
    return os.path.realpath(__file__).startswith(os.path.join(os.path.realpath(folder), ""))


def _pip(arguments: str) -> str:
    """Return the command that runs pip, or uv in its place, on the environment of this copy."""
    python = quoted(sys.executable)
    if not any(os.path.isdir(os.path.join(folder, "pip")) for folder in sys.path):
        if on_path("uv"):
            return f"uv pip install --python {python} {arguments}"
        python = f"{python} -m ensurepip && {python}"
    options = ["--user"] if method() == Method.USER else []
    if sys.prefix == sys.base_prefix and os.path.exists(
        os.path.join(os.path.dirname(os.__file__), "EXTERNALLY-MANAGED")
    ):
        # pip refuses to change such an installation otherwise; this copy is in it already.
        options.append("--break-system-packages")
    return " ".join([python, "-m pip install", *options, arguments])


def _installed_extras() -> set[str]:
    return {extra for extra in EXTRAS if has_extra(extra)}


def _requirement(extras: set[str], *, pinned: bool = True) -> str:
    """Return a requirement for this package with these extras, from the place it was installed from.

    It has the commit that was installed if it is `pinned`.
    """
    direct = _direct() or {}
    url, version_control = direct.get("url", ""), direct.get("vcs_info")
    if version_control:
        commit = f"@{version_control['commit_id']}" if pinned else ""
        url = f"{version_control['vcs']}+{url}{commit}"
    name = f"{NAME}[{','.join(sorted(extras))}]" if extras else NAME
    return f"{name} @ {url}" if url else name


def _folder() -> str:
    """Return the folder that this copy was installed from; empty if it came from elsewhere."""
    direct = _direct() or {}
    if "dir_info" not in direct:
        return ""
    # Late, because only few hints need it.
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(str(direct.get("url", ""))).path)


def _direct() -> dict[str, Any] | None:
    """Return what is noted of the place that this copy was installed from; empty if that was a package index.

    None if nothing is installed under this name.
    """
    # Late, because only few hints need it.
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads

    try:
        direct = loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return None
    except ValueError:
        return {}
    return direct if isinstance(direct, dict) else {}


def _with() -> Iterator[str]:
    """Yield the options for the packages that were added to a uv tool before."""
    # Late, because only few hints need it.
    import tomllib

    try:
        with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
            listed = tomllib.load(file)["tool"]["requirements"]
        for each in listed:
            if each["name"] != NAME:
                extras = f"[{','.join(each['extras'])}]" if each.get("extras") else ""
                yield "--with"
                yield quoted(f"{each['name']}{extras}{each.get('specifier', '')}")
    except (OSError, ValueError, KeyError, TypeError):
        return
