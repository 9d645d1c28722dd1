"""Checking what was installed: reading it back as the coding agent does, starting it, and finding what silences it.

launches.py   the commands in the settings files
probe.py      starts them, and asks whether they work
host_version.py  the version of the coding agent, and what it is too old for
outdated.py   entries that an earlier version wrote
silencers.py  settings of the coding agent that keep them from being run
report.py     the findings for one coding agent
"""
