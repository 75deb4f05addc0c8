"""The picture of a release: a page with a map, what it guarantees and what it cost; or the map alone."""

from geoveil.report.content import Balance, Layer, Report
from geoveil.report.files import check, write
from geoveil.report.released import layers_of

__all__ = ["Balance", "Layer", "Report", "check", "layers_of", "write"]
