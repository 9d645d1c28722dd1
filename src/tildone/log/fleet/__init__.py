"""A fleet: runs of plans by workers on one or several machines. Records and rules; the tables are those of stores.

lease.py       a lease: what is to be run, who runs it, until when, and the fence that follows from it
rules.py       how leases change, and the facts that are recorded with each change; leases from the log
facts.py       what the log of a plan records of its runs, and its stored form
settings.py    what all workers agree on, and the limits of providers
workers.py     workers and schedules; `RunLists`, to read some of the leases
cron.py        when a schedule is due
port.py        what a store with leases can do
names.py       what a lease must not contain; names of repositories and providers
"""
