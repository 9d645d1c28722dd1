"""The tool framework: definitions, execution, cancellation, truncation and rendering. Pure, standard library only."""
