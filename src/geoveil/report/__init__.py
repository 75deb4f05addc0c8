"""Reports of a release: a page with a map, the guarantee and the cost; the map alone as a figure; a small map."""

from geoveil.report.document import Balance, Report
from geoveil.report.layers import Layer
from geoveil.report.report_view import ReportView
from geoveil.report.small_map import small_map
from geoveil.report.writing import check_path, write

__all__ = ["Balance", "Layer", "Report", "ReportView", "check_path", "small_map", "write"]
