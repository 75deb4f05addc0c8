from .crowd_release import CrowdCounts, CrowdFlows, CrowdHeatMap, CrowdRelease
from .heat_maps import HeatMap
from .release import Release

__all__ = ["CrowdCounts", "CrowdFlows", "CrowdHeatMap", "CrowdRelease", "HeatMap", "Release"]
