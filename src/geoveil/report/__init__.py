"""The picture of a release: a page with a map, what it guarantees and what it cost; or the map alone."""

from geoveil.report.content import Balance, Layer, Report
from geoveil.report.files import write
from geoveil.report.released import layers_of

__all__ = ["Balance", "Layer", "Report", "layers_of", "write"]
