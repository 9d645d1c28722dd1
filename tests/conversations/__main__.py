"""`python -m tests.conversations [FILE …]`: rewrite conversation files with the current replies."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conversations.replay import conversations, dialect_of, replayed

for file in [Path(name).resolve() for name in sys.argv[1:]] or conversations():
    with TemporaryDirectory() as root:
        document = replayed(file.read_text(encoding="utf-8"), dialect_of(file), Path(root))
    file.write_text(document, encoding="utf-8", newline="\n")
