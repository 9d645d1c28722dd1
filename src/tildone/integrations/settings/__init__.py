"""Editing the settings files of coding agents without touching anything else in them."""
