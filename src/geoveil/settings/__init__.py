"""The settings of all faces, and the names that people use for them elsewhere."""

from geoveil.settings.settings import HEADINGS, LEVELS, MOTIONS, PURPOSES, READING, SETTINGS, OnPage, Setting, own_name

__all__ = ["HEADINGS", "LEVELS", "MOTIONS", "PURPOSES", "READING", "SETTINGS", "OnPage", "Setting", "own_name"]
