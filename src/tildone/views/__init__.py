"""A plan as something seen."""
