"""`tildone extensions` lists what can extend `tildone run`, and what came of loading it."""

import os

from tildone.app.opening import dialect_name
from tildone.app.settings import Settings, data_folder
from tildone.base import replace, value
from tildone.base.ids import now
from tildone.cli.opening import open_to_read, settings_for, with_session, working_folder
from tildone.cli.output import max_columns, put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.model import Plan
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, wrap_text
from tildone.run import hosting
from tildone.run.host import Host
from tildone.run.shell_model import ShellModel
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores.memory import MemoryStore

NONE = """\
There are no extensions. To add one:
  tildone run --extension FILE.py     for one run
  extensions = ["FILE.py"]            for every run, in config.toml
  pip install PACKAGE                 a package that provides one"""

INDENT = "    "
MIN_COLUMNS = 20


@value
class LoadedExtension:
    source: hosting.ExtensionSource
    tools: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    error: str = ""


def run(args: ParsedArgs) -> int:
    """Load each extension into a host that nobody talks to, and tell what came of it."""
    folder = working_folder()
    settings = settings_for(args)
    sources = hosting.extension_sources(
        settings,
        args.values("extension"),
        folder=folder,
        data=data_folder(os.environ),
        all_origins=not args.has("no-extensions"),
    )
    host = _host(args, settings, folder) if sources else None
    loaded = [_load(host, source) for source in sources] if host else []
    if args.has("json"):
        put_data(extensions=[_extension_data(each) for each in loaded])
    elif loaded:
        put_spans(line for each in loaded for line in _extension_lines(each))
    else:
        put(NONE)
    return 1 if any(each.error for each in loaded) else 0


def _host(args: ParsedArgs, settings: Settings, folder: str) -> Host:
    store = open_to_read(settings)
    dialect = dialect_name(with_session(args, settings, store), store) or hosting.DEFAULT_DIALECT
    return hosting.open_host(
        replace(settings, dialect=dialect),
        MemoryStore(),
        hosting.open_conversations(settings, folder, kept=False).new(),
        cwd=folder,
        model=ShellModel(Plan, now, frozenset),
        mode="print",
        policy=PermissionPolicy(()),
    )


def _load(host: Host, source: hosting.ExtensionSource) -> LoadedExtension:
    tools, commands = dict(host.tools), dict(host.commands)
    failures = host.load([(source.name, hosting.registration(source))])
    if failures:
        return LoadedExtension(source, error=failures[0].error)
    added = tuple(name for name, tool in host.tools.items() if tools.get(name) is not tool)
    return LoadedExtension(
        source,
        tools=added,
        replaced=tuple(name for name in added if name in tools),
        commands=tuple(name for name, command in host.commands.items() if commands.get(name) is not command),
    )


def _extension_data(loaded: LoadedExtension) -> dict[str, object]:
    source = loaded.source
    return {
        "name": source.name,
        "origin": source.origin,
        "named_by": source.named_by,
        "target": source.target,
        "function": source.function,
        "tools": list(loaded.tools),
        "replaced": list(loaded.replaced),
        "commands": list(loaded.commands),
        "error": loaded.error or None,
    }


def _extension_lines(loaded: LoadedExtension) -> list[tuple[Span, ...]]:
    """The extension and its origin; below, where it is and what it adds, or the error."""
    source = loaded.source
    sign, role = ("✗", Role.ERROR) if loaded.error else ("✓", Role.SUCCESS)
    heading = (Span(f"{sign} ", role), Span(source.name, bold=True), Span(f"  from {source.named_by}", Role.DIM))
    texts = [loaded.error] if loaded.error else [f"{source.target}:{source.function}", _additions(loaded)]
    room = max(MIN_COLUMNS, max_columns() - len(INDENT))
    return [heading, *((Span(f"{INDENT}{line}"),) for text in texts for line in wrap_text(printable(text), room))]


def _additions(loaded: LoadedExtension) -> str:
    tools = [f"{name} (replaces the one before)" if name in loaded.replaced else name for name in loaded.tools]
    parts = [f"tools: {', '.join(tools)}"] if tools else []
    parts += [f"commands: {', '.join(f'/{name}' for name in loaded.commands)}"] if loaded.commands else []
    return "; ".join(parts) or "no tools and no commands"
