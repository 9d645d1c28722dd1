"""What verbs print and ask: the screen, progress, amounts, prompts and warnings."""
