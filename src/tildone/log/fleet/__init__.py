"""A fleet: runs of plans by workers on one or several machines. Records and rules; the tables are those of stores.

lease.py       a lease: what is to be run, who runs it, until when, and the fence that follows from it
rules.py       how leases change, and the facts that are recorded with each change
facts.py       what the log of a plan records of its runs; `codec.py` is their stored form
settings.py    what all workers agree on, and the limits of providers
workers.py     workers and schedules
cron.py        when a schedule is due
port.py        what a store with leases can do
rebuilding.py  leases from the log
checking.py    what a lease must not contain
"""
