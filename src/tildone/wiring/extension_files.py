"""The extensions that a person adds to `tildone run`: named by options and settings, or provided by installed packages.

Nothing is imported before an extension is registered with a host. Whatever goes wrong then becomes an
`ExtensionFailure`, whose message names the file and the line of the extension's own code.

A file that a project's settings name belongs to the repository, so somebody else may change it. It is loaded only with
the content that a person has trusted, as the settings are (`tildone.config.trust`).
"""

from __future__ import annotations

import os
import sys
from binascii import crc32
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import iscoroutine
from operator import attrgetter
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any

from tildone.config import PROJECT_FILE, Settings
from tildone.config.extension_forms import absolute_form, is_file, split_form
from tildone.config.trust import is_trusted
from tildone.errors import TildoneError, nearest
from tildone.host.extension_api import ExtensionAPI
from tildone.host.host import Extension
from tildone.value import value

GROUP = "tildone.extensions"
"""The group of entry points by which installed packages provide extensions."""

DEFAULT_FUNCTION = "extension"
OPTION, SETTING, PACKAGE = "option", "setting", "package"


class ExtensionFailure(TildoneError):
    """An extension cannot be loaded."""


@value
class ExtensionSource:
    """Where an extension is: a function in a file or in a module, the `target`.

    `origin` is OPTION, SETTING or PACKAGE, and `named_by` the option, the settings file, or the package with its
    version. `trust` is the data folder with the record of trust that the file needs; it is empty if it needs none.
    """

    name: str
    target: str
    function: str
    origin: str
    named_by: str
    trust: str = ""

    @property
    def module(self) -> str:
        return f"tildone_extension_{crc32(os.fsencode(self.target)):08x}" if is_file(self.target) else self.target


def extension_sources(
    settings: Settings, options: Iterable[str], *, folder: str, data: str, all_origins: bool = True
) -> list[ExtensionSource]:
    """Return the extensions in the order in which they are loaded, each once.

    Later ones can replace tools of earlier ones, so those of installed packages come first and those that `options`
    name come last. `folder` is the working folder and `data` the data folder. Without `all_origins`, only those that
    `options` name are returned.
    """
    sources = [*installed_sources(), *_configured_sources(settings, data)] if all_origins else []
    sources += [_named(absolute_form(form, folder), OPTION, "--extension") for form in options]
    return list({(source.target, source.function): source for source in reversed(sources)}.values())[::-1]


def installed_sources() -> list[ExtensionSource]:
    found = []
    for point in entry_points(group=GROUP):
        module, _, function = point.value.partition("[")[0].partition(":")
        package = f"{point.dist.name} {point.dist.version}" if point.dist else ""
        function = function.strip() or DEFAULT_FUNCTION
        found.append(ExtensionSource(point.name, module.strip(), function, PACKAGE, package))
    return sorted(found, key=lambda source: (source.named_by, source.name))


def registration(source: ExtensionSource) -> Extension:
    """Return a function that imports the extension and registers it with a host.

    It raises an ExtensionFailure for whatever the extension raises. Standard output may belong to a program that
    controls the run, so what the extension prints meanwhile goes to standard error.
    """

    def register(api: ExtensionAPI) -> None:
        try:
            with redirect_stdout(sys.stderr):
                _register(source, api)
        except ExtensionFailure:
            raise
        except (Exception, SystemExit) as error:
            raise ExtensionFailure(_failure_text(error, source)) from error

    return register


def _configured_sources(settings: Settings, data: str) -> list[ExtensionSource]:
    of_project = os.path.join(settings.project, PROJECT_FILE)
    return [_named(form, SETTING, path, trust=data if path == of_project else "") for form, path in settings.extensions]


def _named(form: str, origin: str, named_by: str, trust: str = "") -> ExtensionSource:
    target, function = split_form(form)
    name = os.path.basename(target) if is_file(target) else target
    suffix = f":{function}" if function else ""
    return ExtensionSource(f"{name}{suffix}", target, function or DEFAULT_FUNCTION, origin, named_by, trust)


def _register(source: ExtensionSource, api: ExtensionAPI) -> None:
    module = _file_module(source) if is_file(source.target) else import_module(source.target)
    function = _function(module, source)
    returned = function(api)
    if iscoroutine(returned):
        returned.close()
        line = function.__code__.co_firstlineno
        raise ExtensionFailure(f"{_file(module)}, line {line}: {source.function} must not be an async function")


def _file_module(source: ExtensionSource) -> ModuleType:
    try:
        with open(source.target, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ExtensionFailure(f"{source.target}: {error.strerror}") from error
    if source.trust and not is_trusted(source.trust, source.target, content):
        raise ExtensionFailure(f"{source.target} is not trusted with its present content; to trust it: tildone trust")
    code = compile(content, source.target, "exec", dont_inherit=True)
    spec = spec_from_file_location(source.module, source.target)
    module = module_from_spec(spec) if spec else ModuleType(source.module)
    # Dataclasses and pickle look the module up by its name.
    sys.modules[source.module] = module
    exec(code, module.__dict__)  # noqa: S102  running the file is what the person asks for
    return module


def _function(module: ModuleType, source: ExtensionSource) -> Any:
    try:
        function = attrgetter(source.function)(module)
    except AttributeError:
        function = None
    if callable(function):
        return function
    defined = [name for name, each in vars(module).items() if getattr(each, "__module__", None) == module.__name__]
    hint = nearest(source.function, tuple(defined), "define it, or name another one after a colon")
    raise ExtensionFailure(f"{_file(module)}, line 1: there is no function {source.function!r}; {hint}")


def _file(module: ModuleType) -> str:
    return module.__file__ or module.__name__


def _failure_text(error: BaseException, source: ExtensionSource) -> str:
    """Return what an extension raised, and where in its own code."""
    if isinstance(error, SyntaxError) and os.path.isfile(error.filename or ""):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    own = _own_lines(error, source)
    place = f"{own[-1][0]}, line {own[-1][1]}" if own else source.target
    text = str(error)
    return f"{place}: {type(error).__name__}{f': {text}' if text else ''}"


def _own_lines(error: BaseException, source: ExtensionSource) -> Sequence[tuple[str, int]]:
    """Return the files and lines of the extension that a traceback passes, innermost last."""
    package = source.module.partition(".")[0]

    def is_own(frame: FrameType) -> bool:
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] == package

    return [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__) if is_own(frame)]
