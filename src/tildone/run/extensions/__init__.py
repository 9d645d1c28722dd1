"""Extensions of the host: one for each dialect, built on a shared skeleton, and one for steering the agent.

A dialect that needs a panel, a command or a countdown has a module of its own name here; any other dialect uses the
skeleton unchanged.
"""

from collections.abc import Callable

from tildone.app.settings import Settings
from tildone.base import Registry
from tildone.plan.dialects import Dialect
from tildone.run.extensions.skeleton import OpenSession
from tildone.run.host import ExtensionAPI

ExtensionFactory = Callable[[Dialect, OpenSession, Settings], Callable[[ExtensionAPI], None]]

SKELETON = "skeleton"

EXTENSIONS: Registry[ExtensionFactory, None] = Registry(
    __name__, "EXTENSION", dict.fromkeys((SKELETON, "indexed", "phased", "declared"))
)


def extension_of(dialect: Dialect, open_session: OpenSession, settings: Settings) -> Callable[[ExtensionAPI], None]:
    """Return the extension for a dialect; `open_session` opens the plan's session, given the id of a conversation."""
    factory = EXTENSIONS[dialect.name if dialect.name in EXTENSIONS else SKELETON]
    return factory(dialect, open_session, settings)
