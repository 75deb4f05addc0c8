"""Forms and files of location data, and the projections to planes in which noise is added. No privacy here."""

from geoveil.geo.areas import Area, AreaLike, areas, local
from geoveil.geo.entering import enter, form_of
from geoveil.geo.forms import Form
from geoveil.geo.planes import Plane
from geoveil.geo.proposals import AreaSuggestion, suggest_area
from geoveil.geo.row_locations import Pairs

__all__ = [
    "Area",
    "AreaLike",
    "AreaSuggestion",
    "Form",
    "Pairs",
    "Plane",
    "areas",
    "enter",
    "form_of",
    "local",
    "suggest_area",
]
