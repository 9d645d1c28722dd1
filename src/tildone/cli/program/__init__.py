"""Verbs about the program itself: the overview, the help, the manual page, completion in shells."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable


VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "help": Verb(
            "help [VERB …]",
            "Show the help of a verb.",
            description="tildone help exit-codes explains the exit codes.",
            options=(Option("man", "", "Print the manual page, for man -l -."),),
            examples=("tildone help todo add", "tildone help exit-codes", "tildone help --man | man -l -"),
        ),
        "completion:run_completion": Verb(
            "completion SHELL",
            "Print the script that lets a shell complete commands.",
            description=(
                "SHELL is bash, zsh or fish. With it, the Tab key completes verbs, options and their values, sessions, "
                "phases and tasks. To install it, put the line for your shell into its start-up file:\n"
                'bash: eval "$(tildone completion bash)" in ~/.bashrc\n'
                'zsh: eval "$(tildone completion zsh)" in ~/.zshrc, after compinit\n'
                "fish: tildone completion fish | source in ~/.config/fish/config.fish"
            ),
            examples=("tildone completion bash", "tildone completion fish | source"),
        ),
        "completion:run_complete_words": Verb(
            "complete-words SHELL [WORD…]",
            "Print what can complete a command line; the completion scripts call it.",
            examples=('tildone complete-words fish -- todo done ""',),
            hidden=True,
        ),
        "overview": Verb(
            "overview",
            "Show where this project stands; tildone alone does the same.",
            examples=("tildone overview",),
            hidden=True,
        ),
    },
)
