"""Reports of a release: a page with a map, the guarantee and the cost; the map alone as a figure; a card."""

from geoveil.report.card import card
from geoveil.report.document import Balance, Report
from geoveil.report.layers import Layer
from geoveil.report.report_view import ReportView
from geoveil.report.writing import check_path, write

__all__ = ["Balance", "Layer", "Report", "ReportView", "card", "check_path", "write"]
