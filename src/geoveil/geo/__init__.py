"""Forms of location data and the coordinate systems they come in. No privacy here."""

from geoveil.geo.forms import Form, enter, form_of

__all__ = ["Form", "enter", "form_of"]
