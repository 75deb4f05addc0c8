"""Forms of location data, and the planes in which their metres are metres on the ground. No privacy here."""

from geoveil.geo.areas import Area, Plane, local
from geoveil.geo.forms import Form, enter, form_of

__all__ = ["Area", "Form", "Plane", "enter", "form_of", "local"]
