"""Editing the settings files of coding agents, so that everything else in them stays as it is."""
