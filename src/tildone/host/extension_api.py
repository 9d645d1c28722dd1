"""What an extension imports to register tools, handlers and commands."""

from tildone.host.host import ExtensionAPI

__all__ = ["ExtensionAPI"]
