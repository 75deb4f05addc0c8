"""Releases: private answers with their guarantee, their error bounds and their certificate, and how they are shown."""

from geoveil.release.crowd_release import CrowdCounts, CrowdFlows, CrowdHeatMap, CrowdRelease
from geoveil.release.heat_maps import HeatMap
from geoveil.release.release import Release

__all__ = ["CrowdCounts", "CrowdFlows", "CrowdHeatMap", "CrowdRelease", "HeatMap", "Release"]
