"""Use cases: what a person or an agent can do, once for all surfaces, and who may do it. Settings and trust.

What a person says about a plan is a function from the plan to an `Answer`: `commands` (tasks by number, text as typed)
and `slash` (`/todo` in a `phased` conversation, as the original of that dialect documents it). They have no side
effects: `edits` applies an answer to the newest plan of a session; a request in it is carried out by the surface, and
`slash.after_request` or `slash.request_failed` returns the next answer. `apply` is the same for screens, with notices.

Checks: `checks` has the use cases (run, set, approve), `check_states` the words for their states, `check_runner` proves
tasks, `check_commands` runs the commands, `check_files` makes digests of the files that proofs depend on, and `trust`
knows what a person has approved.
"""
