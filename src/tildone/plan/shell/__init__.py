"""Shell lines: how they are split, what programs can do with their arguments, and which commands are dangerous."""
