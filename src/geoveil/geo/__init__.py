"""Forms of location data, and the planes in which their metres are metres on the ground. No privacy here."""

from geoveil.geo.areas import Area, local
from geoveil.geo.forms import Form, enter, form_of
from geoveil.geo.planes import Plane

__all__ = ["Area", "Form", "Plane", "enter", "form_of", "local"]
