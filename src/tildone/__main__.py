"""`python -m tildone` is the command line."""

import sys

from tildone.cli import main

sys.exit(main())
