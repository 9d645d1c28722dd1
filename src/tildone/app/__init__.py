"""Use cases: what a person or an agent can do, once for all surfaces, and who may do it. Settings and trust.

A person's changes to a plan are functions from the plan and what was typed to an `Answer`, without side effects. There
are two sets of verbs. `/todo` in a `phased` conversation is documented by the original of that dialect: `slash`.
Everywhere else, people name tasks by number, and their text is kept as they typed it: `edit`.
"""
