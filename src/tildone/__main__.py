"""`python -m tildone` is the command line."""

from tildone.cli import run_program

run_program()
