"""Checking what was installed: reading it back as the coding agent does, starting it, and finding what silences it.

launches.py   the commands in the settings files
probe.py      starts them, and asks whether they work
silencers.py  settings of the coding agent that keep them from being run
report.py     the findings for one coding agent
"""
