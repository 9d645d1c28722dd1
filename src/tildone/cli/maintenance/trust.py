"""`tildone trust`: let the settings file of a project apply, after showing what it sets.

The files of extensions that it names are trusted with it, each with its exact content. For plans, see `trust_plan`.
"""

from __future__ import annotations

import os

from tildone.app.who import PersonAct
from tildone.cli.opening import working_folder
from tildone.cli.output.consent import person_agrees
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import PROJECT_FILE, data_folder, load_valid, project_root
from tildone.config.extension_forms import files_of
from tildone.config.project_file import ProjectFile, applicable, read_project_file, read_regular
from tildone.config.trust import is_trusted, revoke, set_trusted, trusted_content
from tildone.config.values import EXTENSIONS
from tildone.errors import NotFound, Refused, TildoneError
from tildone.log import codec
from tildone.log.address import parse_address
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """Show what the project's settings file sets, or the checks in a plan, and trust it if the person agrees."""
    path = os.path.join(project_root(working_folder()), PROJECT_FILE)
    if args.positional and os.path.abspath(args.positional[0]) != path:
        # Late, because few plans come as files.
        from tildone.cli.maintenance.trust_plan import trust_plan  # noqa: PLC0415  see above

        return trust_plan(args, args.positional[0])
    data = data_folder(os.environ)
    if args.has("revoke"):
        return _revoke(args, data, path)
    if not os.path.lexists(path):
        raise NotFound(f"there is no {path}")
    file = read_project_file(path, data)
    if file.content is None or file.problems:
        raise Refused(f"{printable(file.problems[0])}; correct it first")
    if not args.has("json"):
        _show(file, changed=not file.trusted and trusted_content(data, path) is not None)
    contents = _extension_contents(file)
    new = [name for name, content in contents.items() if not is_trusted(data, name, content)]
    if not args.has("json"):
        for name in contents:
            put(f"  {printable(name)} is run by tildone run{'' if name in new else ' (trusted)'}")
    trusted = file.trusted and not new
    if not trusted:
        settings, _ = load_valid({}, os.environ, working_folder())
        if not person_agrees(args, settings, PersonAct.TRUST, _question(contents)):
            put("Nothing was changed.")
            return 1
        try:
            for name, content in {path: file.content, **contents}.items():
                set_trusted(data, name, content)
        except OSError as error:
            raise TildoneError(f"could not write to {data}: {error.strerror}") from error
    if args.has("json"):
        put_data(file=path, trusted=True, changed=not trusted, settings=_as_data(file))
    else:
        put("Already trusted." if trusted else "Trusted. To take it back: tildone trust --revoke")
    return 0


def _revoke(args: ParsedArgs, data: str, path: str) -> int:
    for name in files_of(read_project_file(path, data).settings.get(EXTENSIONS, [])):
        revoke(data, name)
    changed = revoke(data, path)
    if args.has("json"):
        put_data(file=path, trusted=False, changed=changed)
    else:
        put(f"{'No longer trusted' if changed else 'Not trusted'}: {printable(path)}")
    return 0


def _extension_contents(file: ProjectFile) -> dict[str, bytes]:
    """Return the contents of the files of extensions, by their paths. A file that cannot be read is left out."""
    read = {name: read_regular(name, []) for name in files_of(file.settings.get(EXTENSIONS, []))}
    return {name: content for name, content in read.items() if content is not None}


def _question(contents: dict[str, bytes]) -> str:
    return f"Trust {'these files' if contents else 'this file'} with exactly this content?"


def _show(file: ProjectFile, *, changed: bool) -> None:
    """Print the settings of the file, and which of them apply without trust."""
    put(f"{printable(file.path)}{' has changed since it was trusted; it' if changed else ''} sets:")
    anyway = {} if file.trusted else applicable(file, {})
    for name, setting in _as_data(file).items():
        note = "  (applies without trust)" if name in anyway else ""
        put(f"  {printable(f'{name} = {codec.dump(setting)}')}{note}")
    if not file.settings:
        put("  nothing")


def _as_data(file: ProjectFile) -> dict[str, object]:
    """The settings, without the password in the address of a store."""
    return {
        name: parse_address(setting).redacted if name == "store" else setting for name, setting in file.settings.items()
    }
