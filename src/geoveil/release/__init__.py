"""Releases: private answers with their guarantee, their error bounds and their certificate, and how they are shown."""

from geoveil.release.labels import persons
from geoveil.release.release import Release

__all__ = ["Release", "persons"]
