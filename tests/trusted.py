"""Settings files of projects that a person has trusted."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tildone.app.settings import Settings, data_folder, load
from tildone.app.settings_file import set_trusted


def write_trusted(file: Path, content: str | bytes, environ: Mapping[str, str]) -> None:
    """Write a settings file and trust it, for a person with this environment."""
    data = content.encode() if isinstance(content, str) else content
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    trust(file, environ)


def trust(file: Path, environ: Mapping[str, str]) -> None:
    """Trust a settings file with the content that it has."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "USERPROFILE"):
            if name in environ:
                patch.setenv(name, environ[name])
        set_trusted(data_folder(environ), str(file.resolve()), file.read_bytes())


def own_file(home: dict[str, str]) -> Path:
    """The person's own settings file."""
    return Path(home["XDG_CONFIG_HOME"]) / "tildone" / "config.toml"


def write_own(home: dict[str, str], text: str) -> str:
    """Write the person's own settings, and return the path of the file."""
    file = own_file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return str(file)


class Project:
    """A project without settings, and a person with empty folders who works on it."""

    def __init__(self, parent: Path) -> None:
        self.folder, self.file = parent / "project", parent / "project" / "tildone.toml"
        self.home = {"XDG_CONFIG_HOME": str(parent / "config"), "XDG_DATA_HOME": str(parent / "data")}
        (self.folder / ".git").mkdir(parents=True)

    def load(self, flags: Mapping[str, str] | None = None, **environ: str) -> Settings:
        return load(flags or {}, self.home | environ, str(self.folder))

    def own(self, text: str) -> str:
        """Write the settings of the person, and return the path of their file."""
        return write_own(self.home, text)

    def has(self, content: str | bytes) -> None:
        """Write the settings of the project, which nobody trusts."""
        self.file.write_bytes(content.encode() if isinstance(content, str) else content)

    def trusted(self, content: str | bytes) -> None:
        """Write the settings of the project, and trust them."""
        write_trusted(self.file, content, self.home)
