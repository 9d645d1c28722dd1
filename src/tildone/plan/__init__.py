"""Plans: their model, changes, events, claims, checks, dialects, texts, formats, history. Pure functions and data."""
