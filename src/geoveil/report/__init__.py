"""Reports of a release: a page with a map, the guarantee and the cost; or the map alone as a figure."""

from geoveil.report.document import Balance, Report
from geoveil.report.layers import Layer
from geoveil.report.release_layers import layers_of
from geoveil.report.writing import check_path, write

__all__ = ["Balance", "Layer", "Report", "check_path", "layers_of", "write"]
