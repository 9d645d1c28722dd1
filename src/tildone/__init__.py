"""The plan your agents actually finish."""
