from .composing import compose
from .document import Balance, Report, check_path
from .ground.basemap import check_basemap
from .layers import Layer
from .scene import Scene
from .small_map import small_map

__all__ = ["Balance", "Layer", "Report", "Scene", "check_basemap", "check_path", "compose", "small_map"]
