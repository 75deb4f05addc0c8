"""Forms and files of location data, and the projections to planes in which noise is added. No privacy here."""

from geoveil.geo.areas import Area, AreaLike, local
from geoveil.geo.entering import enter
from geoveil.geo.forms import Form, form_of
from geoveil.geo.planes import Plane

__all__ = ["Area", "AreaLike", "Form", "Plane", "enter", "form_of", "local"]
