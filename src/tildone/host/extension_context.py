"""What handlers, commands and tools of an extension are given."""

from tildone.host.host import ConversationView, ExtensionContext

__all__ = ["ConversationView", "ExtensionContext"]
