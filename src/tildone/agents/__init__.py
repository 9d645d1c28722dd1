"""Which agents are at work on which plan: identities, processes, locks, worktree fingerprints."""
