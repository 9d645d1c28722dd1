"""`python -m tests.cli.transcripts [FILE …]`: rewrite transcripts with the current output."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.transcripts.replay import Typist, transcripts
from tests.project.blocks import rewritten
from tests.suite.forking import close_nurseries, forking

for file in [Path(name).resolve() for name in sys.argv[1:]] or transcripts():
    with TemporaryDirectory() as home, forking():
        document = rewritten(file.read_text(encoding="utf-8"), Typist(Path(home)))
    file.write_text(document, encoding="utf-8", newline="\n")
close_nurseries()
