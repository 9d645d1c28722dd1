"""Commands with which a person changes a plan: functions from the plan and what was typed to an `Answer`.

There are two sets of verbs. `/todo` in a `phased` conversation is documented by the original of that dialect: `slash`,
with `verbs` and `typed`. Everywhere else, people name tasks by number, and their text is kept as they typed it:
`edits`, with `targets` and `search`. `requests` is common to both.

This package has no side effects. A shell applies the answer's steps, shows its messages and carries out its request;
`requests.after_request` or `requests.request_failed` then returns the next answer.
"""
