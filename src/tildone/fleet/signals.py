"""The module `signal` in its C implementation: `signal` takes longer to import than all the rest of a minder."""

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal as _signals
else:
    try:
        import _signal as _signals
    except ImportError:
        import signal as _signals

signal = _signals
